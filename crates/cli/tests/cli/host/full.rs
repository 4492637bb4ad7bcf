//! The journal on a disk that is full or read-only: everything is set back all the same, and nothing is measured that is not
//! what it says.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use pitot_needs::needs;

use super::namespaces::{Place, in_namespaces, sysctl};
use super::{CHANGES, snapshot};
use crate::support::{PITOT, stderr, stdout};

fn mount(arguments: &[&str], dir: &Path) {
    let mounted = Command::new("mount").args(arguments).arg(dir).output().unwrap();
    assert!(mounted.status.success(), "{}", stderr(&mounted));
}

/// A place whose journal is alone on a small file system.
fn on_small_disk(dir: &Path) -> Place {
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], dir);
    Place { journal: dir.join("journal") }
}

/// Appends a line that means nothing to a journal that does not end with a block: a file system gives the rest of a block to its
/// file however full it is.
const END_BLOCK: &str = "[ -e $J ] || exit 0; s=$(($(stat -c %s $J) % 4096)); if [ $s -gt 0 ] && [ $s -lt 4050 ]; then \
                         printf '{\"record\":\"found\",\"id\":0,\"found\":\"%*s\"}\\n' $((4059 - s)) x >> $J; fi";

/// Takes what is free, but for `spare` bytes.
fn fill(dir: &Path, spare: u64) {
    let ended = Command::new("sh").args(["-c", END_BLOCK]).env("J", dir.join("journal")).status().unwrap();
    assert!(ended.success());
    let mut file = File::create(dir.join("fill")).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    let size = file.metadata().unwrap().len();
    file.set_len(size - spare).unwrap();
}

#[needs("user-namespaces")]
#[test]
fn undo_on_a_full_disk_restores_everything_at_once() {
    in_namespaces("full::undo_on_a_full_disk_restores_everything_at_once", |_| {
        let dir = tempfile::tempdir().unwrap();
        let place = on_small_disk(dir.path());
        let before = snapshot();
        assert!(place.run(&[&["apply"], CHANGES].concat()).status.success());
        fill(dir.path(), 0);
        let (undone, code) = place.json(&["undo"]);
        assert_eq!((code, snapshot()), (0, before), "{undone:#}");
        assert!(undone["not_recorded"].is_null(), "{undone:#}");
        assert_eq!(fs::metadata(&place.journal).unwrap().len(), 0);
    });
}

#[needs("user-namespaces")]
#[test]
fn what_is_undone_on_a_full_disk_is_recorded_beside_what_cannot_be() {
    in_namespaces("full::what_is_undone_on_a_full_disk_is_recorded_beside_what_cannot_be", |_| {
        let dir = tempfile::tempdir().unwrap();
        let place = on_small_disk(dir.path());
        let many: Vec<String> =
            (0..17).map(|n| format!("net.ipv4.tcp_rmem=4096 {} 200000", 10000 + n)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let found = sysctl("net.ipv4.tcp_rmem");
        let apply = [&["apply", "net.core.somaxconn=99"], &many[..], &["net.ipv4.tcp_sack=0"]].concat();
        assert!(place.run(&apply).status.success());
        fill(dir.path(), 0);
        // This one cannot be written any more.
        let core = Path::new("/proc/sys/net/core");
        mount(&["--bind", "/proc/sys/net/core"], core);
        mount(&["-o", "remount,bind,ro"], core);
        let (undone, code) = place.json(&["undo"]);
        assert_eq!((code, undone["changes"][18]["outcome"].as_str()), (1, Some("failed")), "{undone:#}");
        assert!(undone["not_recorded"].is_null(), "{undone:#}");
        assert_eq!((sysctl("net.ipv4.tcp_rmem"), sysctl("net.ipv4.tcp_sack")), (found, "1".into()));
        let (status, _) = place.json(&["status"]);
        let keys: Vec<_> = status["changes"].as_array().unwrap().iter().map(|c| c["key"].as_str()).collect();
        assert_eq!(keys, [Some("net.core.somaxconn")]);
        rustix::mount::unmount(core, rustix::mount::UnmountFlags::empty()).unwrap();
        assert_eq!(place.json(&["undo"]).1, 0);
        assert_ne!(sysctl("net.core.somaxconn"), "99");
    });
}

#[needs("user-namespaces")]
#[test]
fn a_journal_that_cannot_be_written_at_all_is_told_after_everything_is_restored() {
    in_namespaces(
        "full::a_journal_that_cannot_be_written_at_all_is_told_after_everything_is_restored",
        |_| {
            let dir = tempfile::tempdir().unwrap();
            let place = on_small_disk(dir.path());
            let before = snapshot();
            assert!(place.run(&[&["apply"], CHANGES].concat()).status.success());
            mount(&["-o", "remount,ro"], dir.path());
            let undone = place.run(&["undo"]);
            let text = stdout(&undone);
            assert_eq!(undone.status.code(), Some(1), "{text}{}", stderr(&undone));
            assert!(
                text.contains("tcp_timestamps: 0 -> 1") && text.contains("NOT RECORDED, the journal"),
                "{text}"
            );
            mount(&["-o", "remount,rw"], dir.path());
            assert_eq!(snapshot(), before, "{text}");
            let (again, code) = place.json(&["undo"]);
            let mut outcomes = again["changes"].as_array().unwrap().iter().map(|change| &change["outcome"]);
            assert!(code == 0 && outcomes.all(|outcome| outcome == "as-before"), "{again:#}");
            assert_eq!(fs::metadata(&place.journal).unwrap().len(), 0);
        },
    );
}

#[needs("user-namespaces")]
#[test]
fn an_apply_for_which_the_disk_has_no_room_takes_back_what_it_did() {
    in_namespaces("full::an_apply_for_which_the_disk_has_no_room_takes_back_what_it_did", |_| {
        let dir = tempfile::tempdir().unwrap();
        let place = on_small_disk(dir.path());
        let before = snapshot();
        let apply = [&["apply"], &CHANGES.repeat(6)[..]].concat();
        // Room for a part of it.
        fill(dir.path(), 4096);
        let applied = place.run(&apply);
        let text = stderr(&applied);
        assert_eq!(applied.status.code(), Some(1), "{text}");
        assert!(text.contains("No space left") && text.contains("nothing was changed"), "{text}");
        assert_eq!((snapshot(), fs::metadata(&place.journal).unwrap().len()), (before, 0), "{text}");
    });
}

#[needs("user-namespaces", "ip")]
#[test]
fn a_run_never_measures_the_baseline_under_what_it_has_changed() {
    in_namespaces("full::a_run_never_measures_the_baseline_under_what_it_has_changed", |_| {
        let (dir, disk) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let place = on_small_disk(disk.path());
        let before = snapshot();
        let found = sysctl("net.core.somaxconn");
        // Each server under changed settings fills the disk of the journal.
        let command = format!(
            "n=$(cat /proc/sys/net/core/somaxconn); echo $n >> {dir}/seen; \
             if [ $n = 77 ]; then sh {dir}/fill.sh; fi; exec {pitot} serve http --listen {{address}} --stats json",
            dir = dir.path().display(),
            pitot = PITOT,
        );
        let server = |name: &str| {
            format!(
                "[servers.{name}]\ncommand = [\"sh\", \"-c\", {command:?}]\nready = {{ get = \"/bytes/10\" }}\n"
            )
        };
        let plan = format!(
            "generations = 2\nslices = 2\nslice = \"5ms\"\nwarmup = \"5ms\"\nbaseline = {{ settings = \"found\" }}\n\
             [load]\nurl = \"http://{{address}}/bytes/10\"\nconnections = 2\n{}{}\
             [settings.tried]\n\"net.core.somaxconn\" = 77\n\"net.ipv4.tcp_timestamps\" = 0\n\"net.ipv4.tcp_sack\" = 0\n\
             [factors]\nserver = [\"one\", \"two\"]\nsettings = [\"found\", \"tried\"]\n",
            server("one"),
            server("two"),
        );
        let fill = format!(
            "J={0}/journal; {END_BLOCK}; cat /dev/zero > {0}/fill 2> /dev/null",
            disk.path().display()
        );
        fs::write(dir.path().join("fill.sh"), fill).unwrap();
        fs::write(dir.path().join("plan.toml"), plan).unwrap();
        let mut run = place.pitot(&["run", "plan.toml", "--output", "run.pitot"]);
        let output = run.current_dir(dir.path()).env("TMPDIR", dir.path()).output().unwrap();
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert!(output.status.success(), "{text}");
        let seen = fs::read_to_string(dir.path().join("seen")).unwrap();
        let count = |value: &str| seen.lines().filter(|line| *line == value).count();
        // One trial, as the two are alike, and two generations; each of the two at the baseline has a control.
        assert_eq!((count(&found), count("77")), (1 + 2 * 4, 1 + 2 * 2), "{seen}");
        assert_eq!((snapshot(), fs::metadata(&place.journal).unwrap().len()), (before, 0), "{text}");
    });
}
