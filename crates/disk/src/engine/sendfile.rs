//! `sendfile`: from the file to the socket, in the caller.

use pitot_sys::Unavailable;
use pitot_sys::disk::BufferPool;

use super::execute;
use crate::{Completion, DiskOp, Engine, EngineOptions, Queued};

struct Sendfile;

pub(crate) fn open(_: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    Ok(Box::new(Sendfile))
}

impl Engine for Sendfile {
    fn queue(&mut self, mut operation: DiskOp) -> Queued {
        let result = execute::sending(&mut operation);
        Queued::Done(Completion { operation, result })
    }
}
