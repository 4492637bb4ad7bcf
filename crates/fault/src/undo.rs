//! Undoes faults: by a guardian process that knows each change before it is made, and from the host's journal if that is
//! killed too.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pitot_host::Machine;
use pitot_host::journal::{self, FaultNote};
use pitot_meter::{Nanos, now};
use pitot_sys::guardian::fork_guardian;
use pitot_sys::process::SingleThreaded;
use pitot_sys::processes::Process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::processes;

/// Timeout of the guardian to undo everything.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout to record that; other processes may have locked the journal.
const RECORD_TIMEOUT: Duration = Duration::from_secs(40);

/// A planned change.
#[derive(Debug)]
pub(crate) struct Note {
    /// Its object: `process 4711 (nginx)`.
    pub(crate) on: String,
    /// How to undo it, on one line.
    pub(crate) note: String,
    /// It belongs to the network namespace.
    pub(crate) is_of_network: bool,
    /// It survives a reboot.
    pub(crate) outlasts_boot: bool,
}

impl Note {
    /// A change of a process.
    pub(crate) fn of(process: &Process, note: String) -> Note {
        Note::new(processes::name(std::slice::from_ref(process)), note)
    }

    /// A change that does not survive a reboot.
    pub(crate) fn new(on: String, note: String) -> Note {
        Note { on, note, is_of_network: false, outlasts_boot: false }
    }
}

/// Undoes a change from its note, unless it is undone already. False if its object is gone, like an ended process. The
/// error is a sentence.
pub(crate) type UndoChange = fn(&str) -> Result<bool, String>;

/// The program's end of the pipe to its guardian.
#[derive(Debug)]
pub struct Undo {
    fault: &'static str,
    undo: UndoChange,
    /// The notes, with their line numbers in the journal.
    notes: Vec<(u64, String)>,
    /// Closing it undoes everything.
    pipe: Option<PipeWriter>,
    /// The guardian's reports.
    outcome: PipeReader,
    journal: PathBuf,
    batch: u64,
    /// When the last change was noted.
    noted: Option<Nanos>,
}

impl Undo {
    /// Forks the guardian, which calls `undo` for all notes, last one first, when this process ends or calls
    /// [`take_back`](Self::take_back).
    ///
    /// # Errors
    /// As pipe(2) and fork(2).
    pub(crate) fn start(
        proof: SingleThreaded,
        fault: &'static str,
        undo: UndoChange,
    ) -> std::io::Result<Undo> {
        let journal = std::path::absolute(journal::place())?;
        let (outcome, told) = pipe()?;
        let place = journal.clone();
        let pipe = fork_guardian(proof, move |pipe| watch(pipe, undo, &place, told))?;
        let (batch, notes) = (journal::new_batch(), Vec::new());
        Ok(Undo { fault, undo, notes, pipe: Some(pipe), outcome, journal, batch, noted: None })
    }

    /// Records planned changes. After an error, which is a sentence, they must not be made.
    pub(crate) fn note(&mut self, changes: Vec<Note>) -> Result<(), String> {
        let lines: Vec<String> = changes.iter().map(|change| change.note.clone()).collect();
        let noted = changes
            .into_iter()
            .map(|Note { on, note, is_of_network, outlasts_boot }| FaultNote {
                fault: self.fault.to_owned(),
                on,
                note,
                is_of_network,
                outlasts_boot,
            })
            .collect();
        let ids = journal::note_faults(&Machine::here(), &self.journal, self.batch, noted)
            .map_err(|failure| format!("{} (PITOT_HOST_JOURNAL names another place)", failure.what))?;
        let text: String = ids.iter().zip(&lines).map(|(id, line)| format!("{id} {line}\n")).collect();
        self.notes.extend(ids.into_iter().zip(lines));
        let pipe = self.pipe.as_mut().ok_or("everything is being undone already")?;
        pipe.write_all(text.as_bytes()).map_err(|e| format!("the guardian has ended: {e}"))?;
        self.noted = Some(now());
        Ok(())
    }

    /// When the last change was noted, if any was.
    pub(crate) fn noted(&self) -> Option<Nanos> {
        self.noted
    }

    /// Undoes everything, and waits for it. The error is a sentence.
    pub(crate) fn take_back(&mut self) -> Result<(), String> {
        self.pipe = None;
        // The guardian may have been killed.
        let why = self.line(TIMEOUT).unwrap_or_else(|| undo_all(&self.notes, self.undo).1.join("; "));
        if why.is_empty() { Ok(()) } else { Err(why) }
    }

    /// Waits until the journal says that everything is undone. The error is a sentence.
    pub(crate) fn recorded(mut self) -> Result<(), String> {
        let why = self.line(RECORD_TIMEOUT).unwrap_or_else(|| {
            let (undone, _) = undo_all(&self.notes, self.undo);
            record(&self.journal, &undone)
        });
        if why.is_empty() { Ok(()) } else { Err(why) }
    }

    /// A line of the guardian; `None` after a timeout, or if the guardian has ended.
    fn line(&mut self, timeout: Duration) -> Option<String> {
        let deadline = Instant::now() + timeout;
        let mut line = Vec::new();
        loop {
            let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok()?;
            let mut ready = [PollFd::new(&self.outcome, PollFlags::IN)];
            match poll(&mut ready, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                Ok(1..) => {}
                _ => return None,
            }
            let mut byte = [0];
            match self.outcome.read(&mut byte) {
                Ok(1) if byte == *b"\n" => return Some(String::from_utf8_lossy(&line).into_owned()),
                Ok(1) => line.extend(byte),
                _ => return None,
            }
        }
    }
}

/// Undoes everything, then records it, since undoing must not depend on a writable journal.
fn watch(pipe: PipeReader, undo: UndoChange, journal: &Path, mut told: PipeWriter) {
    let lines = BufReader::new(pipe).lines().map_while(Result::ok);
    let notes: Vec<(u64, String)> = lines
        .filter_map(|line| line.split_once(' ').and_then(|(id, note)| Some((id.parse().ok()?, note.into()))))
        .collect();
    let (undone, whys) = undo_all(&notes, undo);
    // There is no reader if the program was killed.
    let _ = writeln!(told, "{}", whys.join("; "));
    let _ = writeln!(told, "{}", record(journal, &undone));
}

/// Undoes changes, last one first; returns which are undone, and why others are not.
fn undo_all(notes: &[(u64, String)], undo: UndoChange) -> (Vec<u64>, Vec<String>) {
    let (mut undone, mut whys) = (Vec::new(), Vec::new());
    for (id, note) in notes.iter().rev() {
        match undo(note) {
            Ok(_) => undone.push(*id),
            Err(why) => whys.push(why),
        }
    }
    (undone, whys)
}

/// Records what is undone. Returns an error, or nothing.
fn record(journal: &Path, undone: &[u64]) -> String {
    if undone.is_empty() {
        return String::new();
    }
    let recorded = journal::forget_faults(&Machine::here(), journal, undone);
    recorded.err().map(|failure| failure.what).unwrap_or_default()
}
