//! Asynchronous file I/O, and what it needs: memory that outlives a request, mappings that survive a truncation, and
//! queries of the page cache.
//!
//! The three asynchronous interfaces (POSIX AIO, Linux AIO, io_uring) read and write memory while the caller does
//! other things. They are made safe in one way: an [`Operation`] *owns* its memory and keeps its
//! files open, the interface owns the operation while it is in flight, and dropping the interface first cancels and
//! then waits. So nothing dangles, whatever happens to the connection that asked.

mod buffer;
mod linux_aio;
mod mapping;
mod operation;
pub mod pagecache;
mod posix_aio;
mod ring;

pub use buffer::{Buffer, BufferPool, PAGE};
pub use linux_aio::LinuxAio;
pub use mapping::{Mapping, Torn};
pub use operation::{Finished, Operation, Refused, Transfer, Wait};
pub use posix_aio::{DEPTH_MAX as POSIX_AIO_DEPTH_MAX, Notification, PosixAio, set_helper_threads};
pub use ring::{DiskRing, RingOptions};
