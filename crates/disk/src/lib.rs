//! Ways to read and write files, behind one contract: queue, commit, reap.
//!
//! An [`Engine`] is one such way: a blocking pread, a mapping, a thread pool, one of the kernel's or the library's asynchronous
//! interfaces. The contract is that of fio's engines, since it fits all of them: `queue` returns *done*, *in flight* or *full*;
//! `commit` hands over the queue; `reap` returns completions. A synchronous engine is only a `queue`. An operation owns its
//! memory and keeps its file open from `queue` until its completion, so nothing dangles when its connection is closed. Dropping
//! an engine cancels, waits and then frees.
//!
//! An engine is one file in `engine/` and one entry in [`ENGINES`], which has its needs and limits as data. The rest of the crate
//! measures engines: sets of files with known contents ([`set`]), a page cache made cold or hot, and verified ([`cache`]), the
//! read benchmark ([`mod@bench`]), and the 2001 experiment on many small files ([`files`]).
#![forbid(unsafe_code)]

pub mod bench;
pub mod cache;
pub mod content;
mod contract;
mod engine;
mod file;
pub mod file_system;
pub mod files;
mod options;
mod registry;
pub mod set;

pub use contract::{Completion, DiskOp, Engine, Queued};
pub use file::{Access, DiskFile, FileOptions, FileRef};
pub use options::{EngineOption, EngineOptions, NotifyBy};
pub use pitot_sys::Unavailable;
pub use pitot_sys::disk::{Buffer, BufferPool, PAGE, Transfer, Wait};
pub use registry::{Blocks, Completes, Destination, ENGINES, EngineEntry, Open, OptionsError, Route, find};
