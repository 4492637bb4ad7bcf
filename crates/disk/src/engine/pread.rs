//! `pread`: blocking, in the caller.

use pitot_sys::Unavailable;
use pitot_sys::disk::BufferPool;

use super::execute;
use crate::{Completion, DiskOp, Engine, EngineOptions, Queued};

struct Pread;

pub(crate) fn open(_: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    Ok(Box::new(Pread))
}

impl Engine for Pread {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        let result = execute::whole(&mut operation);
        Queued::Done(Completion { operation, result })
    }
}
