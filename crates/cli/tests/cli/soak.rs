//! `pitot soak` as a user runs it.

mod alarms;
mod control;
mod durability;
mod faults;
mod hangs;
mod leaks;
mod restarts;
mod runs;
mod server;

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{PITOT, Running};

/// A soak without a control, which would be one more process of Pitot.
fn soak(dir: &Path, arguments: &[&str]) -> Command {
    let begins = arguments.first() != Some(&"status") && !arguments.contains(&"--resume");
    let mut command = with_control(dir, arguments);
    command.args(begins.then_some("--no-control"));
    command
}

fn with_control(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.arg("soak").args(arguments).current_dir(dir).env("TMPDIR", dir);
    command.env("PITOT_HOST_JOURNAL", dir.join("journal"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a soak of which nothing is read but its file.
fn silent(mut soak: Command) -> Running {
    Running::start(soak.stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Runs parts of a test at the same time that mostly wait. Those that have failed are named.
fn together(parts: &[(&str, fn())]) {
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let running: Vec<_> = parts.iter().map(|(name, part)| (*name, scope.spawn(part))).collect();
        running.into_iter().filter_map(|(name, part)| part.join().is_err().then_some(name)).collect()
    });
    assert!(failed.is_empty(), "{failed:?}");
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
