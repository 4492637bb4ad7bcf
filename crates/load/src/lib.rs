//! The load generator: it sends requests to a server at a given pace and reports how long the replies took.
//!
//! Pace, workload (the life of connections), protocol and the end of a run are four values; every combination goes
//! through the same loop. Each thread owns its connections, its loop and its records, and shares nothing until the
//! end. A request has an intended time, whether or not the server or the generator was late for it; response time
//! counts from there, service time from the actual send, and both are kept.
//!
//! [`Options`] are what the user wrote, [`LoadPlan::new`] checks them, [`LoadPlan::prepare`] resolves the name and
//! checks the machine, [`run`] does it, and [`Report`] is the result.
#![forbid(unsafe_code)]

mod asked;
mod choice;
mod collect;
mod condition;
mod conditions;
mod connections;
mod engine;
mod gate;
mod growth;
mod handshakes;
mod headers;
mod histogram_text;
mod hold;
mod http_only;
mod http_version;
mod message;
mod names;
mod options;
pub mod output;
mod owners;
mod pace;
mod pages;
mod parts;
mod plan;
mod preload;
mod prepared;
mod processes;
mod protocol;
mod random;
mod reach;
mod recorder;
mod report;
mod requests;
mod run;
mod sample;
mod sessions;
mod share;
mod silence;
mod steps;
mod tally;
mod think;
mod threads;
mod under_way;
mod verdict;
mod watch;
mod workload;

pub use condition::{Condition, Figures};
pub use engine::{ENGINES, EngineEntry};
pub use hold::Session;
pub use options::{ContentOptions, Options, ReachOptions};
pub use pace::{PACES, PaceEntry, PaceOptions, Recorded};
pub use pitot_client::tls::{TlsOptions, TlsVersion, explain};
pub use plan::LoadPlan;
pub use prepared::{PreparedRun, check_cpus};
pub use processes::{Respawn, WorkerSpec, work};
pub use protocol::host_and_port;
pub use report::{INTERRUPTED, Report};
pub use run::run;
pub use share::Share;
pub use think::ThinkTimes;
pub use watch::{Preparing, Progress, Watch};
pub use workload::{WORKLOADS, WorkloadEntry, WorkloadOptions};
