//! The journal: the outcome of each recipient, so that a killed run continues where it stopped.
//!
//! It is a text file that only grows, with a line and its checksum for each recipient with a final outcome ([`record`]). Such
//! recipients are not sent to again.
//!
//! **At least once, and at most `-c` twice.** An engine can be killed between the end of a message and its line in the journal.
//! Then it is unknown whether the server has accepted the message. SMTP's rule for that case is to send again (RFC 5321 section
//! 4.5.4.1), since a duplicate does less harm than a loss. The engine guarantees that there are never more such recipients, whose
//! message is being sent or whose line is not on the disk, than connections allowed (`-c`): the next message waits until some of
//! them are recorded (`unacknowledged.rs`). This is true for `kill -9` and for power failures, since a line counts only after
//! fdatasync(2).
//!
//! Data that fdatasync(2) has refused may never reach the disk, although it can be read and a later fdatasync(2) succeeds. So an
//! engine stops then, and the next one writes the last lines again before it relies on them.
//!
//! A separate thread writes and syncs, one batch at a time. While a batch is synced, the next one collects lines, so a slow disk
//! makes batches larger and the loop waits only if 8 MiB of lines are waiting.

pub mod record;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use pitot_results::mail::Outcome;
use pitot_sys::Waker;

use crate::outcome::Settled;
pub use record::Header;

/// Lines that may wait for the disk, in bytes, before the loop does.
const WAITING_BYTES_MAX: usize = 8 << 20;
/// Lines longer than this were never written.
const LINE_BYTES_MAX: u64 = 4096;
/// More than the size of a batch, the most that is missing on the disk when an engine ends.
const BATCH_BYTES_MAX: u64 = 2 * WAITING_BYTES_MAX as u64;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened, read or written.
    #[error("cannot use the journal {}: {error}", path.display())]
    File {
        /// The journal.
        path: PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// Its disk is full or broken, in the middle of a run.
    #[error("cannot write the journal {}: {error}", path.display())]
    Write {
        /// The journal.
        path: PathBuf,
        /// The error of the system call.
        error: io::Error,
    },
    /// It is a FIFO, a device, a socket or a directory.
    #[error("the journal {} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Another engine uses it.
    #[error("the journal {} is in use by another engine", .0.display())]
    Locked(PathBuf),
    /// It belongs to another message, sender or mode, or is not a journal at all.
    #[error("{} is not a journal of this message, sender and mode", .0.display())]
    Foreign(PathBuf),
}

/// What a journal held when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Recipients with an outcome.
    pub settled: u64,
    /// Lines with a wrong checksum, except a torn last one.
    pub damaged: u64,
    /// The last line was torn and has been cut off.
    pub torn: bool,
}

/// A journal to write to.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<io::Result<()>>>,
    /// Lines of the present turn of the loop.
    batch: Vec<u8>,
    /// Records handed out so far, with those of the batch.
    appended: u64,
}

#[derive(Debug)]
struct Shared {
    backlog: Mutex<Backlog>,
    /// There is something to write, or nothing more will come.
    work: Condvar,
    /// Lines were taken or are on the disk.
    progress: Condvar,
    waker: Arc<Waker>,
}

#[derive(Debug, Default)]
struct Backlog {
    waiting: Vec<u8>,
    /// Records up to the end of `waiting`.
    handed: u64,
    /// Records on the disk.
    durable: u64,
    closing: bool,
    failed: bool,
}

impl Journal {
    /// Opens the journal of a run, or begins it, and calls `settled` for each recipient that has its outcome.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn open(
        path: &Path,
        header: &Header,
        waker: Arc<Waker>,
        settled: impl FnMut(&str, Outcome),
    ) -> Result<(Journal, Replay), JournalError> {
        let failed = |error| JournalError::File { path: path.to_owned(), error };
        // To read a FIFO would wait for a writer that never comes.
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(JournalError::NotAFile(path.to_owned()));
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Locked(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let read = read(&mut file, header, settled).map_err(failed)?;
        let Some((replay, end)) = read else { return Err(JournalError::Foreign(path.to_owned())) };
        prepare(&mut file, end, header, path).map_err(failed)?;
        let shared = Arc::new(Shared {
            backlog: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
            waker,
        });
        let writer = std::thread::Builder::new()
            .name("journal".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || write_batches(&mut file, &shared)
            })
            .map_err(failed)?;
        Ok((Journal { shared, writer: Some(writer), batch: Vec::new(), appended: 0 }, replay))
    }

    /// Adds an outcome, which [`Journal::hand_over`] gives to the writer.
    pub fn append(&mut self, local: &str, domain: &str, settled: Settled<'_>) {
        record::append_settled(&mut self.batch, local, domain, settled);
        self.appended += 1;
    }

    /// Records added so far.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Passes new lines to the writer, at the end of a turn of the loop.
    ///
    /// # Errors
    /// The disk is full or broken; [`Journal::finish`] returns the cause.
    pub fn hand_over(&mut self) -> io::Result<()> {
        let mut backlog = lock(&self.shared.backlog);
        // Also with nothing to add: what waits for earlier records would wait forever.
        if self.batch.is_empty() && !backlog.failed {
            return Ok(());
        }
        while backlog.waiting.len() > WAITING_BYTES_MAX && !backlog.failed {
            backlog = wait(&self.shared.progress, backlog);
        }
        if backlog.failed {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if backlog.waiting.is_empty() {
            std::mem::swap(&mut backlog.waiting, &mut self.batch);
        } else {
            backlog.waiting.append(&mut self.batch);
        }
        backlog.handed = self.appended;
        drop(backlog);
        self.batch.clear();
        self.shared.work.notify_one();
        Ok(())
    }

    /// Records that will be there after a power cut.
    pub fn durable(&self) -> u64 {
        lock(&self.shared.backlog).durable
    }

    /// Puts everything on the disk and closes the file: the records that are on the disk, and whether those are all.
    /// The error is why writing failed, now or before: ENOSPC, EIO, EDQUOT.
    pub fn finish(mut self) -> (u64, io::Result<()>) {
        let handed = self.hand_over();
        let closed = self.close().and(handed);
        (self.durable(), closed)
    }

    fn close(&mut self) -> io::Result<()> {
        lock(&self.shared.backlog).closing = true;
        self.shared.work.notify_one();
        match self.writer.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("its writer thread has ended")),
            None => Ok(()),
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let _ = self.hand_over();
        let _ = self.close();
    }
}

/// A panic of the other side leaves nothing half done that matters here.
fn lock(backlog: &Mutex<Backlog>) -> std::sync::MutexGuard<'_, Backlog> {
    backlog.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn wait<'a>(on: &Condvar, backlog: std::sync::MutexGuard<'a, Backlog>) -> std::sync::MutexGuard<'a, Backlog> {
    on.wait(backlog).unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The writer's thread.
fn write_batches(file: &mut File, shared: &Shared) -> io::Result<()> {
    let mut batch = Vec::new();
    loop {
        let mut backlog = lock(&shared.backlog);
        while backlog.waiting.is_empty() && !backlog.closing {
            backlog = wait(&shared.work, backlog);
        }
        if backlog.waiting.is_empty() {
            return Ok(());
        }
        batch.clear();
        std::mem::swap(&mut batch, &mut backlog.waiting);
        let handed = backlog.handed;
        drop(backlog);
        let written = file.write_all(&batch).and_then(|()| file.sync_data());
        let mut backlog = lock(&shared.backlog);
        match &written {
            Ok(()) => backlog.durable = handed,
            Err(_) => backlog.failed = true,
        }
        drop(backlog);
        shared.progress.notify_one();
        shared.waker.wake();
        written?;
    }
}

/// Reads the journal of a run and changes nothing; a missing one is empty.
///
/// # Errors
/// See [`JournalError`]: why a run could not use it.
pub fn inspect(
    path: &Path,
    header: &Header,
    settled: impl FnMut(&str, Outcome),
) -> Result<Replay, JournalError> {
    let failed = |error| JournalError::File { path: path.to_owned(), error };
    match std::fs::metadata(path) {
        Ok(m) if !m.is_file() => return Err(JournalError::NotAFile(path.to_owned())),
        Ok(_) => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return std::fs::metadata(directory_of(path)).map(|_| Replay::default()).map_err(failed);
        }
        Err(e) => return Err(failed(e)),
    }
    let mut file = File::open(path).map_err(failed)?;
    match file.try_lock_shared() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(JournalError::Locked(path.to_owned())),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    match read(&mut file, header, settled).map_err(failed)? {
        Some((replay, _)) => Ok(replay),
        None => Err(JournalError::Foreign(path.to_owned())),
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Reads the whole file and the end of its last whole line. `None` if it belongs to another run.
fn read(
    file: &mut File,
    header: &Header,
    mut settled: impl FnMut(&str, Outcome),
) -> io::Result<Option<(Replay, u64)>> {
    let size = file.metadata()?.len();
    let mut input = BufReader::with_capacity(1 << 18, file);
    let (mut replay, mut at, mut end, mut bad) = (Replay::default(), 0, 0, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let n = io::Read::take(&mut input, LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        if n == 0 {
            break;
        }
        let first = at == 0;
        at += n;
        let whole = line.strip_suffix(b"\n");
        if first {
            match whole {
                Some(line) if header.matches(line) => end = at,
                // The engine was killed, or the power failed, while it wrote its first line.
                _ if at == size && is_torn_header(header, &line) => {
                    return Ok(Some((Replay { torn: true, ..replay }, 0)));
                }
                _ => return Ok(None),
            }
        } else if let Some((address, outcome)) = whole.and_then(record::settled_of) {
            settled(address, outcome);
            replay.settled += 1;
            replay.damaged += std::mem::take(&mut bad);
            end = at;
        } else {
            bad += 1;
        }
    }
    replay.torn = bad > 0;
    Ok(Some((replay, end)))
}

/// Whether that is what a power cut can have left of a first line: some of it, and bytes of 0 in place of the rest.
fn is_torn_header(header: &Header, line: &[u8]) -> bool {
    let mut own = Vec::new();
    header.append_to(&mut own);
    own.resize(own.len().max(line.len()), 0);
    line.iter().zip(own).all(|(found, own)| *found == own || *found == 0)
}

/// Truncates the file after its last whole line, and syncs it, with a first line.
fn prepare(file: &mut File, end: u64, header: &Header, path: &Path) -> io::Result<()> {
    file.set_len(end)?;
    // An earlier engine may have failed to sync its last lines. The kernel considers pages as written that
    // it could not write; writing them again makes them dirty again.
    let from = end.saturating_sub(BATCH_BYTES_MAX);
    let mut last = vec![0; (end - from) as usize];
    file.read_exact_at(&mut last, from)?;
    if end == 0 {
        header.append_to(&mut last);
    }
    file.seek(SeekFrom::Start(from))?;
    file.write_all(&last)?;
    file.sync_all()?;
    // The name of a new file is on the disk once its directory is.
    File::open(directory_of(path))?.sync_all()
}

#[cfg(test)]
mod tests;
