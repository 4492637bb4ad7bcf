//! File bodies through a disk engine: the plan, and the route of the data.
//!
//! Without an engine a body goes from the page cache to the socket in the worker itself (sendfile(2), or reads of the
//! ring on io_uring). With one it takes one of two routes: the engine reads blocks into memory of a bounded pool and the
//! loop sends them, or the engine itself sends to the socket. In both the loop waits for nothing but its mechanism;
//! the engine's descriptor is watched beside the sockets.

mod admit;
mod plan;
mod reader;

pub use admit::admit;
pub use pitot_disk::Route;
pub use plan::DiskPlan;
pub use reader::{Disk, Started, file_to_read, fill};
