//! `pool-sendfile`: a pool of threads that send files straight to the clients' sockets.

use pitot_sys::Unavailable;
use pitot_sys::disk::BufferPool;

use super::{execute, pool};
use crate::{Engine, EngineOptions};

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    pool::with(options, |operation, _| execute::sending(operation))
}
