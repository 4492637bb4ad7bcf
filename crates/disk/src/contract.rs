//! What every engine is to its user.

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{Finished, Operation, Wait};

use crate::{DiskFile, FileRef};

/// One request to a file, with its memory and a token of the caller's choice.
pub type DiskOp = Operation<FileRef>;

/// A completed request, with the number of bytes it moved or its error.
///
/// For a read a count below the length asked for means that the file ends there (it may be shorter than it was when it
/// was opened: a caller that has promised a length must check). For a send it means that the socket is full, or that the
/// file ends; an error WouldBlock means that nothing was sent.
pub type Completion = Finished<FileRef>;

/// What became of a request.
#[derive(Debug)]
pub enum Queued {
    /// It is over already.
    Done(Completion),
    /// It will be, after a `commit`, and will come out of `reap`.
    InFlight,
    /// The engine has reached its depth: reap, then queue it again.
    Full(DiskOp),
}

/// A way to read and write files. One thread uses it, the one that opened it.
///
/// Dropping an engine cancels what can be cancelled, waits for the rest and drops it all with its buffers, sockets and
/// files. Wait for `in_flight` to reach zero first if the results matter.
pub trait Engine {
    /// Queues a request. It may start only at the next `commit`.
    fn queue(&mut self, operation: DiskOp) -> Queued;

    /// Starts the requests queued since the last call.
    ///
    /// # Errors
    /// The engine itself has failed and should be dropped. Errors of a request are in its completion.
    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Appends completions. With [`Wait::ForOne`] it waits for at least one, unless nothing is in flight.
    ///
    /// # Errors
    /// As for `commit`.
    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        let _ = (wait, done);
        Ok(())
    }

    /// Requests queued and not reaped yet; never more than the depth.
    fn in_flight(&self) -> usize {
        0
    }

    /// A descriptor that is readable (level-triggered) when there is something to reap, for an event loop to wait for.
    /// Only a reap makes it unreadable again.
    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether this file can be read in this way.
    ///
    /// # Errors
    /// What its file system lacks.
    fn admit(&self, file: &DiskFile) -> Result<(), Unavailable> {
        let _ = file;
        Ok(())
    }

    /// Requests that were not in memory and went to helper threads, for engines that check.
    fn misses(&self) -> u64 {
        0
    }
}
