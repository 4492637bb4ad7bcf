//! A program that the lab has started: its output as events and last words, its end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pitot_sys::spawn;

/// At most so much of each stream is kept: its end.
const KEPT_BYTES: usize = 256 * 1024;
/// At most so many lines are told as events: those that may say that a server is ready.
const TOLD_LINES: usize = 10_000;

/// Which program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    Server,
    Load,
    /// A helper of the load.
    Helper,
    /// What runs in the place of server and load.
    Program,
}

/// What a program did.
#[derive(Debug)]
pub(super) enum Event {
    /// It printed a line.
    Line { who: Who, text: String, on_stdout: bool },
    /// It closed a stream: it has ended, or soon will have.
    Closed,
}

/// The end of what came from a stream.
#[derive(Debug, Default)]
struct Tail(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Nothing more will come.
    whole: bool,
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
    status: Option<ExitStatus>,
    stdout: Arc<Tail>,
    stderr: Arc<Tail>,
}

/// How a program is started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch<'a> {
    pub(super) who: Who,
    pub(super) argv: &'a [String],
    pub(super) cpus: &'a [usize],
    pub(super) dir: &'a Path,
    /// Name and value of the variable that marks the run's processes.
    pub(super) cookie: (&'a str, &'a str),
}

impl Process {
    /// Starts the program in a session of its own. The error is a sentence.
    pub(super) fn start(launch: &Launch<'_>, events: &Sender<Event>) -> Result<Process, String> {
        let [program, arguments @ ..] = launch.argv else { return Err("the command is empty".into()) };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env(launch.cookie.0, launch.cookie.1)
            .current_dir(launch.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        spawn::isolate(&mut command, launch.cpus);
        let mut child = command.spawn().map_err(|e| format!("`{program}` could not be started: {e}"))?;
        let (stdout, stderr) = (Arc::<Tail>::default(), Arc::<Tail>::default());
        if let Some(stream) = child.stdout.take() {
            follow(stream, launch.who, true, Arc::clone(&stdout), events.clone());
        }
        if let Some(stream) = child.stderr.take() {
            follow(stream, launch.who, false, Arc::clone(&stderr), events.clone());
        }
        Ok(Process { child, status: None, stdout, stderr })
    }

    /// Its number, which is also its session's.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status
    }

    /// The end of what it printed on stdout.
    pub(super) fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// True once it has closed its stdout and all of it is read.
    pub(super) fn has_closed_stdout(&self) -> bool {
        self.stdout.lock().whole
    }

    /// Its last `lines` lines, stderr's after stdout's.
    pub(super) fn output_tail(&self, lines: usize) -> String {
        let last = |text: String| -> Vec<String> {
            let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
            all[all.len().saturating_sub(lines)..].iter().map(|l| clip(l)).collect()
        };
        let mut words = last(self.stdout.text());
        words.extend(last(self.stderr.text()));
        words.join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A line, but no novel.
fn clip(line: &str) -> String {
    const LINE_CHARS: usize = 400;
    if line.chars().count() <= LINE_CHARS {
        return line.to_owned();
    }
    line.chars().take(LINE_CHARS).chain("...".chars()).collect()
}

/// Reads a stream to its end in a thread of its own.
fn follow(
    stream: impl Read + Send + 'static,
    who: Who,
    on_stdout: bool,
    tail: Arc<Tail>,
    events: Sender<Event>,
) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        let mut told = 0;
        loop {
            line.clear();
            // A program that prints without ever breaking the line must not fill the memory.
            match reader.by_ref().take(64 * 1024).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => tail.push(&line),
            }
            if told < TOLD_LINES {
                told += 1;
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                // Nobody listens any more once the repetition is over.
                let _ = events.send(Event::Line { who, text, on_stdout });
            }
        }
        tail.lock().whole = true;
        let _ = events.send(Event::Closed);
    });
}

/// How a program ended, in words.
pub(super) fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {}", signal_name(signal)),
        (None, None) => "in an unknown way".to_owned(),
    }
}

fn signal_name(signal: i32) -> String {
    let known = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
    ];
    known
        .iter()
        .find(|(n, _)| *n == signal)
        .map_or_else(|| signal.to_string(), |(_, name)| (*name).to_owned())
}
