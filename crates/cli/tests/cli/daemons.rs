//! Servers that leave daemons behind which nothing ties to the run but its control group or its mark: an empty environment, a
//! session of their own, and no parent. Whatever ends the run, they end with it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use pitot_needs::needs;
use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::support::{PITOT, text, until};

/// What holds the daemons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// The control group: the test runs as somebody who can make one.
    Group,
    /// The mark alone: root becomes nobody, who cannot make groups here.
    Mark,
}

/// A directory with a plan whose server starts a daemon, twice forked.
struct Bed {
    dir: tempfile::TempDir,
    program: PathBuf,
    by: By,
    /// The daemon's argument, which no other process has.
    seconds: String,
    lab: Option<Child>,
}

impl Bed {
    fn new(by: By, duration: &str) -> Bed {
        static BEDS: AtomicUsize = AtomicUsize::new(0);
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("pitot");
        // By a process of its own: a child of another test that had inherited the open copy would keep it from being executed.
        let copied = Command::new("cp").arg(PITOT).arg(&program).status();
        assert!(copied.unwrap().success());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let seconds = format!("600.{}{:03}", std::process::id(), BEDS.fetch_add(1, Ordering::Relaxed));
        let plan = format!(
            r#"
duration = "{duration}"
warmup = "20ms"
repetitions = 1
[load]
url = "http://{{address}}/bytes/10"
connections = 1
[servers.daemon]
command = ["sh", "-c", "env -i setsid sh -c 'setsid sleep {seconds} & exit' </dev/null >/dev/null 2>&1 & exec {program} serve http --listen {{address}} --stats json"]
ready = {{ get = "/bytes/10" }}
[factors]
server = ["daemon"]
"#,
            program = program.display(),
        );
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        Bed { dir, program, by, seconds, lab: None }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.by {
            By::Mark if geteuid().is_root() => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]);
                command.arg(&self.program);
                command
            }
            _ => Command::new(&self.program),
        };
        command.args(arguments).current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn daemons(&self) -> Vec<Pid> {
        let command = format!("sleep\0{}\0", self.seconds);
        let is_one = |pid: &Pid| {
            let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
            line == command.as_bytes()
        };
        pitot_sys::processes::pids().filter_map(|pid| Pid::from_raw(pid as i32)).filter(is_one).collect()
    }

    /// Starts a run that goes on until it is killed, and waits for its daemon.
    fn start(&mut self) {
        self.lab = Some(self.command(&["run", "plan.toml", "-o", "run.pitot"]).spawn().unwrap());
        until("the daemon", || !self.daemons().is_empty());
    }

    /// Kills the lab, after its guardian if that is to die as well.
    fn kill(&mut self, with_guardian: bool) -> u32 {
        let mut lab = self.lab.take().unwrap();
        if with_guardian {
            // The process that the lab has forked before all others.
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", lab.id())).unwrap();
            let guardian = children.split(' ').next().unwrap().parse().unwrap();
            kill_process(Pid::from_raw(guardian).unwrap(), Signal::KILL).unwrap();
        }
        lab.kill().unwrap();
        lab.wait().unwrap();
        lab.id()
    }

    fn private_directories(&self) -> usize {
        let entries = fs::read_dir(self.dir.path()).unwrap().flatten();
        // What tells runs of other users than root of each other stays.
        let is_private = |name: &str| name.starts_with("pitot-") && !name.starts_with("pitot-lock");
        entries.filter(|entry| is_private(&entry.file_name().to_string_lossy())).count()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(mut lab) = self.lab.take() {
            let _ = lab.kill();
            let _ = lab.wait();
        }
        self.daemons().into_iter().for_each(|pid| {
            let _ = kill_process(pid, Signal::KILL);
        });
    }
}

/// The control groups of the lab with this number, wherever they are mounted.
fn control_groups(dir: &Path, lab: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(&format!("pitot-{lab}-")) {
            found.push(entry.path());
        }
        found.extend(control_groups(&entry.path(), lab));
    }
    found
}

fn fails_its_cell(by: By) {
    let bed = Bed::new(by, "50ms");
    let lab = bed.command(&["run", "plan.toml", "-o", "run.pitot"]).spawn().unwrap();
    let id = lab.id();
    let output = lab.wait_with_output().unwrap();
    let left = bed.daemons();
    assert_eq!(left, [], "{}", text(&output));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("a process was left behind: `sleep`"), "{}", text(&output));
    until("the guardian to end", || bed.private_directories() == 0);
    until("control groups go", || control_groups(Path::new("/sys/fs/cgroup"), id).is_empty());
}

fn dies_with_the_lab(by: By) {
    let mut bed = Bed::new(by, "10m");
    bed.start();
    let id = bed.kill(false);
    until("the guardian to end", || bed.private_directories() == 0);
    assert_eq!(bed.daemons(), []);
    assert_eq!(control_groups(Path::new("/sys/fs/cgroup"), id), Vec::<PathBuf>::new());
}

fn is_ended_by_undo(by: By) {
    let mut bed = Bed::new(by, "10m");
    bed.start();
    let id = bed.kill(true);
    assert_ne!(bed.daemons(), [], "nobody was left to kill it");
    let journal = bed.dir.path().join("journal");
    let output = bed.command(&["host", "undo", "--journal"]).arg(journal).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("removed what a killed run left"), "{}", text(&output));
    assert_eq!(bed.daemons(), []);
    assert_eq!(bed.private_directories(), 0);
    assert_eq!(control_groups(Path::new("/sys/fs/cgroup"), id), Vec::<PathBuf>::new());
}

#[needs("control-groups")]
#[test]
fn a_daemon_in_a_control_group_is_killed_and_fails_its_cell() {
    fails_its_cell(By::Group);
}

#[needs("setpriv", "other-users")]
#[test]
fn a_daemon_that_only_has_a_mark_is_killed_and_fails_its_cell() {
    fails_its_cell(By::Mark);
}

#[needs("control-groups")]
#[test]
fn a_daemon_in_a_control_group_dies_with_a_lab_that_is_killed() {
    dies_with_the_lab(By::Group);
}

#[needs("setpriv", "other-users")]
#[test]
fn a_daemon_that_only_has_a_mark_dies_with_a_lab_that_is_killed() {
    dies_with_the_lab(By::Mark);
}

#[needs("control-groups")]
#[test]
fn undo_ends_a_daemon_in_a_control_group_after_lab_and_guardian_were_killed() {
    is_ended_by_undo(By::Group);
}

#[needs("setpriv", "other-users")]
#[test]
fn undo_ends_a_daemon_that_only_has_a_mark_after_lab_and_guardian_were_killed() {
    is_ended_by_undo(By::Mark);
}
