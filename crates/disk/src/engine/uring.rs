//! `uring`: io_uring(7).

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, DiskRing, Refused, RingOptions, Wait};

use crate::{Completion, DiskOp, Engine, EngineOptions, FileRef, Queued};

/// Files that are registered at a time: each is kept open by the ring.
const FIXED_FILES: u32 = 256;

struct Uring(DiskRing<FileRef>);

pub(crate) fn open(options: &EngineOptions, pool: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    let ring = DiskRing::new(&RingOptions {
        depth: options.depth,
        buffers: options.fixed_buffers.then(|| pool.clone()),
        files: if options.fixed_files { FIXED_FILES } else { 0 },
        notify: options.event_loop,
    })?;
    Ok(Box::new(Uring(ring)))
}

impl Engine for Uring {
    fn queue(&mut self, operation: DiskOp) -> Queued {
        match self.0.queue(operation) {
            Ok(()) => Queued::InFlight,
            Err(Refused::Full(operation)) => Queued::Full(operation),
            Err(Refused::Failed(completion)) => Queued::Done(completion),
        }
    }

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit()
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.0.reap(wait, done)
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.completion_fd()
    }
}
