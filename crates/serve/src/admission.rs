//! Which connections a server takes.
//!
//! Beyond a limit a connection is closed at once and counted, which its client notices. One that is taken and then finds
//! no descriptor left for the file that it asks for would be answered 503 for as long as it lives.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use pitot_results::stderr;
use pitot_sys::limits;
use rustix::io::Errno;

use crate::counters::{Count, Notice, WorkerCounters};

/// Descriptors of each process that connections leave to files, at most, where its workers serve many connections each.
const FOR_FILES_MAX: u64 = 64;

/// The limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    connections_max: u64,
    /// Descriptors from this number on are not for connections. The kernel gives the lowest free one.
    descriptor_end: u64,
}

impl Admission {
    /// At most this many connections in all workers. A server of files sets descriptors aside for them: a few, as a
    /// worker's connections share its open files, or half of all where each connection has a worker to itself.
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

    /// Counts an admitted connection as shed, since no thread or process can be started for it, and says so once. It is closed.
    pub fn no_worker(&self, counters: &WorkerCounters, kind: &str, why: &io::Error) {
        if counters.tells(Notice::Shed) {
            stderr::line(format_args!(
                "pitot: connections are closed because no {kind} can be started for them: {why}\n  \
                 raise the limits on processes and memory (ulimit -u, ulimit -v, the pids cgroup), or serve with --model loop"
            ));
        }
        counters.add(Count::Shed, 1);
        counters.closed();
    }

    /// Counts an accept that failed for lack of descriptors or memory, and says so once.
    pub fn no_room(&self, counters: &WorkerCounters, why: Errno) {
        if counters.tells(Notice::AcceptFailed) {
            let cure = match why {
                Errno::MFILE => {
                    "raise the limit with ulimit -n, or spread them over processes with --model preloop"
                }
                Errno::NFILE => {
                    "raise the limit on open files of the whole machine (sysctl fs.file-max), or ask for fewer"
                }
                _ => "give the server more memory, or ask for fewer connections",
            };
            let what = match why {
                Errno::MFILE => {
                    format!("EMFILE: all {} descriptors of a process are taken", limits::descriptors())
                }
                Errno::NFILE => "ENFILE: all descriptors of the machine are taken".to_owned(),
                _ => "the kernel has no memory for them".to_owned(),
            };
            stderr::line(format_args!(
                "pitot: connections wait in the listen queue and are not accepted: {what}\n  {cure}"
            ));
        }
        counters.add(Count::AcceptFailed, 1);
    }

    fn warn(&self, has_room: bool) {
        if has_room {
            stderr::line(format_args!(
                "pitot: connections beyond --max-connections {} are closed",
                self.connections_max
            ));
        } else {
            stderr::line(format_args!(
                "pitot: connections are closed because a process may have only {} descriptors\n  \
                 raise the limit with ulimit -n, or spread them over processes with --model preloop",
                limits::descriptors()
            ));
        }
    }
}
