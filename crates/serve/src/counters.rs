//! The server's counters, in memory that all its processes share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pitot_proto::Tally;
use pitot_sys::SharedMemory;

/// A counter. The order is that of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Connections accepted.
    Accepted,
    /// Connections closed for any reason.
    Closed,
    /// Replies.
    Requests,
    /// Replies that report an error of the client (HTTP's 4xx).
    ClientErrors,
    /// Replies that report an error of the server (HTTP's 5xx).
    ServerErrors,
    /// Bytes received.
    BytesReceived,
    /// Bytes sent.
    BytesSent,
    /// Connections closed at once, because of the limit on connections or for lack of resources.
    Shed,
    /// Accepts that failed for lack of descriptors or memory.
    AcceptFailed,
    /// Connections reset by the peer, or broken.
    Reset,
    /// Connections that ended in the middle of a request.
    EndedEarly,
    /// Malformed requests.
    Malformed,
    /// Requests that exceeded a size limit.
    TooLarge,
    /// Requests that took too long to arrive.
    TimedOutRequest,
    /// Connections that were idle for too long.
    TimedOutIdle,
    /// Replies that the peer took too long to read.
    TimedOutWrite,
    /// Files that became shorter while they were sent.
    FileTruncated,
    /// Files that could not be read to the end.
    FileFailed,
    /// Connections closed at the end of the grace time.
    CutAtStop,
    /// Receives that found no provided buffer (io_uring only) and were repeated later.
    NoBuffers,
    /// Recipients of mail that were accepted, whether or not a message followed.
    RecipientsAccepted,
    /// Messages that were acknowledged.
    Messages,
    /// Recipients of acknowledged messages.
    Recipients,
    /// Steps of storing a message or a file that failed.
    StoreFailed,
    /// Complete TLS handshakes.
    TlsHandshakes,
    /// Those of them that resumed a session.
    TlsResumed,
    /// Connections that the kernel encrypts.
    TlsInKernel,
    /// Connections that spoke without TLS where it was expected.
    TlsAbsent,
    /// Connections whose client supports nothing that the server does.
    TlsIncompatible,
    /// Connections whose client ended TLS with an alert.
    TlsRefused,
    /// Connections with malformed or forged records.
    TlsMalformed,
    /// TLS handshakes that took too long.
    TlsTimedOut,
    /// Connections that ended in a TLS handshake.
    TlsEnded,
    /// Lines of the access log that could not be written.
    LogLinesDropped,
}

impl Count {
    /// All of them, with the names that the JSON uses.
    pub const ALL: [(Count, &'static str); 34] = [
        (Count::Accepted, "accepted"),
        (Count::Closed, "closed"),
        (Count::Requests, "requests"),
        (Count::ClientErrors, "replies_4xx"),
        (Count::ServerErrors, "replies_5xx"),
        (Count::BytesReceived, "bytes_received"),
        (Count::BytesSent, "bytes_sent"),
        (Count::Shed, "shed"),
        (Count::AcceptFailed, "accept_failed"),
        (Count::Reset, "reset"),
        (Count::EndedEarly, "ended_early"),
        (Count::Malformed, "malformed"),
        (Count::TooLarge, "too_large"),
        (Count::TimedOutRequest, "timed_out_request"),
        (Count::TimedOutIdle, "timed_out_idle"),
        (Count::TimedOutWrite, "timed_out_write"),
        (Count::FileTruncated, "file_truncated"),
        (Count::FileFailed, "file_failed"),
        (Count::CutAtStop, "cut_at_stop"),
        (Count::NoBuffers, "no_buffers"),
        (Count::RecipientsAccepted, "recipients_accepted"),
        (Count::Messages, "messages"),
        (Count::Recipients, "recipients"),
        (Count::StoreFailed, "delivery_failed"),
        (Count::TlsHandshakes, "tls_handshakes"),
        (Count::TlsResumed, "tls_resumed"),
        (Count::TlsInKernel, "tls_in_kernel"),
        (Count::TlsAbsent, "tls_absent"),
        (Count::TlsIncompatible, "tls_incompatible"),
        (Count::TlsRefused, "tls_refused"),
        (Count::TlsMalformed, "tls_malformed"),
        (Count::TlsTimedOut, "tls_timed_out"),
        (Count::TlsEnded, "tls_ended"),
        (Count::LogLinesDropped, "log_lines_dropped"),
    ];
}

/// Words of one worker's block: a multiple of a cache line, so that workers do not share one.
const BLOCK: usize = 40;
/// Words before the blocks: the connections open now in all workers, and the most there were.
const HEAD: usize = 8;
const OPEN: usize = 0;
const OPEN_PEAK: usize = 1;
const TOLD: usize = 2;

const _: () = assert!(Count::ALL.len() <= BLOCK && BLOCK.is_multiple_of(8));

/// The counters of a server: a block for each worker, which alone writes to it.
///
/// Short-lived workers (a process or thread for each connection) share a block and add to it atomically.
#[derive(Clone, Debug)]
pub struct Counters {
    memory: Arc<SharedMemory>,
    blocks: usize,
}

impl Counters {
    /// Counters at zero, for `workers` workers.
    ///
    /// # Errors
    /// As [`SharedMemory::new`].
    pub fn new(workers: usize) -> std::io::Result<Counters> {
        Ok(Counters { memory: Arc::new(SharedMemory::new(HEAD + workers * BLOCK)?), blocks: workers })
    }

    /// The counters of another process with one block, from its memory file.
    ///
    /// # Errors
    /// As [`SharedMemory::from_file`].
    pub fn from_file(file: std::os::fd::OwnedFd) -> std::io::Result<Counters> {
        Ok(Counters { memory: Arc::new(SharedMemory::from_file(file, HEAD + BLOCK)?), blocks: 1 })
    }

    /// The memory file, for a child that is executed.
    pub fn file(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&*self.memory)
    }

    /// The block of a worker.
    pub fn worker(&self, index: usize) -> WorkerCounters {
        WorkerCounters { counters: self.clone(), start: HEAD + index % self.blocks * BLOCK }
    }

    /// A count over all workers.
    pub fn total(&self, count: Count) -> u64 {
        let words = self.memory.counters();
        (0..self.blocks).map(|i| words[HEAD + i * BLOCK + count as usize].load(Relaxed)).sum()
    }

    /// Notes that a worker has ended, and that its connections are therefore closed. Returns their number.
    pub fn settle(&self, worker: usize) -> u64 {
        let worker = self.worker(worker);
        let count = |count| worker.word(count).load(Relaxed);
        let left = count(Count::Accepted).saturating_sub(count(Count::Closed));
        (0..left).for_each(|_| worker.closed());
        left
    }

    /// Connections open now.
    pub fn open(&self) -> u64 {
        self.memory.counters()[OPEN].load(Relaxed)
    }

    /// The peak of open connections.
    pub fn open_peak(&self) -> u64 {
        self.memory.counters()[OPEN_PEAK].load(Relaxed)
    }
}

/// A warning that is printed once.
#[derive(Clone, Copy, Debug)]
pub enum Notice {
    /// Connections are shed.
    Shed,
    /// Connections cannot be accepted.
    AcceptFailed,
}

/// One worker's counters.
#[derive(Clone, Debug)]
pub struct WorkerCounters {
    counters: Counters,
    start: usize,
}

impl WorkerCounters {
    /// Adds to a count.
    pub fn add(&self, count: Count, n: u64) {
        self.word(count).fetch_add(n, Relaxed);
    }

    /// Adds a tally of the connections.
    pub fn add_tally(&self, tally: Tally) {
        // Without `..`, so that a count cannot be forgotten.
        let Tally {
            replies,
            client_errors,
            server_errors,
            bytes_received,
            bytes_sent,
            reset,
            ended_early,
            malformed,
            too_large,
            timed_out_request,
            timed_out_idle,
            timed_out_write,
            file_truncated,
            file_failed,
            recipients_accepted,
            messages,
            recipients,
            handshakes,
            handshakes_resumed,
            layers_in_kernel,
            layer_absent,
            layer_incompatible,
            layer_refused,
            layer_malformed,
            handshake_timed_out,
            handshake_ended,
        } = tally;
        for (count, n) in [
            (Count::Requests, replies),
            (Count::ClientErrors, client_errors),
            (Count::ServerErrors, server_errors),
            (Count::BytesReceived, bytes_received),
            (Count::BytesSent, bytes_sent),
            (Count::Reset, reset),
            (Count::EndedEarly, ended_early),
            (Count::Malformed, malformed),
            (Count::TooLarge, too_large),
            (Count::TimedOutRequest, timed_out_request),
            (Count::TimedOutIdle, timed_out_idle),
            (Count::TimedOutWrite, timed_out_write),
            (Count::FileTruncated, file_truncated),
            (Count::FileFailed, file_failed),
            (Count::RecipientsAccepted, recipients_accepted),
            (Count::Messages, messages),
            (Count::Recipients, recipients),
            (Count::TlsHandshakes, handshakes),
            (Count::TlsResumed, handshakes_resumed),
            (Count::TlsInKernel, layers_in_kernel),
            (Count::TlsAbsent, layer_absent),
            (Count::TlsIncompatible, layer_incompatible),
            (Count::TlsRefused, layer_refused),
            (Count::TlsMalformed, layer_malformed),
            (Count::TlsTimedOut, handshake_timed_out),
            (Count::TlsEnded, handshake_ended),
        ] {
            if n > 0 {
                self.add(count, n);
            }
        }
    }

    /// Counts an accepted connection. False if it exceeds `max` and must be closed.
    pub fn opened(&self, max: u64) -> bool {
        let head = self.counters.memory.counters();
        let open = head[OPEN].fetch_add(1, Relaxed) + 1;
        if open > max {
            head[OPEN].fetch_sub(1, Relaxed);
            return false;
        }
        head[OPEN_PEAK].fetch_max(open, Relaxed);
        self.add(Count::Accepted, 1);
        true
    }

    /// True for the first call of all workers, so that a warning is printed once.
    pub fn tells(&self, notice: Notice) -> bool {
        self.counters.memory.counters()[TOLD + notice as usize].swap(1, Relaxed) == 0
    }

    /// Counts the close of a connection that [`WorkerCounters::opened`] has counted.
    pub fn closed(&self) {
        self.counters.memory.counters()[OPEN].fetch_sub(1, Relaxed);
        self.add(Count::Closed, 1);
    }

    fn word(&self, count: Count) -> &AtomicU64 {
        &self.counters.memory.counters()[self.start + count as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_its_own_word_and_name() {
        for (i, (count, name)) in Count::ALL.iter().enumerate() {
            assert_eq!(*count as usize, i);
            assert!(Count::ALL[..i].iter().all(|(_, other)| other != name));
        }
    }

    #[test]
    fn totals_are_over_all_workers_and_the_peak_over_all_times() {
        let counters = Counters::new(2).unwrap();
        let (a, b) = (counters.worker(0), counters.worker(1));
        assert!(a.opened(2) && b.opened(2) && !b.opened(2));
        a.closed();
        assert_eq!((counters.open(), counters.open_peak()), (1, 2));
        assert_eq!(counters.total(Count::Accepted), 2);
        assert_eq!((counters.settle(0), counters.settle(1), counters.settle(1)), (0, 1, 0));
        assert_eq!((counters.open(), counters.total(Count::Closed)), (0, 2));
    }

    #[test]
    fn what_many_threads_meet_at_once_is_told_once() {
        let counters = Counters::new(4).unwrap();
        let start = std::sync::Barrier::new(16);
        let ask = |index| {
            start.wait();
            usize::from(counters.worker(index).tells(Notice::AcceptFailed))
        };
        let told: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|index| {
                    scope.spawn({
                        let ask = &ask;
                        move || ask(index)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((told, counters.worker(0).tells(Notice::Shed)), (1, true));
    }
}
