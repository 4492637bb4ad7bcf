//! The read benchmark: an engine reads blocks of a file set, and every read is timed and checked.
//!
//! One thread keeps as many reads in flight as the engine's depth allows, queues again whatever came back, and
//! commits every `batch` of them or when nothing more can be queued. A read's latency runs from just before `queue`
//! until the `reap` that returned it has ended: what an event loop would see. The clock is read once after each queue
//! and once after each reap, and the end of one call is the start of the next.

mod counts;
mod drain;
mod order;
mod page_cache;
mod plan;
mod reads;
mod run;

pub use order::Pattern;
pub use plan::{BenchError, CacheState, Check, LIMIT_FACTOR, ReadPlan, ReadReport, Until};
pub use run::run;
