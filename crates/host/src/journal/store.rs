//! The journal's file: opened, locked, appended to, emptied.
//!
//! A line is appended by writing over the bytes of 0 behind the last one, which keep the space that undoing may need: a disk
//! that is full later refuses no line of it. No byte behind the last whole line is ever a newline.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pitot_results::Failure;
use pitot_sys::safe_open::{own_file, read_text};
use rustix::fs::{CWD, FallocateFlags, FlockOperation, Mode, OFlags, fallocate, fchmod, flock};
use rustix::io::{Errno, retry_on_intr};

use super::place::PLACE_VARIABLE;
use super::record::{Entry, FaultEntry, Owner, Record, State, Timer};
use crate::machine::Machine;

/// How long another process may hold the lock: one that changes the queues of a NIC can take seconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_POLL: Duration = Duration::from_millis(5);
/// Far more than a journal can come to, which is emptied when nothing is left to undo.
const BYTES_MAX: u64 = 64 << 20;
/// Space is kept in pieces of this size, that of a block.
const KEPT_BYTES: u64 = 4096;

/// A journal that is open and locked.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    state: State,
    boot_id: String,
    /// Changes and faults of an earlier boot, which are gone with it.
    cleared: usize,
    /// Where the last whole line ends.
    end: u64,
    /// The size of the file.
    size: u64,
    /// The last lines, which may not be on the disk: fsync(2) has failed, or it was another process that wrote them. They are
    /// written once more with the next one, as the kernel may take them for written.
    doubtful: String,
}

impl Journal {
    /// Opens a journal; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, written or locked.
    pub fn open(machine: &Machine, path: &Path) -> Result<Option<Journal>, Failure> {
        Journal::open_with(machine, path, false)
    }

    /// Opens a journal, or makes one.
    ///
    /// # Errors
    /// If it cannot be read, written or locked.
    pub fn create(machine: &Machine, path: &Path) -> Result<Journal, Failure> {
        let journal = Journal::open_with(machine, path, true)?;
        journal.ok_or_else(|| failure(path, "made", &ErrorKind::NotFound.into()))
    }

    fn open_with(machine: &Machine, path: &Path, create: bool) -> Result<Option<Journal>, Failure> {
        let directory = path.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_new = create && !directory.exists();
        if create {
            // Whatever the umask is, nobody else removes what is in it.
            let made = DirBuilder::new().recursive(true).mode(0o755).create(directory);
            made.map_err(|e| failure(path, "made", &e))?;
        }
        let flags = if create { OFlags::RDWR | OFlags::CREATE } else { OFlags::RDWR };
        let file = match own_file(CWD, path, flags) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound && !create => return Ok(None),
            // Settings can be set back where that cannot be written down.
            Err(e) if e.kind() == ErrorKind::ReadOnlyFilesystem && !create => {
                own_file(CWD, path, OFlags::RDONLY).map_err(|e| failure(path, "opened", &e))?
            }
            Err(e) => return Err(failure(path, "opened", &e)),
        };
        // Whoever can read a file can lock it, and earlier versions let everybody do so.
        let _ = fchmod(&file, Mode::RUSR | Mode::WUSR);
        lock(&file, path)?;
        let mut journal = Journal {
            path: path.to_owned(),
            file,
            state: State::default(),
            boot_id: machine.boot_id(),
            cleared: 0,
            end: 0,
            size: 0,
            doubtful: String::new(),
        };
        journal.load().map_err(|e| match e {
            Trouble::Io(e) => failure(path, "read", &e),
            Trouble::Content(failure) => failure,
        })?;
        if create {
            sync_names(directory, is_new).map_err(|e| failure(path, "made", &e))?;
        }
        Ok(Some(journal))
    }

    fn load(&mut self) -> Result<(), Trouble> {
        let text = read_text(&self.file, BYTES_MAX)?;
        let mut state = State::parse(&text, &self.boot_id).map_err(Trouble::Content)?;
        if state.is_of_earlier_boot(&self.boot_id) {
            let found = state.entries.len() + state.faults.len();
            state.forget_boot();
            self.cleared = found - state.entries.len() - state.faults.len();
            if state.entries.is_empty() && state.faults.is_empty() {
                self.file.set_len(0)?;
                return Ok(());
            }
        }
        // What comes next is written over half a line, and is not joined to it.
        (self.end, self.size) = (state.bytes as u64, text.len() as u64);
        text[..state.bytes].clone_into(&mut self.doubtful);
        self.state = state;
        Ok(())
    }

    /// Its place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many changes and faults of an earlier boot it held when it was opened. They are gone with that boot, and so is its
    /// record of them.
    pub fn changes_of_earlier_boot(&self) -> usize {
        self.cleared
    }

    /// True if there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.state.entries.is_empty() && self.state.faults.is_empty()
    }

    pub(super) fn faults(&self) -> &[FaultEntry] {
        &self.state.faults
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.state.entries
    }

    pub(super) fn timers(&self) -> &[Timer] {
        &self.state.timers
    }

    pub(super) fn owners(&self) -> &[Owner] {
        &self.state.owners
    }

    pub(super) fn next_id(&self) -> u64 {
        self.state.last_id + 1
    }

    /// Appends a line, which is on the disk when this returns, and before a change the space for undoing it.
    ///
    /// # Errors
    /// If it may not be on the disk. What it says counts all the same if it is in the file, and that a change is undone does so
    /// even where it is not: then the next process that reads the journal looks at the change again.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), Failure> {
        self.append_all(std::slice::from_ref(record))
    }

    /// Appends several lines, which are all on the disk when this returns.
    ///
    /// # Errors
    /// As [`append`](Self::append).
    pub(super) fn append_all(&mut self, records: &[Record]) -> Result<(), Failure> {
        // What is undone counts under any first line, and may be all that a full disk takes.
        let is_undoing = records.iter().all(|r| matches!(r, Record::Undone { .. } | Record::Found { .. }));
        let is_of_now = self.state.boot_id == self.boot_id && self.state.is_current();
        if self.state.boot_id.is_empty() || !is_of_now && !is_undoing {
            let header = State::header(&self.boot_id);
            self.write(&header)?;
        }
        let mut written = Ok(());
        for record in records {
            let one = self.write(record);
            if one.is_err() && !matches!(record, Record::Undone { .. }) {
                return one;
            }
            written = written.and(one);
        }
        self.file.sync_data().map_err(|e| failure(&self.path, "written", &e))?;
        if written.is_ok() {
            self.doubtful.clear();
        }
        written
    }

    fn write(&mut self, record: &Record) -> Result<(), Failure> {
        let line = record.line();
        let put = self.keep(record, line.len() as u64).and_then(|()| self.put(&line));
        if put.is_ok() || matches!(record, Record::Undone { .. }) {
            self.state.take(record)?;
        }
        put.map_err(|e| failure(&self.path, "written", &e))
    }

    fn put(&mut self, line: &str) -> io::Result<()> {
        let lines = self.doubtful.clone() + line;
        self.file.write_all_at(lines.as_bytes(), self.end - self.doubtful.len() as u64)?;
        self.doubtful = lines;
        self.end += line.len() as u64;
        self.size = self.size.max(self.end);
        Ok(())
    }

    /// Keeps space for the lines of undoing everything, behind a line of so many bytes that is none of them.
    fn keep(&mut self, record: &Record, line_bytes: u64) -> io::Result<()> {
        let new = match record {
            Record::Undone { .. } | Record::Found { .. } => return Ok(()),
            Record::Change(entry) => entry.undo_bytes(),
            Record::Fault(fault) => fault.undo_bytes(),
            _ => 0,
        };
        let faults = self.state.faults.iter().map(FaultEntry::undo_bytes).sum::<u64>();
        let undo_bytes = new + faults + self.state.entries.iter().map(Entry::undo_bytes).sum::<u64>();
        let needed = self.end + line_bytes + undo_bytes;
        if undo_bytes == 0 || needed <= self.size {
            return Ok(());
        }
        let size = needed.next_multiple_of(KEPT_BYTES);
        let more = size - self.size;
        match retry_on_intr(|| fallocate(&self.file, FallocateFlags::empty(), self.size, more)) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.file.write_all_at(&vec![0; more as usize], self.size)?;
            }
            kept => kept?,
        }
        self.size = size;
        Ok(())
    }

    /// Forgets everything: nothing is left to undo.
    pub(super) fn clear(&mut self) -> Result<(), Failure> {
        let cleared = self.file.set_len(0).and_then(|()| self.file.sync_all());
        cleared.map_err(|e| failure(&self.path, "emptied", &e))?;
        self.state = State::default();
        (self.end, self.size) = (0, 0);
        self.doubtful.clear();
        Ok(())
    }
}

/// The name of a file is safe when its directory is, and that of the directory when its own is. Whoever made it may not have come to
/// that.
fn sync_names(directory: &Path, is_new: bool) -> io::Result<()> {
    File::open(directory)?.sync_all()?;
    let Some(parent) = directory.parent() else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    match File::open(parent).and_then(|d| d.sync_all()) {
        // It was made by somebody who may read it.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && !is_new => Ok(()),
        synced => synced,
    }
}

enum Trouble {
    Io(std::io::Error),
    Content(Failure),
}

impl From<std::io::Error> for Trouble {
    fn from(e: std::io::Error) -> Trouble {
        Trouble::Io(e)
    }
}

fn lock(file: &File, path: &Path) -> Result<(), Failure> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(LOCK_POLL),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Failure::run(
                    format!("another process has held {} for {} s", path.display(), LOCK_TIMEOUT.as_secs()),
                    format!("wait for it; `fuser {}` shows which it is", path.display()),
                ));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(failure(path, "locked", &e.into())),
        }
    }
}

/// The content of a journal, if there is one.
pub(super) fn content(path: &Path) -> Result<Option<String>, Failure> {
    match own_file(CWD, path, OFlags::RDONLY).and_then(|file| read_text(&file, BYTES_MAX)) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(failure(path, "read", &e)),
    }
}

pub(super) fn failure(path: &Path, what: &str, e: &io::Error) -> Failure {
    let what = format!("the journal {} cannot be {what}: {e}", path.display());
    match e.kind() {
        // It is not the kernel who says so.
        ErrorKind::PermissionDenied if e.raw_os_error().is_none() => Failure::misuse(
            what,
            format!("name a place where no other user can write (--journal FILE or {PLACE_VARIABLE})"),
        ),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::misuse(
            what,
            format!("run it as root, or name another place (--journal FILE or {PLACE_VARIABLE})"),
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Failure::run(what, "free some space, or name another place with --journal FILE")
        }
        _ => Failure::misuse(what, "name another place with --journal FILE"),
    }
}
