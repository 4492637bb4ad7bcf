//! `linux-aio`: io_submit(2) and io_getevents(2).

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, LinuxAio, Refused, Wait};

use crate::{Completion, DiskOp, Engine, EngineOptions, FileRef, Queued};

struct Kernel(LinuxAio<FileRef>);

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    Ok(Box::new(Kernel(LinuxAio::new(options.depth, options.event_loop)?)))
}

impl Engine for Kernel {
    fn queue(&mut self, operation: DiskOp) -> Queued {
        match self.0.queue(operation) {
            Ok(()) => Queued::InFlight,
            Err(Refused::Full(operation)) => Queued::Full(operation),
            Err(Refused::Failed(completion)) => Queued::Done(completion),
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit();
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.0.commit();
        self.0.reap(wait, done)
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.completion_fd()
    }
}
