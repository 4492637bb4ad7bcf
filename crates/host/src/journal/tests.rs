//! Apply and undo on a machine of files, where every moment can be looked at.

use std::fs;
use std::path::Path;

use super::record::{Entry, Record};
use super::*;
use crate::setting::Change;

/// Values of these files have one length: a kernel's file is replaced by a write, one of a disk is not shortened.
const FILES: &[(&str, &str, &str)] = &[
    ("proc/sys/vm/swappiness", "vm.swappiness", "60"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "thp.defrag", "defer"),
    ("sys/block/x/queue/read_ahead_kb", "block.x.read-ahead-kb", "128"),
    ("proc/sys/net/core/somaxconn", "net.core.somaxconn", "4096"),
];

struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new() -> Fake {
        let fake = Fake { dir: tempfile::tempdir().unwrap() };
        for (file, _, value) in FILES {
            fake.set(file, value);
        }
        fake.set("proc/sys/kernel/random/boot_id", "this");
        fake
    }

    fn set(&self, file: &str, value: &str) {
        let path = self.dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }

    fn get(&self, file: &str) -> String {
        fs::read_to_string(self.dir.path().join(file)).unwrap().trim().to_owned()
    }

    fn machine(&self) -> Machine {
        Machine::at(self.dir.path())
    }

    fn journal(&self) -> std::path::PathBuf {
        self.dir.path().join("journal")
    }

    fn open(&self) -> Journal {
        Journal::create(&self.machine(), &self.journal()).unwrap()
    }

    /// Makes the network namespace of the process one of this name.
    fn enter_network(&self, namespace: &str) {
        let directory = self.dir.path().join("proc/self/ns");
        fs::create_dir_all(&directory).unwrap();
        let _ = fs::remove_file(directory.join("net"));
        std::os::unix::fs::symlink(namespace, directory.join("net")).unwrap();
    }

    fn apply(&self, batch: u64, changes: &[(&str, &str)]) -> Result<Vec<Applied>, Failure> {
        apply(&mut self.open(), &self.machine(), batch, &wanted(changes))
    }

    fn undo(&self, scope: Scope) -> Vec<Undone> {
        let undoing = undo_changes(&mut self.open(), &self.machine(), scope, undo::no_faults);
        assert_eq!(undoing.unrecorded, None);
        undoing.changes
    }

    fn is_as_at_first(&self) -> bool {
        FILES.iter().all(|(file, _, value)| self.get(file) == *value)
    }
}

fn wanted(changes: &[(&str, &str)]) -> Vec<Wanted> {
    let want = |(key, value): &(&str, &str)| Wanted {
        change: Change { key: (*key).into(), value: (*value).into() },
        by: "a test".into(),
        is_required: true,
    };
    changes.iter().map(want).collect()
}

const CHANGES: &[(&str, &str)] = &[
    ("vm.swappiness", "10"),
    ("thp.defrag", "never"),
    ("block.x.read-ahead-kb", "256"),
    ("net.core.somaxconn", "1024"),
    ("net.core.somaxconn", "2048"),
];

/// Whatever whole or half lines of the journal have reached the file when the process is killed, and whether or not the
/// change that the last line announces was made, undoing restores everything. The lines of undoing are among them.
#[test]
fn after_a_kill_at_any_line_of_the_journal_everything_is_restored() {
    let lines = {
        let fake = Fake::new();
        fake.apply(1, CHANGES).unwrap();
        fs::read_to_string(fake.journal()).unwrap().trim_end_matches('\0').to_owned()
    };
    // The end of each line, one byte before it, and some in between.
    let is_cut = |end: &usize| {
        end.is_multiple_of(61) || lines[*end..].starts_with('\n') || lines[..*end].ends_with('\n')
    };
    for end in (0..=lines.len()).filter(is_cut) {
        for made in [false, true] {
            let fake = Fake::new();
            let whole = &lines[..lines[..end].rfind('\n').map_or(0, |last| last + 1)];
            let announced: Vec<Entry> = whole
                .lines()
                .filter_map(|line| match serde_json::from_str(line).unwrap() {
                    Record::Change(entry) => Some(entry),
                    _ => None,
                })
                .collect();
            // All but the last announced change were made; the last one may have been.
            let is_done = whole.lines().last().is_some_and(|line| line.contains("\"done\""));
            let count = if is_done || made { announced.len() } else { announced.len().saturating_sub(1) };
            for entry in &announced[..count] {
                let (file, ..) = FILES.iter().find(|(_, key, _)| *key == entry.key).unwrap();
                fake.set(file, &entry.set);
            }
            fs::write(fake.journal(), &lines[..end]).unwrap();
            let outcomes = fake.undo(Scope::All);
            assert!(outcomes.iter().all(Undone::is_as_before), "{end} {made}: {outcomes:?}");
            assert!(fake.is_as_at_first(), "{end} {made}: {outcomes:?}");
            assert_eq!(fs::metadata(fake.journal()).unwrap().len(), 0);
        }
    }
}

#[test]
fn undoing_may_be_killed_after_any_of_its_steps_and_begun_again() {
    for steps in 0..=CHANGES.len() {
        for marked in [false, true] {
            let fake = Fake::new();
            fake.apply(1, CHANGES).unwrap();
            let mut journal = fake.open();
            let entries: Vec<Entry> = journal.entries().to_vec();
            for (step, entry) in entries.iter().rev().take(steps).enumerate() {
                let (file, ..) = FILES.iter().find(|(_, key, _)| *key == entry.key).unwrap();
                fake.set(file, &entry.found);
                // Killed before the last step was marked, or after it.
                if marked || step + 1 < steps {
                    journal.append(&Record::Undone { id: entry.id }).unwrap();
                }
            }
            drop(journal);
            let outcomes = fake.undo(Scope::All);
            assert!(fake.is_as_at_first(), "{steps} {marked}: {outcomes:?}");
            assert!(outcomes.iter().all(Undone::is_as_before), "{steps} {marked}: {outcomes:?}");
        }
    }
}

#[test]
fn what_another_hand_has_changed_is_kept_and_what_is_rounded_is_ours() {
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..3]).unwrap();
    fake.set("proc/sys/vm/swappiness", "33");
    let outcomes = fake.undo(Scope::All);
    assert!(matches!(&outcomes[2], Undone::Kept { now, .. } if now == "33"), "{outcomes:?}");
    assert_eq!(fake.get("sys/block/x/queue/read_ahead_kb"), "128");
    // Killed between the write and its record, where the kernel had rounded 250 to 252.
    let fake = Fake::new();
    fake.apply(1, &[("block.x.read-ahead-kb", "250")]).unwrap();
    let text = fs::read_to_string(fake.journal()).unwrap();
    let without_done: String =
        text.lines().filter(|l| !l.contains("\"done\"")).map(|l| format!("{l}\n")).collect();
    fs::write(fake.journal(), without_done).unwrap();
    fake.set("sys/block/x/queue/read_ahead_kb", "252");
    assert!(fake.undo(Scope::All)[0].is_as_before());
    assert!(fake.is_as_at_first());
}

#[test]
fn what_belongs_to_a_run_under_way_is_left_to_it() {
    let fake = Fake::new();
    let stat = |ticks: &str| format!("1 (pitot) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {ticks} 0");
    let file = format!("proc/{}/stat", std::process::id());
    fake.set(&file, &stat("77"));
    let mut journal = fake.open();
    for _ in 0..2 {
        claim(&mut journal, &fake.machine(), 2).unwrap();
    }
    drop(journal);
    assert_eq!(fs::read_to_string(fake.journal()).unwrap().lines().count(), 2, "it is claimed once");
    fake.apply(1, &CHANGES[..1]).unwrap();
    fake.apply(2, &[("net.core.somaxconn", "1024")]).unwrap();
    let outcomes = fake.undo(Scope::All);
    assert!(matches!(outcomes[0], Undone::OfRun { .. }) && outcomes[1].is_as_before(), "{outcomes:?}");
    assert_eq!(fake.get("proc/sys/net/core/somaxconn"), "1024");
    // Another process has that number now: the run is gone.
    fake.set(&file, &stat("78"));
    assert!(fake.undo(Scope::All)[0].is_as_before());
    assert!(fake.is_as_at_first());
    // The run itself undoes its own.
    claim(&mut fake.open(), &fake.machine(), 3).unwrap();
    fake.apply(3, &[("net.core.somaxconn", "1024")]).unwrap();
    assert!(fake.undo(Scope::Batch(3))[0].is_as_before());
    assert!(fake.is_as_at_first());
}

#[test]
fn a_value_that_cannot_be_one_is_refused_before_anything_is_written() {
    let fake = Fake::new();
    for (key, value) in [("net.core.somaxconn", "abc"), ("vm.swappiness", "1 2")] {
        let failure = check(&fake.machine(), &wanted(&[(key, value)])).unwrap_err();
        assert!(failure.exit_code() == 2 && failure.what.contains("number"), "{failure:?}");
    }
    fake.set("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    let failure = check(&fake.machine(), &wanted(&[("thp.enabled", "sometimes")])).unwrap_err();
    assert!(failure.what.contains("always, madvise, never"), "{failure:?}");
    let refused = |key: &str, value: &str| check(&fake.machine(), &wanted(&[(key, value)])).unwrap_err().what;
    assert!(refused("block.x.read-ahead-kb", "abc").contains("a number"));
    let source = "sys/devices/system/clocksource/clocksource0";
    fake.set(&format!("{source}/current_clocksource"), "tsc");
    fake.set(&format!("{source}/available_clocksource"), "tsc hpet");
    assert!(refused("clocksource", "sundial").contains("tsc, hpet"));
    fake.set("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
    fake.set("sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors", "performance powersave");
    assert!(refused("cpu.0.governor", "fast").contains("performance, powersave"));
}

#[test]
fn a_batch_is_undone_beneath_a_later_one() {
    let fake = Fake::new();
    fake.apply(1, &[("net.core.somaxconn", "1024"), ("vm.swappiness", "10")]).unwrap();
    fake.apply(2, &[("net.core.somaxconn", "2048")]).unwrap();
    let outcomes = fake.undo(Scope::Batch(1));
    assert!(outcomes.iter().all(Undone::is_as_before), "{outcomes:?}");
    assert_eq!(
        (fake.get("proc/sys/net/core/somaxconn"), fake.get("proc/sys/vm/swappiness")),
        ("2048".into(), "60".into())
    );
    fake.undo(Scope::All);
    assert!(fake.is_as_at_first());
}

#[test]
fn what_belongs_to_another_namespace_waits_for_it_unless_it_is_forgotten() {
    let fake = Fake::new();
    fake.enter_network("net:[1]");
    fake.apply(1, &[("net.core.somaxconn", "1024"), ("vm.swappiness", "10")]).unwrap();
    fake.enter_network("net:[2]");
    let outcomes = fake.undo(Scope::All);
    assert!(matches!(outcomes[1], Undone::Elsewhere { .. }) && outcomes[0].is_as_before(), "{outcomes:?}");
    assert_eq!(fake.get("proc/sys/net/core/somaxconn"), "1024");
    assert!(matches!(fake.undo(Scope::AllAndForget)[0], Undone::Gone { .. }));
    assert_eq!(fs::metadata(fake.journal()).unwrap().len(), 0);
}

/// In the other namespace the file is another one, which this machine of files cannot have: its value is put there.
#[test]
fn a_setting_of_two_namespaces_is_restored_in_each_of_them() {
    let fake = Fake::new();
    let somaxconn = "proc/sys/net/core/somaxconn";
    fake.enter_network("net:[1]");
    fake.apply(1, &[("net.core.somaxconn", "1024")]).unwrap();
    fake.enter_network("net:[2]");
    fake.set(somaxconn, "5000");
    fake.apply(2, &[("net.core.somaxconn", "2048")]).unwrap();
    fake.enter_network("net:[1]");
    fake.set(somaxconn, "1024");
    let shown = status(&fake.machine(), &fake.journal()).unwrap();
    let states: Vec<_> = shown.changes.iter().map(|change| change.state).collect();
    assert_eq!(states, [ChangeState::InForce, ChangeState::NotHere]);
    let outcomes = fake.undo(Scope::All);
    assert!(matches!(outcomes[0], Undone::Elsewhere { .. }) && outcomes[1].is_as_before(), "{outcomes:?}");
    assert_eq!(fake.get(somaxconn), "4096");
    fake.enter_network("net:[2]");
    fake.set(somaxconn, "2048");
    assert!(fake.undo(Scope::All)[0].is_as_before());
    assert_eq!(fake.get(somaxconn), "5000");
}

#[test]
fn what_is_refused_takes_back_what_was_done_before_it() {
    let fake = Fake::new();
    let failure = fake.apply(1, &[("vm.swappiness", "10"), ("thp.nothing", "1")]).unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    let failure = fake.apply(1, &[("vm.swappiness", "10"), ("vm.nothing", "1")]).unwrap_err();
    assert!(failure.what.contains("no such setting"), "{failure:?}");
    assert!(fake.is_as_at_first());
    assert_eq!(fake.apply(1, &[("vm.swappiness", "60")]).unwrap().len(), 1);
    assert_eq!(fs::metadata(fake.journal()).unwrap().len(), 0, "nothing was changed");
}

#[test]
fn what_the_timer_leaves_alone_stays_in_the_journal_until_somebody_is_told() {
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..2]).unwrap();
    fake.set("proc/sys/vm/swappiness", "33");
    assert!(matches!(fake.undo(Scope::Later(1))[1], Undone::Kept { .. }));
    let shown = status(&fake.machine(), &fake.journal()).unwrap();
    assert_eq!(shown.changes.len(), 1);
    assert_eq!(shown.changes[0].state, ChangeState::ChangedSince);
    assert!(matches!(fake.undo(Scope::All)[0], Undone::Kept { .. }));
    assert_eq!(fs::metadata(fake.journal()).unwrap().len(), 0);
}

#[test]
fn a_file_that_is_no_journal_is_left_as_it_is() {
    let fake = Fake::new();
    for text in [
        "notes",
        "notes\n",
        "notes\0\0",
        "{\"record\":\"done\",\"id\":1,\"taken\":\"1\"}\n",
        "\n",
        "{",
        "\0\0",
    ] {
        fs::write(fake.journal(), text).unwrap();
        let opened = Journal::open(&fake.machine(), &fake.journal());
        if ["{", "\0\0"].contains(&text) {
            // It may be the first byte of one, or what a power cut has left of its first line.
            assert!(opened.is_ok());
            continue;
        }
        assert!(opened.unwrap_err().what.contains("journal"), "{text:?}");
        assert_eq!(fs::read_to_string(fake.journal()).unwrap(), text);
    }
    let failure = Journal::open(&fake.machine(), Path::new("/dev/zero")).unwrap_err();
    assert!(failure.what.contains("not a regular file"), "{failure:?}");
    assert!(status(&fake.machine(), Path::new("/dev/zero")).is_err());
}

#[test]
fn what_was_undone_and_could_not_be_recorded_is_found_as_before() {
    let fake = Fake::new();
    fake.apply(1, CHANGES).unwrap();
    let text = fs::read(fake.journal()).unwrap();
    fake.undo(Scope::All);
    fs::write(fake.journal(), text).unwrap();
    let shown = status(&fake.machine(), &fake.journal()).unwrap();
    assert!(shown.changes.iter().all(|change| change.state == ChangeState::AsBefore), "{shown:?}");
    let outcomes = fake.undo(Scope::All);
    assert!(outcomes.iter().all(|one| matches!(one, Undone::AsBefore { .. })), "{outcomes:?}");
    assert!(fake.is_as_at_first());
}

/// Space is kept for each change before it is made, and given back when nothing is left to undo.
#[test]
fn undoing_writes_only_where_space_is_kept() {
    let fake = Fake::new();
    let many: Vec<String> = (0..60).map(|n| (1000 + n).to_string()).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|value| ("net.core.somaxconn", value.as_str())).collect();
    fake.apply(1, &many).unwrap();
    fake.apply(2, &[("vm.swappiness", "10")]).unwrap();
    let size = fs::metadata(fake.journal()).unwrap().len();
    assert!(size.is_multiple_of(4096));
    fake.undo(Scope::Batch(1));
    let after = fs::metadata(fake.journal()).unwrap().len();
    assert_eq!((after, fake.get("proc/sys/net/core/somaxconn")), (size, "4096".into()));
    fake.undo(Scope::All);
    assert!(fake.is_as_at_first() && fs::metadata(fake.journal()).unwrap().len() == 0);
}

#[test]
fn a_journal_that_others_can_write_or_that_is_a_link_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..1]).unwrap();
    let mode = fs::metadata(fake.journal()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600, "whoever can read it can lock it");
    let link = fake.dir.path().join("link");
    symlink(fake.journal(), &link).unwrap();
    fs::set_permissions(fake.journal(), fs::Permissions::from_mode(0o606)).unwrap();
    for path in [&link, &fake.journal()] {
        assert!(Journal::open(&fake.machine(), path).is_err() && status(&fake.machine(), path).is_err());
    }
    fs::set_permissions(fake.journal(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(fake.undo(Scope::All)[0].is_as_before());
}

#[test]
fn the_journal_is_where_its_user_says() {
    assert_eq!(undo(Path::new("/nothing/here"), Scope::All, undo::no_faults).unwrap(), Undoing::default());
    let fake = Fake::new();
    fake.apply(7, &CHANGES[..1]).unwrap();
    let status = status(&fake.machine(), &fake.journal()).unwrap();
    assert_eq!(status.changes[0].state, ChangeState::InForce);
    assert_eq!((status.changes[0].batch, status.changes[0].found.as_str()), (7, "60"));
}

fn note(fault: &str, note: &str) -> FaultNote {
    FaultNote { fault: fault.into(), on: "a process".into(), note: note.into(), ..FaultNote::default() }
}

/// Takes back by the note what the note says.
fn by_note(_: &str, note: &str) -> Result<bool, String> {
    match note {
        "there" => Ok(true),
        "gone" => Ok(false),
        why => Err(why.to_owned()),
    }
}

impl Fake {
    fn note(&self, batch: u64, notes: &[FaultNote]) -> Vec<u64> {
        note_faults(&self.machine(), &self.journal(), batch, notes.to_vec()).unwrap()
    }

    fn undo_all(&self) -> Undoing {
        undo_changes(&mut self.open(), &self.machine(), Scope::All, by_note)
    }

    /// Makes this process one of the machine.
    fn live(&self) {
        let stat = format!("{0} (x) S {1}", std::process::id(), "1 ".repeat(30));
        self.set(&format!("proc/{}/stat", std::process::id()), &stat);
    }
}

#[test]
fn faults_are_taken_back_among_the_changes_the_last_first_and_stay_if_they_cannot_be() {
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..1]).unwrap();
    assert_eq!(fake.note(2, &[note("stop", "there"), note("memory", "it is held")]), [2, 3]);
    fake.apply(3, &CHANGES[1..2]).unwrap();
    fake.note(4, &[note("loss", "gone")]);
    let shown = status(&fake.machine(), &fake.journal()).unwrap();
    assert_eq!((shown.changes.len(), shown.faults.len(), shown.faults[0].pid), (2, 3, None));
    assert_eq!(left_faults(&fake.machine(), &fake.journal())[0], "fault stop, a process");
    let undoing = fake.undo_all();
    let outcomes: Vec<(&str, bool)> =
        undoing.changes.iter().map(|one| (one.key(), one.is_as_before())).collect();
    let expected = [
        ("fault loss, a process", true),
        ("thp.defrag", true),
        ("fault memory, a process", false),
        ("fault stop, a process", true),
        ("vm.swappiness", true),
    ];
    assert_eq!(outcomes, expected);
    assert!(fake.is_as_at_first() && !undoing.is_complete());
    let left = fake.undo_all().changes;
    let failed = Undone::Failed { key: "fault memory, a process".into(), why: "it is held".into() };
    assert_eq!(left, [failed]);
    forget_faults(&fake.machine(), &fake.journal(), &[3]).unwrap();
    assert_eq!(fs::metadata(fake.journal()).unwrap().len(), 0);
}

#[test]
fn a_fault_belongs_to_its_program_as_long_as_that_lives() {
    let fake = Fake::new();
    fake.live();
    fake.note(2, &[note("stop", "there")]);
    let pid = std::process::id();
    assert_eq!(status(&fake.machine(), &fake.journal()).unwrap().faults[0].pid, Some(pid));
    assert!(left_faults(&fake.machine(), &fake.journal()).is_empty());
    assert_eq!(fake.undo_all().changes, [Undone::OfRun { key: "fault stop, a process".into(), pid }]);
    // The number is that of another process now.
    fake.set(&format!("proc/{pid}/stat"), &format!("{pid} (x) S {}", "2 ".repeat(30)));
    assert_eq!(fake.undo_all().changes, [Undone::TakenBack { key: "fault stop, a process".into() }]);
}

#[test]
fn what_is_set_at_every_boot_is_undone_after_one() {
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..1]).unwrap();
    fake.apply(2, &[("boot.sysctl", "# made\nvm/swappiness = 1")]).unwrap();
    let file = fake.machine().path("/etc/sysctl.d/90-pitot.conf");
    assert_eq!(fs::read_to_string(&file).unwrap(), "# made\nvm/swappiness = 1\n");
    fake.set("proc/sys/kernel/random/boot_id", "next");
    fake.set("proc/sys/vm/swappiness", "1");
    assert_eq!(fake.open().changes_of_earlier_boot(), 1);
    let undone = fake.undo_all().changes;
    assert!(
        matches!(&undone[..], [Undone::Restored { key, to, .. }] if key == "boot.sysctl" && to.is_empty()),
        "{undone:?}"
    );
    assert!(!file.exists());
}

#[test]
fn a_start_of_the_machine_takes_faults_with_it_but_for_files() {
    let fake = Fake::new();
    fake.apply(1, &CHANGES[..1]).unwrap();
    fake.note(2, &[note("stop", "there"), FaultNote { outlasts_boot: true, ..note("disk-full", "there") }]);
    fake.set("proc/sys/kernel/random/boot_id", "next");
    assert_eq!(status(&fake.machine(), &fake.journal()).unwrap().faults.len(), 1);
    let journal = fake.open();
    assert_eq!((journal.changes_of_earlier_boot(), journal.is_empty()), (2, false));
    drop(journal);
    // Changes of this boot are not lost among lines of the earlier one.
    fake.set("proc/sys/vm/swappiness", "60");
    fake.apply(3, &CHANGES[..1]).unwrap();
    let undone = fake.undo_all().changes;
    assert_eq!(undone.len(), 2, "{undone:?}");
    assert_eq!(undone[1], Undone::TakenBack { key: "fault disk-full, a process".into() });
    assert!(fake.is_as_at_first());
}

#[test]
fn space_is_kept_for_the_lines_that_take_faults_back() {
    let fake = Fake::new();
    let notes = vec![note("stop", "there"); 400];
    fake.note(2, &notes);
    let text = fs::read(fake.journal()).unwrap();
    let written = text.iter().position(|byte| *byte == 0).unwrap();
    let needed: usize = (1..=400).map(|id| Record::Undone { id }.line().len()).sum();
    assert!(text.len() - written >= needed, "{} bytes are kept for {needed}", text.len() - written);
}

#[test]
fn a_journal_of_an_earlier_version_gets_a_line_that_earlier_programs_refuse() {
    let fake = Fake::new();
    fs::write(fake.journal(), "{\"record\":\"journal\",\"version\":2,\"boot_id\":\"this\"}\n").unwrap();
    fs::set_permissions(fake.journal(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fake.note(2, &[note("stop", "there")]);
    let text = fs::read_to_string(fake.journal()).unwrap();
    assert!(text.lines().nth(1).unwrap().contains("\"version\":3"), "{text}");
    assert_eq!(fake.undo_all().changes.len(), 1);
}
