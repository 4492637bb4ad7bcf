//! The access log: whole lines, appended in batches.
//!
//! Each worker collects lines in a buffer and writes it with one call: an event loop when it has 32 KiB or a line is one
//! second old, a worker with one connection at a time before it waits. The worker makes the call itself: appending 32 KiB to a
//! file takes some ten microseconds for about 300 requests, less than passing the buffer to a thread and waking it. nginx does
//! the same (`access_log ... buffer=32k flush=1s`).
//!
//! Memory does not grow when lines cannot be written: they are dropped and counted, with a warning. Slow readers of a pipe are
//! not waited for.
//!
//! Once a second the file is compared with the one of that name. If it was moved or removed, a new one is opened. So logs can
//! be rotated without a signal, which would have to reach every process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_proto::{LogSink, Tick};
use pitot_results::stderr;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::counters::{Count, WorkerCounters};

/// A loop writes its buffer when it is as long as this ...
const BATCH_BYTES: usize = 32 << 10;
/// ... or has waited for as long as this.
const WAIT: Duration = Duration::from_secs(1);
/// Limit on a buffer, unless a single line is longer.
const BUFFER_BYTES: usize = 64 << 10;
/// The size up to which writes to a pipe are atomic (pipe(7)).
const PIPE_BYTES: usize = 4096;
/// The least time between two warnings about dropped lines.
const SAY_AGAIN: Nanos = Nanos::from_secs(60);
/// How often the file is checked for being moved.
const LOOK_AGAIN: Nanos = Nanos::from_secs(1);

/// Where lines are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogTarget {
    /// Standard output.
    Stdout,
    /// A file, created or appended to.
    File(PathBuf),
}

/// The log that the workers of a process share.
#[derive(Debug)]
pub struct AccessLog {
    target: LogTarget,
    open: Mutex<Open>,
    /// The last write ended in the middle of a line.
    is_torn: AtomicBool,
    dropped: AtomicU64,
    /// When dropped lines were last reported; 0 for never.
    said: AtomicU64,
}

#[derive(Debug)]
struct Open {
    file: Arc<OwnedFd>,
    is_regular: bool,
    identity: (u64, u64),
    looked: Nanos,
}

impl Open {
    fn new(file: OwnedFd) -> Result<Open, Errno> {
        let stat = fs::fstat(&file)?;
        let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        Ok(Open { file: Arc::new(file), is_regular, identity: identity(&stat), looked: pitot_meter::now() })
    }

    fn at(path: &Path) -> Result<Open, Errno> {
        // NONBLOCK: a fifo that nobody reads must not block.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        let file = fs::open(path, flags | OFlags::NONBLOCK | OFlags::NOCTTY, Mode::from_raw_mode(0o644))?;
        Open::new(file)
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

impl AccessLog {
    /// Opens the log.
    ///
    /// # Errors
    /// Those of open(2).
    pub fn open(target: &LogTarget) -> io::Result<AccessLog> {
        let open = match target {
            LogTarget::Stdout => Open::new(io::stdout().as_fd().try_clone_to_owned()?)?,
            LogTarget::File(path) => Open::at(path)?,
        };
        Ok(AccessLog {
            target: target.clone(),
            open: Mutex::new(open),
            is_torn: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            said: AtomicU64::new(0),
        })
    }

    /// Writes whole lines. Returns how many were dropped.
    fn write(&self, lines: &[u8]) -> u64 {
        let (file, is_regular) = self.current();
        let result = if is_regular { self.append(file.as_fd(), lines) } else { pass_on(file.as_fd(), lines) };
        let Err((dropped, e)) = result else { return 0 };
        let all = self.dropped.fetch_add(dropped, Relaxed) + dropped;
        let (now, said) = (pitot_meter::now(), self.said.load(Relaxed));
        if said == 0 || now >= Nanos(said) + SAY_AGAIN {
            self.said.store(now.0, Relaxed);
            stderr::line(format_args!(
                "pitot: {all} lines of the access log were dropped: {e}\n  {}",
                fix(&e)
            ));
        }
        dropped
    }

    /// The file, and whether it is a regular one.
    fn current(&self) -> (Arc<OwnedFd>, bool) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let LogTarget::File(path) = &self.target {
            let now = pitot_meter::now();
            if now >= open.looked + LOOK_AGAIN {
                open.looked = now;
                let is_same = fs::stat(path).is_ok_and(|stat| identity(&stat) == open.identity);
                // If it cannot be opened, the lines go to the moved file.
                if !is_same && let Ok(new) = Open::at(path) {
                    *open = new;
                }
            }
        }
        (Arc::clone(&open.file), open.is_regular)
    }

    /// Appends to a file; with the lines that could not be written the reason is returned.
    fn append(&self, file: BorrowedFd<'_>, lines: &[u8]) -> Result<(), (u64, Errno)> {
        if self.is_torn.load(Relaxed) {
            write_all(file, b"\n").map_err(|(_, e)| (count(lines), e))?;
            self.is_torn.store(false, Relaxed);
        }
        write_all(file, lines).map_err(|(written, e)| {
            self.is_torn.store(written > 0 && lines[written - 1] != b'\n', Relaxed);
            (count(&lines[written..]), e)
        })
    }
}

/// Writes to a pipe or a terminal as long as it does not block, a few whole lines at a time.
fn pass_on(file: BorrowedFd<'_>, mut lines: &[u8]) -> Result<(), (u64, Errno)> {
    while !lines.is_empty() {
        let most = &lines[..lines.len().min(PIPE_BYTES)];
        let end = most.iter().rposition(|&b| b == b'\n');
        let end = end.or_else(|| lines.iter().position(|&b| b == b'\n')).map_or(lines.len(), |at| at + 1);
        let mut fds = [PollFd::from_borrowed_fd(file, PollFlags::OUT)];
        match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(1..) => {}
            Ok(0) => return Err((count(lines), Errno::AGAIN)),
            Err(e) => return Err((count(lines), e)),
        }
        write_all(file, &lines[..end]).map_err(|(_, e)| (count(lines), e))?;
        lines = &lines[end..];
    }
    Ok(())
}

/// Writes all, or returns how much of it was written, and why no more.
fn write_all(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), (usize, Errno)> {
    let mut written = 0;
    while written < bytes.len() {
        match rustix::io::write(file, &bytes[written..]) {
            Ok(n) => written += n,
            Err(Errno::INTR) => {}
            Err(e) => return Err((written, e)),
        }
    }
    Ok(())
}

/// The number of lines.
fn count(lines: &[u8]) -> u64 {
    lines.iter().filter(|&&b| b == b'\n').count() as u64
}

fn fix(e: &Errno) -> &'static str {
    match *e {
        Errno::NOSPC | Errno::DQUOT => "free space on its disk; logging then continues",
        Errno::FBIG => "move the file; a new one is opened",
        Errno::AGAIN => "its reader is slower than the requests; log to a file",
        Errno::PIPE => "its reader has exited; restart the server with another log",
        _ => "the server continues without them",
    }
}

/// The lines of one worker.
#[derive(Debug)]
pub struct LogBuffer {
    log: Arc<AccessLog>,
    counters: WorkerCounters,
    bytes: Vec<u8>,
    /// When the first of them was seen to wait.
    since: Option<Tick>,
}

impl LogBuffer {
    /// An empty buffer.
    pub fn new(log: Arc<AccessLog>, counters: WorkerCounters) -> LogBuffer {
        LogBuffer { log, counters, bytes: Vec::new(), since: None }
    }

    fn write(&mut self) {
        let dropped = self.log.write(&self.bytes);
        if dropped > 0 {
            self.counters.add(Count::LogLinesDropped, dropped);
        }
        self.bytes.clear();
        self.since = None;
    }
}

impl LogSink for LogBuffer {
    fn line(&mut self, line: &[u8]) {
        if self.bytes.len() + line.len() > BUFFER_BYTES && !self.bytes.is_empty() {
            self.write();
        }
        self.bytes.extend_from_slice(line);
    }

    fn flush(&mut self, at: Tick, now: bool) {
        if self.bytes.is_empty() {
            return;
        }
        let since = *self.since.get_or_insert(at);
        if now || self.bytes.len() >= BATCH_BYTES || at >= since.after(WAIT) {
            self.write();
        }
    }

    fn is_waiting(&self) -> bool {
        !self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::counters::Counters;

    fn buffer(target: &LogTarget) -> (LogBuffer, Counters) {
        let counters = Counters::new(1).unwrap();
        let log = Arc::new(AccessLog::open(target).unwrap());
        (LogBuffer::new(log, counters.worker(0)), counters)
    }

    #[test]
    fn lines_are_written_when_there_are_many_or_one_has_waited() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "before\n").unwrap();
        let (mut log, counters) = buffer(&LogTarget::File(path.clone()));
        let content = || std::fs::read_to_string(&path).unwrap();
        let start = Tick::START;
        log.line(b"one\n");
        log.flush(start, false);
        assert_eq!((content().as_str(), log.is_waiting()), ("before\n", true));
        log.flush(start.after(Duration::from_secs(2)), false);
        assert_eq!((content().as_str(), log.is_waiting()), ("before\none\n", false));
        log.line(b"two\n");
        log.flush(start, true);
        assert_eq!(content(), "before\none\ntwo\n");
        let long = [vec![b'x'; BATCH_BYTES], b"\n".to_vec()].concat();
        log.line(&long);
        log.flush(start, false);
        assert!(!log.is_waiting());
        // The buffer has a bound, which only a single line may exceed.
        let longest = [vec![b'y'; 3 * BUFFER_BYTES], b"\n".to_vec()].concat();
        log.line(&long);
        log.line(&longest);
        log.flush(start, true);
        assert_eq!(
            content().lines().map(str::len).collect::<Vec<_>>(),
            [6, 3, 3, BATCH_BYTES, BATCH_BYTES, 3 * BUFFER_BYTES]
        );
        assert_eq!(counters.total(Count::LogLinesDropped), 0);
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_anew() {
        let directory = tempfile::tempdir().unwrap();
        let (path, moved) = (directory.path().join("log"), directory.path().join("log.1"));
        let (mut log, _) = buffer(&LogTarget::File(path.clone()));
        log.line(b"one\n");
        log.flush(Tick::START, true);
        std::fs::rename(&path, &moved).unwrap();
        log.line(b"two\n");
        log.log.open.lock().unwrap().looked = Nanos::ZERO;
        log.flush(Tick::START, true);
        assert_eq!(std::fs::read_to_string(&moved).unwrap(), "one\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    }

    #[test]
    fn a_full_disk_costs_lines_and_no_memory() {
        let (mut log, counters) = buffer(&LogTarget::File("/dev/full".into()));
        for _ in 0..100 {
            log.line(&[b'x'; 1000]);
            log.line(b"\n");
        }
        log.flush(Tick::START, true);
        assert_eq!(counters.total(Count::LogLinesDropped), 100);
        assert!(log.bytes.capacity() <= 2 * BUFFER_BYTES);
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_not_waited_for_and_gets_whole_lines() {
        let (mut reader, writer) = io::pipe().unwrap();
        let counters = Counters::new(1).unwrap();
        let log = AccessLog {
            target: LogTarget::Stdout,
            open: Mutex::new(Open::new(writer.into()).unwrap()),
            is_torn: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            said: AtomicU64::new(0),
        };
        let mut log = LogBuffer::new(Arc::new(log), counters.worker(0));
        for i in 0..20_000 {
            log.line(format!("{i:09}\n").as_bytes());
        }
        log.flush(Tick::START, true);
        drop(log);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        let lines = read.lines().count() as u64;
        assert_eq!(lines + counters.total(Count::LogLinesDropped), 20_000);
        assert!(lines > 0 && read.lines().all(|line| line.len() == 9) && read.ends_with('\n'));
    }
}
