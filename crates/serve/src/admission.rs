//! The limit on connections.
//!
//! Connections beyond the limit are closed at once and counted, which their clients notice. An accepted connection without a
//! descriptor for its file would get 503 as long as it lives.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use pitot_results::stderr;
use pitot_sys::limits;
use rustix::io::Errno;

use crate::counters::{Count, Notice, WorkerCounters};

/// The most descriptors of a process that are reserved for files, where its workers serve many connections each.
const FOR_FILES_MAX: u64 = 64;

/// The limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    connections_max: u64,
    /// Descriptors from this number on are not for connections. The kernel gives the lowest free one.
    descriptor_end: u64,
}

impl Admission {
    /// At most `connections_max` connections in all workers. A server of files reserves descriptors for them: a few, since the
    /// connections of a worker share its open files, or half of all where each connection has its own worker.
    pub fn new(connections_max: u64, serves_files: bool, worker_per_connection: bool) -> Admission {
        let all = limits::descriptors();
        let for_files = match (serves_files, worker_per_connection) {
            (false, _) => 0,
            (true, false) => FOR_FILES_MAX.min(all / 4),
            (true, true) => all / 2,
        };
        Admission { connections_max, descriptor_end: all - for_files }
    }

    /// Counts a connection as opened, or as shed: then the caller closes it. `fd` is its descriptor, if it has one of the
    /// process's.
    pub fn admit(&self, counters: &WorkerCounters, fd: Option<BorrowedFd<'_>>) -> bool {
        let has_room = fd.is_none_or(|fd| (fd.as_raw_fd() as u64) < self.descriptor_end);
        if has_room && counters.opened(self.connections_max) {
            return true;
        }
        if counters.tells(Notice::Shed) {
            self.warn(has_room);
        }
        counters.add(Count::Shed, 1);
        false
    }

    /// Closes and counts an admitted connection for which no thread or process can be started, and warns once.
    pub fn no_worker(&self, counters: &WorkerCounters, kind: &str, why: &io::Error) {
        if counters.tells(Notice::Shed) {
            stderr::line(format_args!(
                "pitot: closing connections: cannot start a {kind} for them: {why}\n  \
                 raise the limits on processes and memory (ulimit -u, ulimit -v, the pids cgroup), or use --model loop"
            ));
        }
        counters.add(Count::Shed, 1);
        counters.closed();
    }

    /// Counts an accept that failed for lack of descriptors or memory, and warns once.
    pub fn no_room(&self, counters: &WorkerCounters, why: Errno) {
        if counters.tells(Notice::AcceptFailed) {
            let (what, fix) = match why {
                Errno::MFILE => (
                    format!("EMFILE: all {} descriptors of a process are in use", limits::descriptors()),
                    "raise the limit with ulimit -n, or spread them over processes with --model preloop",
                ),
                Errno::NFILE => (
                    "ENFILE: all descriptors of the machine are in use".to_owned(),
                    "raise the machine's limit on open files (sysctl fs.file-max), or open fewer connections",
                ),
                _ => (
                    "the kernel has no memory for them".to_owned(),
                    "give the server more memory, or open fewer connections",
                ),
            };
            stderr::line(format_args!(
                "pitot: not accepting connections, which wait in the listen queue: {what}\n  {fix}"
            ));
        }
        counters.add(Count::AcceptFailed, 1);
    }

    fn warn(&self, has_room: bool) {
        if has_room {
            stderr::line(format_args!(
                "pitot: closing connections beyond --max-connections {}",
                self.connections_max
            ));
        } else {
            stderr::line(format_args!(
                "pitot: closing connections: the limit of a process is {} descriptors\n  \
                 raise the limit with ulimit -n, or spread them over processes with --model preloop",
                limits::descriptors()
            ));
        }
    }
}
