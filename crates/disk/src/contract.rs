//! What every engine is to its user.

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{Finished, Operation, Wait};

use crate::{DiskFile, FileRef};

/// One request to a file, with its memory and a token of the caller's choice.
pub type DiskOp = Operation<FileRef>;

/// A request given back, with the bytes it moved or why it did not.
///
/// For a read a count below the length asked for means that the file ends there (it may be shorter than it was when it
/// was opened: a caller that has promised a length must check). For a send it means that the socket took no more, or that the
/// file ends; an error WouldBlock means that it took nothing.
pub type Completion = Finished<FileRef>;

/// What became of a request.
#[derive(Debug)]
pub enum Queued {
    /// It is over already.
    Done(Completion),
    /// It will be, after a `commit`, and will come out of `reap`.
    InFlight,
    /// The engine holds as many as its depth: reap, then queue it again.
    Full(DiskOp),
}

/// A way to read and write files. One thread uses it, the one that opened it.
///
/// Dropping an engine cancels what can be cancelled, waits for the rest and drops it all with its buffers, sockets and
/// files. Wait for `in_flight` to reach zero first if the results matter.
pub trait Engine {
    /// Takes a request. Nothing is promised before the next `commit`.
    fn queue(&mut self, operation: DiskOp) -> Queued;

    /// Sets going what was queued since the last time.
    ///
    /// # Errors
    /// The engine itself has failed and should be dropped; what a request fails of comes back with the request.
    fn commit(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Appends what is done. With [`Wait::ForOne`] it waits until something is, unless nothing is in flight.
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

    /// Requests that were not answered from memory at once and went to helper threads instead, for engines that look.
    fn misses(&self) -> u64 {
        0
    }
}
