//! `pitot soak` as a user runs it.

mod alarms;
mod faults;
mod hangs;
mod kept;
mod leaks;
mod restarts;
mod runs;
mod server;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");
/// Longer than anything here takes on a machine that is busy.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn soak(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.arg("soak").args(arguments).current_dir(dir).env("TMPDIR", dir);
    command.env("PITOT_HOST_JOURNAL", dir.join("journal"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a soak of which nothing is read but its file.
fn silent(mut soak: Command) -> Running {
    Running(soak.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs parts of a test at the same time that mostly wait. Those that have failed are named.
fn together(parts: &[(&str, fn())]) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let running: Vec<_> = parts.iter().map(|(name, part)| (*name, scope.spawn(part))).collect();
        running.into_iter().filter_map(|(name, part)| part.join().is_err().then_some(name)).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
}

/// Waits for something.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Processes whose parent is this one, and whose command line has the word.
fn children(parent: u32, word: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let of =
            read("stat").rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2)?.parse::<u32>().ok());
        of == Some(parent) && read("cmdline").split('\0').any(|argument| argument == word)
    })
    .collect()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}
