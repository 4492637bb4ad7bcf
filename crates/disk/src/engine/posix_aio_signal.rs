//! `posix-aio-signal`: POSIX AIO, completions reported by a realtime signal.

use pitot_sys::Unavailable;
use pitot_sys::disk::{BufferPool, Notification};

use super::posix_aio;
use crate::{Engine, EngineOptions};

pub(crate) fn open(options: &EngineOptions, _: &BufferPool) -> Result<Box<dyn Engine>, Unavailable> {
    posix_aio::with(options, Notification::Signal)
}
