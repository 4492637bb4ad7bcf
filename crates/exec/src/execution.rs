//! One execution of a command.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_sys::usage::Usage;
use pitot_sys::waited::{Ending, wait_at_most};
use rustix::fs::{MemfdFlags, memfd_create};

/// What is executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// The program and its arguments. They are not given to a shell.
    pub command: Vec<String>,
    /// The directory in which it runs; this process's own if none.
    pub cwd: Option<PathBuf>,
    /// Variables of its environment, besides those of this process.
    pub env: Vec<(String, String)>,
    /// The file that it reads as its standard input; nothing if none.
    pub stdin: Option<PathBuf>,
    /// For `sh -c`, before each execution. It is not measured.
    pub prepare: Option<String>,
    /// For `sh -c`, after each execution. It is not measured.
    pub cleanup: Option<String>,
    /// An execution that takes longer is killed.
    pub timeout: Nanos,
}

/// What an execution was like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// From its start until its end was known.
    pub wall: Nanos,
    /// What it used, with the children that it waited for.
    pub used: Usage,
    /// How it ended and what it printed to standard output, in words. Executions that did the same have the same words.
    pub outcome: String,
    /// Bytes that it printed to standard output.
    pub output_bytes: u64,
    /// The peak of its resident memory, if that was asked for and is large enough to be known.
    pub memory_bytes: Option<u64>,
}

/// How an execution is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Quickly, by vfork(2). The kernel counts the memory of this process as its own.
    Quickly,
    /// By fork(2), which costs it some 0.3 ms of CPU time. The kernel counts what this process has written as its own.
    WithItsMemory,
}

/// Less memory than this cannot be told from what a fork of this process has.
fn least_bytes() -> u64 {
    const SPARE: u64 = 1 << 20;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let written = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    written.map_or(u64::MAX, |kib| (kib << 10) + SPARE)
}

/// Takes what a program prints. It lies in memory, so that no other process has to run for it, and so that the program sees a file: some
/// do less when they write to /dev/null.
#[derive(Debug)]
pub(crate) struct Output(File);

impl Output {
    pub(crate) fn new() -> io::Result<Output> {
        Ok(Output(memfd_create("pitot-exec", MemfdFlags::CLOEXEC)?.into()))
    }

    fn stdio(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// Its length and a checksum. Afterwards it is empty.
    fn taken(&mut self) -> io::Result<(u64, u32)> {
        let mut hasher = crc32fast::Hasher::new();
        let mut buffer = [0; 64 * 1024];
        let mut length = 0;
        self.0.seek(SeekFrom::Start(0))?;
        loop {
            match self.0.read(&mut buffer)? {
                0 => break,
                n => {
                    hasher.update(&buffer[..n]);
                    length += n as u64;
                }
            }
        }
        self.clear()?;
        Ok((length, hasher.finalize()))
    }

    /// The last line. Afterwards it is empty.
    fn last_line(&mut self) -> io::Result<String> {
        let length = self.0.seek(SeekFrom::End(0))?;
        self.0.seek(SeekFrom::Start(length.saturating_sub(4096)))?;
        let mut tail = Vec::new();
        self.0.read_to_end(&mut tail)?;
        self.clear()?;
        let tail = String::from_utf8_lossy(&tail);
        Ok(tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.0.set_len(0)?;
        self.0.seek(SeekFrom::Start(0)).map(drop)
    }
}

impl Recipe {
    /// Executes it once.
    ///
    /// # Errors
    /// If it cannot be started, or what comes before or after it fails.
    pub(crate) fn execute(
        &self,
        start: Start,
        stdout: &mut Output,
        stderr: &mut Output,
    ) -> Result<Executed, Failure> {
        self.beside(self.prepare.as_deref(), "--prepare", stderr)?;
        let failed = |e: io::Error| self.not_started(&e);
        let mut command = self.command().map_err(failed)?;
        command.stdout(stdout.stdio().map_err(failed)?).stderr(stderr.stdio().map_err(failed)?);
        if start == Start::WithItsMemory {
            pitot_sys::spawn::with_own_memory(&mut command);
        }
        let begin = now();
        let child = command.spawn().map_err(failed)?;
        // Its descriptors of the output are closed with it.
        drop(command);
        let waited = wait_at_most(child.id(), self.timeout.into()).map_err(failed)?;
        let wall = now().since(begin);
        let peak = Some(waited.used.rss_peak_bytes);
        let memory_bytes = peak.filter(|peak| start == Start::WithItsMemory && *peak > least_bytes());
        let (output_bytes, checksum) = stdout.taken().map_err(failed)?;
        let complaint = stderr.last_line().map_err(failed)?;
        let outcome = outcome(waited.ending, output_bytes, checksum, &complaint, self.timeout);
        self.beside(self.cleanup.as_deref(), "--cleanup", stderr)?;
        Ok(Executed { wall, used: waited.used, outcome, output_bytes, memory_bytes })
    }

    fn command(&self) -> io::Result<Command> {
        let (program, arguments) = self.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        // A group of its own, so that its children can be killed with it.
        command.args(arguments).process_group(0).envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        command.stdin(match &self.stdin {
            Some(path) => File::open(path)?.into(),
            None => Stdio::null(),
        });
        Ok(command)
    }

    /// What is run before or after an execution.
    fn beside(&self, line: Option<&str>, option: &str, stderr: &mut Output) -> Result<(), Failure> {
        let Some(line) = line else { return Ok(()) };
        let shell = Recipe {
            command: vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()],
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            ..Recipe::default()
        };
        let run = || -> io::Result<_> {
            let child = shell.command()?.stdout(Stdio::null()).stderr(stderr.stdio()?).spawn()?;
            wait_at_most(child.id(), self.timeout.into())
        };
        let waited =
            run().map_err(|e| Failure::run(format!("{option} could not be run: {e}"), "check sh(1)"))?;
        match waited.ending {
            Ending::Code(0) => Ok(()),
            ending => {
                let said = stderr.last_line().unwrap_or_default();
                let said = if said.is_empty() { said } else { format!(": {said}") };
                Err(Failure::run(
                    format!("{option} {}{said}", words(ending, self.timeout)),
                    format!("run it by hand: {line}"),
                ))
            }
        }
    }

    fn not_started(&self, e: &io::Error) -> Failure {
        let program = self.command.first().map_or("", String::as_str);
        Failure::run(
            format!("`{program}` could not be executed: {e}"),
            "check its path, its permissions, and the file of --stdin",
        )
    }
}

/// How an execution ended and what it printed.
fn outcome(ending: Ending, bytes: u64, checksum: u32, complaint: &str, timeout: Nanos) -> String {
    let printed = format!("printed {bytes} bytes (CRC-32 {checksum:08x})");
    match ending {
        Ending::Code(0) => printed,
        ending if complaint.is_empty() => format!("{} and {printed}", words(ending, timeout)),
        ending => format!("{}: {complaint}", words(ending, timeout)),
    }
}

fn words(ending: Ending, timeout: Nanos) -> String {
    match ending {
        Ending::Code(code) => format!("exited with {code}"),
        Ending::Signal(signal) => format!("was ended by signal {signal}"),
        Ending::TimedOut => format!("was killed after {timeout}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(words: &[&str]) -> Recipe {
        Recipe {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            timeout: Nanos::from_secs(60),
            ..Recipe::default()
        }
    }

    fn executed(recipe: &Recipe) -> Result<Executed, Failure> {
        recipe.execute(Start::WithItsMemory, &mut Output::new().unwrap(), &mut Output::new().unwrap())
    }

    #[test]
    fn an_execution_says_how_it_ended_and_what_it_printed() {
        let of = |line: &str| executed(&recipe(&["sh", "-c", line])).unwrap();
        let hello = of("echo hello");
        assert_eq!((hello.outcome.as_str(), hello.output_bytes), ("printed 6 bytes (CRC-32 363a3020)", 6));
        assert_eq!(of("exit 3").outcome, "exited with 3 and printed 0 bytes (CRC-32 00000000)");
        assert_eq!(of("echo no >&2; exit 3").outcome, "exited with 3: no");
        assert_eq!(of("kill -9 $$").outcome.split(" and").next(), Some("was ended by signal 9"));
        assert_ne!(of("echo hello").outcome, of("echo hallo").outcome);
    }

    #[test]
    fn an_execution_has_the_cpu_time_memory_and_faults_of_its_children_too() {
        let spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let plain = executed(&recipe(&["true"])).unwrap().used;
        let busy = executed(&recipe(&["sh", "-c", &format!("sh -c '{spin}'; true")])).unwrap();
        assert!(busy.used.cpu_user > plain.cpu_user, "{busy:?}");
        assert!(busy.used.faults_minor > plain.faults_minor && plain.faults_minor > 0, "{busy:?}");
        assert!(busy.wall > Nanos::ZERO);
    }

    #[test]
    fn memory_is_known_where_it_is_more_than_a_fork_has() {
        // A variable of 64 MiB: the test has less.
        let much = recipe(&["sh", "-c", "x=$(head -c 67108864 /dev/zero | tr '\\0' x); true"]);
        let bytes = executed(&much).unwrap().memory_bytes.unwrap();
        assert!((64 << 20..1 << 30).contains(&bytes), "{bytes}");
        let quick = much.execute(Start::Quickly, &mut Output::new().unwrap(), &mut Output::new().unwrap());
        assert_eq!(quick.unwrap().memory_bytes, None);
    }

    #[test]
    fn an_execution_reads_its_file_runs_in_its_directory_and_has_its_variables() {
        let dir = std::env::temp_dir();
        let file = dir.join(format!("pitot-exec-{}", std::process::id()));
        std::fs::write(&file, "from the file").unwrap();
        let of = Recipe {
            cwd: Some(dir.clone()),
            env: vec![("COLOR".into(), "blue".into())],
            stdin: Some(file.clone()),
            ..recipe(&["sh", "-c", "pwd; echo $COLOR; cat"])
        };
        let bytes = executed(&of).unwrap().output_bytes;
        std::fs::remove_file(&file).unwrap();
        let expected = dir.to_string_lossy().trim_end_matches('/').len() + 1 + "blue\nfrom the file".len();
        assert_eq!(bytes, expected as u64);
        let missing = executed(&of).unwrap_err();
        assert!(missing.what.contains("No such file"), "{}", missing.what);
    }

    #[test]
    fn what_takes_too_long_is_killed_with_its_children() {
        let of = Recipe { timeout: Nanos::from_millis(50), ..recipe(&["sh", "-c", "sleep 60; true"]) };
        assert!(executed(&of).unwrap().outcome.starts_with("was killed after 50"), "{:?}", executed(&of));
    }

    #[test]
    fn what_comes_before_and_after_must_succeed() {
        let of = Recipe { prepare: Some("echo no disk >&2; false".into()), ..recipe(&["true"]) };
        assert_eq!(executed(&of).unwrap_err().what, "--prepare exited with 1: no disk");
        let of = Recipe { cleanup: Some("exit 7".into()), ..recipe(&["true"]) };
        assert_eq!(executed(&of).unwrap_err().what, "--cleanup exited with 7");
    }
}
