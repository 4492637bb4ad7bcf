//! Runs whose plan changes the host: each cell has its settings, and all of them are set back whatever ends the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::Duration;

use pitot_needs::needs;

use super::namespaces::{Place, in_namespaces, set_by_hand, sysctl};
use super::snapshot;
use crate::support::{PITOT, stderr, stdout, until};

/// The value of the backlog at the level that changes it.
const BACKLOG: &str = "77";

/// A plan with a server that notes the backlog under which it was started.
fn plan(dir: &Path, generations: u32) -> PathBuf {
    let text = format!(
        r#"
generations = {generations}
slices = 2
slice = "5ms"
warmup = "5ms"
baseline = {{ settings = "found" }}
[load]
url = "http://{{address}}/bytes/10"
connections = 2
[servers.noting]
command = ["sh", "-c", "cat /proc/sys/net/core/somaxconn >> {dir}/seen; pwd >> {dir}/places; exec {pitot} serve http --listen {{address}} --stats json"]
ready = {{ get = "/bytes/10" }}
[settings.tried]
"net.core.somaxconn" = {BACKLOG}
"net.ipv4.tcp_timestamps" = 0
"nic.lo.gso" = "off"
filesystem = "tmpfs"
[factors]
server = ["noting"]
settings = ["found", "tried"]
"#,
        dir = dir.display(),
        pitot = PITOT,
    );
    let path = dir.join("plan.toml");
    fs::write(&path, text).unwrap();
    path
}

/// A run under way, in a directory of its own, which is where it keeps what it must remove.
struct Under {
    dir: tempfile::TempDir,
    lab: Option<Child>,
}

impl Under {
    fn start(place: &Place, generations: u32) -> Under {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(dir.path(), generations);
        let mut command = place.pitot(&["run"]);
        command.arg(plan).current_dir(dir.path()).env("TMPDIR", dir.path());
        Under { lab: Some(command.spawn().unwrap()), dir }
    }

    fn end(&mut self) -> Output {
        self.lab.take().unwrap().wait_with_output().unwrap()
    }

    /// Waits until the run has changed the host.
    fn wait_for_change(&self) {
        until("the run to change the host", || sysctl("net.core.somaxconn") == BACKLOG);
    }

    /// Kills the lab, after its guardian if that is to die as well.
    fn kill(&mut self, with_guardian: bool) {
        let lab = self.lab.as_mut().unwrap();
        if with_guardian && let Some(guardian) = guardian_of(lab.id()) {
            rustix::process::kill_process(guardian, rustix::process::Signal::KILL).unwrap();
        }
        lab.kill().unwrap();
        lab.wait().unwrap();
    }

    /// Waits until nobody is left who could undo something.
    fn wait_for_guardian(&self) {
        let has_private = || {
            fs::read_dir(self.dir.path())
                .unwrap()
                .flatten()
                .any(|e| e.file_name().to_string_lossy().starts_with("pitot-") && e.path().is_dir())
        };
        until("the guardian to end", || !has_private());
    }
}

impl Drop for Under {
    fn drop(&mut self) {
        if let Some(mut lab) = self.lab.take() {
            let _ = lab.kill();
            let _ = lab.wait();
        }
    }
}

/// The process that the lab has forked before all others.
fn guardian_of(lab: u32) -> Option<rustix::process::Pid> {
    let children = fs::read_to_string(format!("/proc/{lab}/task/{lab}/children")).ok()?;
    rustix::process::Pid::from_raw(children.split_whitespace().next()?.parse().ok()?)
}

#[needs("user-namespaces", "ip")]
#[test]
fn each_cell_has_its_settings_and_all_are_set_back() {
    in_namespaces("runs::each_cell_has_its_settings_and_all_are_set_back", |place| {
        let before = snapshot();
        let found = sysctl("net.core.somaxconn");
        let mut under = Under::start(place, 2);
        let output = under.end();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(snapshot(), before);
        assert_eq!(fs::metadata(&place.journal).unwrap().len(), 0, "nothing is left to undo");
        let seen = fs::read_to_string(under.dir.path().join("seen")).unwrap();
        let count = |value: &str| seen.lines().filter(|line| *line == value).count();
        // A trial and two generations; the control is under what was found.
        assert_eq!((count(&found), count(BACKLOG)), (1 + 2 * 2, 1 + 2), "{seen}");
        let places = fs::read_to_string(under.dir.path().join("places")).unwrap();
        let made = places.lines().filter(|place| place.starts_with("/run/pitot-filesystem/")).count();
        assert_eq!(made, 1 + 2, "{places}");
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn the_commands_of_a_cell_begin_with_its_settings() {
    in_namespaces("runs::the_commands_of_a_cell_begin_with_its_settings", |place| {
        let dir = tempfile::tempdir().unwrap();
        let plan = plan(dir.path(), 2);
        let output = place.pitot(&["run", "--dry-run"]).arg(plan).output().unwrap();
        let text = stdout(&output);
        let (found, tried) = text.split_once("# cell 2").expect(text);
        assert!(!found.contains("host apply"), "{text}");
        let settings = format!(
            " host apply net.core.somaxconn={BACKLOG} net.ipv4.tcp_timestamps=0 nic.lo.gso=off filesystem=tmpfs\n"
        );
        assert!(tried.contains(&settings), "{text}");
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn a_lab_that_is_killed_leaves_the_host_as_it_was() {
    in_namespaces("runs::a_lab_that_is_killed_leaves_the_host_as_it_was", |place| {
        let before = snapshot();
        for round in 0..4 {
            let mut under = Under::start(place, 1000);
            under.wait_for_change();
            std::thread::sleep(Duration::from_millis(round * 11));
            under.kill(false);
            under.wait_for_guardian();
            assert_eq!(snapshot(), before, "after kill {round}");
        }
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn undo_restores_what_a_lab_killed_with_its_guardian_has_left() {
    in_namespaces("runs::undo_restores_what_a_lab_killed_with_its_guardian_has_left", |place| {
        let before = snapshot();
        for round in 0..4 {
            let mut under = Under::start(place, 1000);
            under.wait_for_change();
            std::thread::sleep(Duration::from_millis(round * 11));
            under.kill(true);
            let undone = place.run(&["undo"]);
            assert_eq!(undone.status.code(), Some(0), "{}", stdout(&undone));
            assert_eq!(snapshot(), before, "after kill {round}");
        }
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn what_another_hand_sets_during_a_run_is_kept_and_told() {
    in_namespaces("runs::what_another_hand_sets_during_a_run_is_kept_and_told", |place| {
        let mut under = Under::start(place, 6);
        under.wait_for_change();
        set_by_hand("net.core.somaxconn", "99");
        let output = under.end();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(
            text.contains("net.core.somaxconn was changed to \"99\" by another program during the run"),
            "{text}"
        );
        assert_eq!(sysctl("net.core.somaxconn"), "99");
        assert_eq!(sysctl("net.ipv4.tcp_timestamps"), "1", "all else is set back");
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn what_apply_changes_during_a_run_is_kept_and_told_too() {
    in_namespaces("runs::what_apply_changes_during_a_run_is_kept_and_told_too", |place| {
        let found = sysctl("net.core.somaxconn");
        let mut under = Under::start(place, 20);
        loop {
            under.wait_for_change();
            let (applied, _) = place.json(&["apply", "net.core.somaxconn=99"]);
            if applied["settings"][0]["found"] == BACKLOG {
                break;
            }
            // The run had set it back meanwhile.
            place.run(&["undo"]);
        }
        let output = under.end();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(text.contains("`pitot host apply` changed net.core.somaxconn during the run"), "{text}");
        assert_eq!(sysctl("net.core.somaxconn"), "99");
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_eq!(sysctl("net.core.somaxconn"), found);
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn undo_leaves_alone_what_belongs_to_a_run_under_way() {
    in_namespaces("runs::undo_leaves_alone_what_belongs_to_a_run_under_way", |place| {
        let before = snapshot();
        let mut under = Under::start(place, 1000);
        under.wait_for_change();
        // Between two cells there may be nothing to undo.
        until("undo to meet a change", || {
            let undone = place.run(&["undo"]);
            let text = stdout(&undone).to_owned();
            assert!(!text.contains(&format!("{BACKLOG} -> ")), "{text}");
            undone.status.code() == Some(1) && text.contains("it belongs to a run in progress")
        });
        under.kill(false);
        under.wait_for_guardian();
        assert_eq!(snapshot(), before);
    });
}
