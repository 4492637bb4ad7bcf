//! The lines of a journal, and what is left to undo after them.

use pitot_results::Failure;
use serde::{Deserialize, Serialize};

use crate::setting::file_that_outlasts_boot;

/// What the first line begins with.
const FIRST: &str = "{\"record\":\"journal\",";
/// The version of the lines. Since the second a line may name the run that a batch belongs to, since the third a fault; and a
/// further first line may follow, of a later version or boot.
const VERSION: u32 = 3;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(super) enum Record {
    /// The first line: which boot the changes belong to.
    Journal { version: u32, boot_id: String },
    /// A setting is about to be changed.
    Change(Entry),
    /// It was changed, and reads so now.
    Done { id: u64, taken: String },
    /// An earlier change of the same setting was undone in the midst of others: what to go back to has moved.
    Found { id: u64, found: String },
    /// Part of a fault is about to be made.
    Fault(FaultEntry),
    /// A change or a fault needs no undoing any more.
    Undone { id: u64 },
    /// A process that will undo a batch.
    Timer(Timer),
    /// A run to which a batch belongs as long as it lives.
    Run(Owner),
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Ascends.
    pub(super) id: u64,
    /// What was asked for together.
    pub(super) batch: u64,
    /// The concrete key.
    pub(super) key: String,
    /// The value before.
    pub(super) found: String,
    /// The value asked for.
    pub(super) set: String,
    /// What it reads since; `None` if that is not known, because the change may not have been made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) taken: Option<String>,
    /// What asked for it: a rule, a profile, or a user.
    pub(super) by: String,
    /// When, RFC 3339.
    pub(super) at: String,
    /// The network namespace, for what belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
}

impl Entry {
    /// The bytes of the lines that undoing it may take: what to go back to moves to another change, and it is undone.
    pub(super) fn undo_bytes(&self) -> u64 {
        let found = Record::Found { id: u64::MAX, found: self.found.clone() };
        (found.line().len() + Record::Undone { id: self.id }.line().len()) as u64
    }

    /// Whether it is about the same setting: one name stands for another thing in each network namespace.
    pub(super) fn is_of_same_setting(&self, other: &Entry) -> bool {
        self.key == other.key && self.namespace == other.namespace
    }
}

/// What a fault does to one process, file or table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FaultEntry {
    /// Ascends, together with the numbers of changes.
    pub(super) id: u64,
    /// What one program has made.
    pub(super) batch: u64,
    /// When, RFC 3339.
    pub(super) at: String,
    /// The network namespace, for what belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    /// The fault and its note.
    #[serde(flatten)]
    pub(super) note: FaultNote,
}

/// How part of a fault is taken back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultNote {
    /// The fault's name.
    pub fault: String,
    /// To what it is done: `process 4711 (nginx)`.
    pub on: String,
    /// What the fault takes it back by. It names a process by its number and its start, so that no other is touched.
    pub note: String,
    /// It belongs to the network namespace in which it is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_network: bool,
    /// It is still there when the machine is started again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outlasts_boot: bool,
}

impl FaultEntry {
    /// The bytes of the line that undoing it takes.
    pub(super) fn undo_bytes(&self) -> u64 {
        Record::Undone { id: self.id }.line().len() as u64
    }

    /// What it is called: `fault stop, process 4711 (nginx)`.
    pub(super) fn key(&self) -> String {
        format!("fault {}, {}", self.note.fault, self.note.on)
    }
}

/// The process of a run, which undoes its batch itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    /// What belongs to it.
    pub(super) batch: u64,
    /// Its number.
    pub(super) pid: u32,
    /// When it was started, in clock ticks since boot.
    pub(super) started_ticks: u64,
}

/// A process that will undo a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Timer {
    /// What it will undo.
    pub(super) batch: u64,
    /// Its number.
    pub(super) pid: u32,
    /// When it was started, in clock ticks since boot: with the number it names one process.
    pub(super) started_ticks: u64,
    /// When it will, Unix time in seconds.
    pub(super) until_unix_s: u64,
}

impl Record {
    /// Its line.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).expect("a record is plain data") + "\n"
    }
}

/// The lines of a journal that are whole. Behind them may be half a line, and bytes of 0, which keep space for further ones.
fn whole_lines(text: &str) -> &str {
    let written = written(text);
    written.rfind('\n').map_or("", |end| &written[..=end])
}

/// The text before the first byte of 0.
fn written(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// What the lines of a journal amount to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The boot that it belongs to; empty in a file without lines.
    pub(super) boot_id: String,
    /// The version of the last first line.
    pub(super) version: u32,
    /// Changes to undo, the first first.
    pub(super) entries: Vec<Entry>,
    /// Faults to take back, the first first.
    pub(super) faults: Vec<FaultEntry>,
    /// Who will undo some of them.
    pub(super) timers: Vec<Timer>,
    /// Whom some of them belong to.
    pub(super) owners: Vec<Owner>,
    /// The largest number of a change or fault so far.
    pub(super) last_id: u64,
    /// The bytes of the lines that could be read.
    pub(super) bytes: usize,
}

impl State {
    /// Reads whole lines, in the boot `boot_id`. A last line without its end is left out, and so are those of an earlier boot
    /// from one on that cannot be read: the loss of power may have torn it, and there is nothing to undo. It may have torn the
    /// first line too, and left bytes of 0 in its place.
    pub(super) fn parse(text: &str, boot_id: &str) -> Result<State, Failure> {
        let written = written(text);
        if !written.starts_with(FIRST) && !FIRST.starts_with(written) {
            return Err(Failure::misuse(
                "the file is not a journal",
                "name another with --journal FILE, or remove it",
            ));
        }
        let mut state = State::default();
        for (index, line) in whole_lines(text).split_inclusive('\n').enumerate() {
            match serde_json::from_str(line) {
                Ok(record) => {
                    state.take(&record)?;
                    state.bytes += line.len();
                }
                Err(_) if state.is_of_earlier_boot(boot_id) => break,
                Err(e) => {
                    return Err(Failure::run(
                        format!("line {} of the journal cannot be read: {e}", index + 1),
                        "undo the changes in its other lines by hand, and remove the file",
                    ));
                }
            }
        }
        Ok(state)
    }

    /// True if the machine has been started again since.
    pub(super) fn is_of_earlier_boot(&self, boot_id: &str) -> bool {
        !self.boot_id.is_empty() && self.boot_id != boot_id
    }

    /// What a further line changes.
    pub(super) fn take(&mut self, record: &Record) -> Result<(), Failure> {
        match record {
            Record::Journal { version, boot_id } if *version <= VERSION => {
                if self.is_of_earlier_boot(boot_id) {
                    self.forget_boot();
                }
                self.boot_id.clone_from(boot_id);
                self.version = *version;
            }
            Record::Journal { version, .. } => {
                return Err(Failure::misuse(
                    format!("the journal has version {version}, but this pitot knows version {VERSION}"),
                    "undo with the pitot that wrote it",
                ));
            }
            Record::Change(entry) => {
                self.last_id = self.last_id.max(entry.id);
                self.entries.push(entry.clone());
            }
            Record::Done { id, taken } => self.with(*id, |entry| entry.taken = Some(taken.clone())),
            Record::Found { id, found } => self.with(*id, |entry| entry.found.clone_from(found)),
            Record::Fault(fault) => {
                self.last_id = self.last_id.max(fault.id);
                self.faults.push(fault.clone());
            }
            Record::Undone { id } => {
                self.entries.retain(|entry| entry.id != *id);
                self.faults.retain(|fault| fault.id != *id);
            }
            Record::Timer(timer) => self.timers.push(timer.clone()),
            Record::Run(owner) => self.owners.push(owner.clone()),
        }
        Ok(())
    }

    /// Forgets what the start of the machine has taken back.
    pub(super) fn forget_boot(&mut self) {
        self.entries.retain(|entry| file_that_outlasts_boot(&entry.key).is_some());
        self.timers.clear();
        self.owners.clear();
        self.faults.retain(|fault| fault.note.outlasts_boot);
    }

    /// True if a line of this version of the journal may follow.
    pub(super) fn is_current(&self) -> bool {
        self.version == VERSION
    }

    fn with(&mut self, id: u64, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            change(entry);
        }
    }

    /// The first line of a journal of this boot.
    pub(super) fn header(boot_id: &str) -> Record {
        Record::Journal { version: VERSION, boot_id: boot_id.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64) -> Entry {
        Entry { id, key: "vm.swappiness".into(), found: "60".into(), set: "10".into(), ..empty() }
    }

    fn empty() -> Entry {
        Entry {
            id: 0,
            batch: 7,
            key: String::new(),
            found: String::new(),
            set: String::new(),
            taken: None,
            by: "a user".into(),
            at: String::new(),
            namespace: None,
        }
    }

    fn text(records: &[Record]) -> String {
        records.iter().map(Record::line).collect()
    }

    #[test]
    fn the_state_is_what_the_whole_lines_say() {
        let records = [
            State::header("boot"),
            Record::Change(entry(1)),
            Record::Done { id: 1, taken: "10".into() },
            Record::Change(entry(2)),
            Record::Undone { id: 1 },
        ];
        let state = State::parse(&text(&records), "boot").unwrap();
        assert_eq!((state.boot_id.as_str(), state.last_id), ("boot", 2));
        assert_eq!(state.entries, [entry(2)]);
    }

    #[test]
    fn a_journal_that_is_cut_anywhere_can_be_read() {
        let records =
            [State::header("boot"), Record::Change(entry(1)), Record::Done { id: 1, taken: "10".into() }];
        let text = text(&records);
        for end in 0..=text.len() {
            let state = State::parse(&text[..end], "boot").unwrap();
            assert!(state.entries.len() <= 1);
            let kept = text[..end].to_owned() + "\0\0\0";
            assert_eq!(State::parse(&kept, "boot").unwrap(), state, "space is kept behind it");
        }
    }

    fn fault(id: u64, outlasts_boot: bool) -> FaultEntry {
        let note = FaultNote {
            fault: "stop".into(),
            on: "process 4711 (nginx)".into(),
            note: "4711 815".into(),
            outlasts_boot,
            ..FaultNote::default()
        };
        FaultEntry { id, batch: 9, at: String::new(), namespace: None, note }
    }

    #[test]
    fn faults_stand_beside_changes_until_they_are_undone_or_their_boot_is_over() {
        let records = [
            State::header("boot"),
            Record::Change(entry(1)),
            Record::Fault(fault(2, false)),
            Record::Fault(fault(3, true)),
            Record::Fault(fault(4, false)),
            Record::Undone { id: 2 },
        ];
        let state = State::parse(&text(&records), "boot").unwrap();
        assert_eq!((state.entries.len(), state.last_id), (1, 4));
        assert_eq!(state.faults, [fault(3, true), fault(4, false)]);
        assert_eq!(state.faults[0].key(), "fault stop, process 4711 (nginx)");
        let next = text(&records) + &text(&[State::header("next")]);
        let state = State::parse(&next, "next").unwrap();
        assert_eq!((state.entries, state.faults), (Vec::new(), vec![fault(3, true)]));
    }

    #[test]
    fn a_journal_of_an_earlier_version_is_read() {
        let line = r#"{"record":"journal","version":2,"boot_id":"boot"}"#;
        let old = format!("{line}\n{}", text(&[Record::Change(entry(1))]));
        let state = State::parse(&old, "boot").unwrap();
        assert_eq!((&state.entries[..], state.is_current()), (&[entry(1)][..], false));
    }

    #[test]
    fn a_damaged_line_is_named_and_a_newer_version_refused() {
        let header = text(&[State::header("boot")]);
        assert!(header.starts_with(FIRST));
        let damaged = header + "nonsense\n";
        assert!(State::parse(&damaged, "boot").unwrap_err().what.contains("line 2"));
        assert!(State::parse(&damaged, "next").unwrap().entries.is_empty(), "nothing is to be undone");
        let newer = text(&[Record::Journal { version: VERSION + 1, boot_id: "boot".into() }]);
        assert_eq!(State::parse(&newer, "boot").unwrap_err().exit_code(), 2);
    }
}
