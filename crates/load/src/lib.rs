//! The load generator: it asks a server for replies, at a pace that it keeps, and tells the truth about how that went.
//!
//! Pace, workload (what becomes of connections), protocol and the end of a run are four values; every combination goes
//! through the same loop. Each thread owns its connections, its loop and its records, and shares nothing until the
//! end. A request has an intended time, whether or not the server or the generator was late for it; response time
//! counts from there, service time from the actual send, and both are kept.
//!
//! [`Options`] say what the user wants, [`Plan::new`] checks them, [`run`] does it, and [`Report`] is what came out.
#![forbid(unsafe_code)]

mod choice;
mod collect;
mod condition;
mod engine;
mod fleet;
mod gate;
mod message;
mod options;
pub mod output;
mod pace;
mod plan;
mod prepare;
mod processes;
mod random;
mod recorder;
mod report;
mod requests_file;
mod run;
mod sample;
mod share;
mod tally;
mod threads;
mod verdict;
mod workload;

pub use collect::Second;
pub use condition::{Condition, ConditionError, Figures};
pub use engine::{ENGINES, EngineEntry};
pub use options::Options;
pub use pace::{PACES, PaceEntry, PaceOptions};
pub use plan::Plan;
pub use processes::{Respawn, WorkerSpec, work};
pub use report::{
    Bytes, Client, Gate, INTERRUPTED, Latencies, Latency, PERCENTILES, Report, SearchResult, Smoothness,
    Step, Storm,
};
pub use run::{Progress, Unwatched, Watch, run};
pub use sample::{Kind, Phase};
pub use tally::{ConnectionCounts, ErrorRow, RequestCounts, ThreadUse, WarmupCounts, Window};
pub use verdict::Verdict;
pub use workload::{WORKLOADS, WorkloadEntry, WorkloadOptions};
