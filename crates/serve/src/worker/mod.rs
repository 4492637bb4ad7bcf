//! The worker loops: blocking calls, readiness, completion. A mechanism selects one; a model starts as many as it needs
//! and gives each its source of connections.

mod accept;
pub mod blocking;
mod loop_worker;
pub mod readiness;
pub mod ring;
mod source;
pub mod work_queue;

pub use accept::AcceptFailure;
pub use loop_worker::{LoopWorker, Prepared};
pub use source::{Handoff, Source};
