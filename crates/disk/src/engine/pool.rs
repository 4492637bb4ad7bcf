//! `pool`: a pool of threads that call pread(2).

use std::io;
use std::os::fd::BorrowedFd;

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, Wait};

use super::execute;
use super::helpers::{Execute, Helpers};
use crate::{Completion, DiskOp, Engine, EngineOptions, Queued};

struct Pool(Helpers);

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    with(options, execute::from)
}

/// A pool whose helpers call `execute`.
pub(super) fn with(options: &EngineOptions, execute: Execute) -> Result<Box<dyn Engine>, Unavailable> {
    Ok(Box::new(Pool(Helpers::new(options, execute)?)))
}

impl Engine for Pool {
    fn queue(&mut self, operation: DiskOp) -> Queued {
        self.0.queue(operation, 0)
    }

    fn commit(&mut self) -> io::Result<()> {
        self.0.commit();
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> io::Result<()> {
        self.0.reap(wait, done)
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn completion_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.completion_fd())
    }
}
