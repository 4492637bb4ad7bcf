//! The engines, one per file, and what several of them share.

mod execute;
mod helpers;
pub(crate) mod linux_aio;
pub(crate) mod mmap;
mod notifier;
pub(crate) mod nowait;
pub(crate) mod pool;
pub(crate) mod pool_sendfile;
mod posix_aio;
pub(crate) mod posix_aio_poll;
pub(crate) mod posix_aio_signal;
pub(crate) mod posix_aio_thread;
pub(crate) mod pread;
pub(crate) mod sendfile;
pub(crate) mod uring;
