//! The load generator: it sends requests to a server at a given pace and reports how long the replies took. What it does
//! before and after: the loops themselves are in `pitot_drive`.
//!
//! [`Options`] are what the user wrote, [`LoadPlan::new`] checks them, [`LoadPlan::prepare`] resolves the name and
//! checks the machine, [`run`] does it, and [`Report`] is the result.
#![forbid(unsafe_code)]

mod asked;
mod choice;
mod collect;
mod conditions;
mod headers;
mod hold;
mod http_only;
mod http_version;
mod options;
pub mod output;
mod owners;
mod parts;
mod plan;
mod preload;
mod prepared;
mod processes;
mod protocol;
mod reach;
mod report;
mod requests;
mod run;
mod silence;
mod threads;
mod under_way;
mod verdict;
mod watch;

pub use hold::Session;
pub use options::{ContentOptions, Options, ReachOptions};
pub use pitot_client::tls::{TlsOptions, TlsVersion, explain};
pub use pitot_drive::condition::{Condition, Figures};
pub use pitot_drive::engine::{ENGINES, EngineEntry};
pub use pitot_drive::pace::{PACES, PaceEntry, PaceOptions, Recorded};
pub use pitot_drive::share::Share;
pub use pitot_drive::think::ThinkTimes;
pub use pitot_drive::workload::{WORKLOADS, WorkloadEntry, WorkloadOptions};
pub use plan::LoadPlan;
pub use prepared::{PreparedRun, check_cpus};
pub use processes::{Respawn, WorkerSpec, work};
pub use protocol::host_and_port;
pub use report::{INTERRUPTED, Report};
pub use run::run;
pub use watch::{Preparing, Progress, Watch};
