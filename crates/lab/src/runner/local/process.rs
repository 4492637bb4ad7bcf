//! A program of the lab: its output as events and as a tail, and how it ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pitot_sys::Mark;
use pitot_sys::spawn;
use pitot_sys::usage::{self, Usage};
use pitot_sys::user::User;

use crate::runner::executor::{Command, Ending, Line, Output, Role};
use pitot_record::Lifetime;

/// Maximum length of the output tail of each stream.
const KEPT_BYTES: usize = 256 * 1024;
/// Maximum number of lines that become events, to detect that a server is ready.
const EVENT_LINES_MAX: usize = 10_000;

/// Time to read the output after a program has ended. Its children may keep the streams open for longer.
const READ_WITHIN: Duration = Duration::from_millis(500);
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Longer lines are split, so that output without line breaks cannot fill the memory.
const LINE_BYTES_MAX: u64 = 256 * 1024;

/// What a program did.
#[derive(Debug)]
pub(super) enum Event {
    /// It printed a line.
    Line(Line),
    /// It closed a stream, so it has ended or will soon.
    Closed,
}

/// The tail of a stream.
#[derive(Debug, Default)]
struct Tail(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// The stream was closed and is read.
    closed: bool,
}

impl Tail {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let kept = &mut self.lock().bytes;
        kept.extend_from_slice(bytes);
        if kept.len() > KEPT_BYTES * 2 {
            let surplus = kept.len() - KEPT_BYTES;
            kept.drain(..surplus);
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.lock().bytes).into_owned()
    }
}

/// A running or ended program.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    ending: Option<Ending>,
    /// When its end was seen.
    ended_at: Option<Instant>,
    /// Known once it has ended.
    lifetime: Option<Lifetime>,
    stdout: Arc<Tail>,
    stderr: Arc<Tail>,
}

/// Settings of a program besides its command.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// The working directory, unless the command has one.
    pub(super) dir: &'a Path,
    pub(super) mark: Option<Mark>,
    /// The list of members of its control group, open for writing.
    pub(super) members: Option<File>,
    /// The user, if not this process's.
    pub(super) user: Option<User>,
}

impl Process {
    /// Starts the program in a new session, with `variables` (name and value) in its environment. The error is a sentence.
    pub(super) fn start(
        command: &Command,
        how: Start<'_>,
        variables: impl Iterator<Item = (&'static str, String)>,
        events: &Sender<Event>,
    ) -> Result<Process, String> {
        let [program, arguments @ ..] = &command.argv[..] else { return Err("the command is empty".into()) };
        let cwd = command.cwd.as_deref().map_or(how.dir, Path::new);
        if !cwd.is_dir() {
            // Otherwise the error would look as if the program did not exist.
            return Err(format!(
                "`{program}` could not be started: its `cwd` {} is not a folder",
                cwd.display()
            ));
        }
        let mut process = std::process::Command::new(program);
        process
            .args(arguments)
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .envs(variables)
            .current_dir(cwd)
            .stdin(if command.converses { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        spawn::isolate(&mut process, &command.cpus);
        if let Some(mark) = how.mark {
            mark.put_on(&mut process);
        }
        if let Some(members) = how.members {
            spawn::enter_cgroup(&mut process, members);
        }
        // Last, since the group and CPUs may need root.
        if let Some(user) = how.user {
            user.run(&mut process);
        }
        let mut child = process.spawn().map_err(|e| format!("`{program}` could not be started: {e}"))?;
        let (stdout, stderr) = (Arc::<Tail>::default(), Arc::<Tail>::default());
        if let Some(stream) = child.stdout.take() {
            let lines_max = if command.converses { usize::MAX } else { EVENT_LINES_MAX };
            follow(stream, command.role, Some(lines_max), Arc::clone(&stdout), events.clone());
        }
        if let Some(stream) = child.stderr.take() {
            follow(stream, command.role, None, Arc::clone(&stderr), events.clone());
        }
        Ok(Process { child, ending: None, ended_at: None, lifetime: None, stdout, stderr })
    }

    /// Its process id, which is also its session's.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to its standard input.
    pub(super) fn write_line(&mut self, line: &str) -> std::io::Result<()> {
        let input = self.child.stdin.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        // One write, so that the reader sees the whole line at once.
        input.write_all(format!("{line}\n").as_bytes())
    }

    /// How it ended, if it has.
    pub(super) fn ending(&mut self) -> Option<Ending> {
        if self.ending.is_none() {
            // Waiting for a child adds its usage to this process's counters. The runner waits for one at a time, so the
            // difference is the child's.
            let before = usage::of_ended_children();
            if let Ok(Some(status)) = self.child.try_wait() {
                self.ended_at = Some(Instant::now());
                self.lifetime = Some(difference(&before, &usage::of_ended_children()));
                let signal = Ending::Signal(status.signal().unwrap_or_default());
                self.ending = Some(status.code().map_or(signal, Ending::Code));
            }
        }
        self.ending
    }

    /// Its usage in its whole life, once it has ended.
    pub(super) fn lifetime(&self) -> Option<Lifetime> {
        self.lifetime
    }

    /// Its output tail. After its end this waits for the readers of its streams.
    pub(super) fn output(&self) -> Output {
        let is_read = || self.stdout.lock().closed && self.stderr.lock().closed;
        while self.ended_at.is_some_and(|ended| ended.elapsed() < READ_WITHIN) && !is_read() {
            std::thread::sleep(LOOK_INTERVAL);
        }
        Output {
            stdout: self.stdout.text(),
            stderr: self.stderr.text(),
            stdout_closed: self.stdout.lock().closed,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ending().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn difference(before: &Usage, after: &Usage) -> Lifetime {
    let cpu = |usage: &Usage| usage.cpu_user + usage.cpu_system;
    Lifetime {
        cpu_s: cpu(after).saturating_sub(cpu(before)).as_secs_f64(),
        switches_voluntary: after.switches_voluntary.saturating_sub(before.switches_voluntary),
        switches_involuntary: after.switches_involuntary.saturating_sub(before.switches_involuntary),
    }
}

/// Reads a stream to its end in a thread. For stdout, `stdout` is the maximum number of lines that become events.
fn follow(
    stream: impl Read + Send + 'static,
    role: Role,
    stdout: Option<usize>,
    tail: Arc<Tail>,
    events: Sender<Event>,
) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        let (on_stdout, lines_max) = (stdout.is_some(), stdout.unwrap_or(EVENT_LINES_MAX));
        let mut sent = 0;
        loop {
            line.clear();
            match reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => tail.push(&line),
            }
            if sent < lines_max {
                sent += 1;
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                // There is no receiver after the repetition.
                let _ = events.send(Event::Line(Line { role, text, on_stdout }));
            }
        }
        tail.lock().closed = true;
        let _ = events.send(Event::Closed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::executor::Account;

    #[test]
    fn the_last_words_of_a_program_that_has_ended_are_all_there() {
        let dir = tempfile::tempdir().unwrap();
        let (events, _lines) = std::sync::mpsc::channel();
        // As much as a pipe takes, so that the program has ended while most of it is to be read.
        let script = "i=0; while [ $i -lt 900 ]; do i=$((i+1)); echo \"line $i of many, each as long as this one is\"; done >&2; exit 3";
        let command = Command {
            role: Role::Server,
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            cwd: None,
            env: Vec::new(),
            cpus: Vec::new(),
            account: Account::None,
            converses: false,
            cpu_is_counted: false,
        };
        for _ in 0..20 {
            let how = Start { dir: dir.path(), mark: None, members: None, user: None };
            let mut process = Process::start(&command, how, std::iter::empty(), &events).unwrap();
            // Its reader is behind: it waits for this.
            let stderr = Arc::clone(&process.stderr);
            let behind = stderr.lock();
            while process.ending().is_none() {
                std::thread::yield_now();
            }
            drop(behind);
            assert!(process.output().stderr.ends_with("line 900 of many, each as long as this one is\n"));
        }
    }
}
