//! The lab's own command, and what is left of it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{PITOT, until};

/// `pitot` in a folder that also takes its temporary files.
pub(crate) fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    command
}

pub(crate) fn pitot(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).output().unwrap()
}

/// Private folders of runs that are still there.
pub(crate) fn left(dir: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("pitot-")).collect()
}

/// Kills a run of `plan.toml` in this folder while it measures in a `program`, and waits until nothing of it is left.
pub(crate) fn assert_that_a_killed_run_leaves_nothing(dir: &Path, program: &str) {
    let shown = dir.to_string_lossy();
    let mut run = command(dir, &["run", "plan.toml", "-o", "run.pitot"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The run file is made when the kernel has said what it can run.
    until("the run does not begin", || dir.join("run.pitot").exists());
    until("nothing was started", || processes(&shown).iter().any(|line| line.contains(program)));
    run.kill().unwrap();
    run.wait().unwrap();
    until("processes are left", || processes(&shown).is_empty());
    until("files are left", || left(dir).is_empty());
}

/// The command lines of the processes that have `needle` in theirs.
fn processes(needle: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(needle)).collect()
}
