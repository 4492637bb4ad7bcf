//! How a fault is taken back: by a guardian process that knows each change before it is made, and from the journal of the host
//! if that is killed as well.

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

/// How long the guardian may take to undo everything.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to record that: others may hold the journal.
const RECORD_TIMEOUT: Duration = Duration::from_secs(40);

/// A change that is about to be made.
#[derive(Debug)]
pub(crate) struct Note {
    /// To what it is done: `process 4711 (nginx)`.
    pub(crate) on: String,
    /// What it is undone by, on one line.
    pub(crate) note: String,
    /// It belongs to the network namespace.
    pub(crate) is_of_network: bool,
    /// It is still there when the machine is started anew.
    pub(crate) outlasts_boot: bool,
}

impl Note {
    /// A change of a process.
    pub(crate) fn of(process: &Process, note: String) -> Note {
        Note::new(processes::name(std::slice::from_ref(process)), note)
    }

    /// A change that the end of the machine takes with it.
    pub(crate) fn new(on: String, note: String) -> Note {
        Note { on, note, is_of_network: false, outlasts_boot: false }
    }
}

/// Undoes a change, from its note. What has been undone is left alone. False if there is nothing left of it, as of a process
/// that has ended. The error is a sentence.
pub(crate) type UndoChange = fn(&str) -> Result<bool, String>;

/// The program's end of the pipe to its guardian.
#[derive(Debug)]
pub struct Undo {
    fault: &'static str,
    undo: UndoChange,
    /// What was noted, with the numbers of its lines in the journal.
    notes: Vec<(u64, String)>,
    /// Closed to have everything undone.
    pipe: Option<PipeWriter>,
    /// Here the guardian says what came of that.
    outcome: PipeReader,
    journal: PathBuf,
    batch: u64,
    /// When the last change was noted.
    noted: Option<Nanos>,
}

impl Undo {
    /// Forks the guardian, which undoes by `undo` what was noted, the last change first, when this process ends or
    /// [takes it back](Self::take_back).
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

    /// Notes changes that are about to be made. The error is a sentence: without the notes they must not be made.
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
        let pipe = self.pipe.as_mut().ok_or("the guardian was asked to undo everything")?;
        pipe.write_all(text.as_bytes()).map_err(|e| format!("the guardian is gone: {e}"))?;
        self.noted = Some(now());
        Ok(())
    }

    /// When the last change was noted, if any was.
    pub(crate) fn noted(&self) -> Option<Nanos> {
        self.noted
    }

    /// Has everything undone, and waits until it is. The error is a sentence.
    pub(crate) fn take_back(&mut self) -> Result<(), String> {
        self.pipe = None;
        // A guardian that was killed cannot do it.
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

    /// A line of the guardian; `None` if it does not come in time, or the guardian is gone.
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

/// Undoes everything first, and records it then: a journal that cannot be written must keep nothing from being undone.
fn watch(pipe: PipeReader, undo: UndoChange, journal: &Path, mut told: PipeWriter) {
    let lines = BufReader::new(pipe).lines().map_while(Result::ok);
    let notes: Vec<(u64, String)> = lines
        .filter_map(|line| line.split_once(' ').and_then(|(id, note)| Some((id.parse().ok()?, note.into()))))
        .collect();
    let (undone, whys) = undo_all(&notes, undo);
    // Nobody reads it if the program was killed.
    let _ = writeln!(told, "{}", whys.join("; "));
    let _ = writeln!(told, "{}", record(journal, &undone));
}

/// Undoes changes, the last first: which are undone, and why others are not.
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

/// Records what is undone. Returns why that cannot be done, or nothing.
fn record(journal: &Path, undone: &[u64]) -> String {
    if undone.is_empty() {
        return String::new();
    }
    let recorded = journal::forget_faults(&Machine::here(), journal, undone);
    recorded.err().map(|failure| failure.what).unwrap_or_default()
}
