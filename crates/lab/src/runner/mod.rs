//! The runner: takes a plan through all its repetitions and writes the run file ([`run`]).
//!
//! If a repetition fails, the run continues; if the run ends in any way, the file is consistent and no process is
//! left. The order is a function of plan and seed, so that a resumed run continues where it stopped.

mod agent;
mod choose;
mod decided;
mod demand;
mod distributed;
mod engine;
mod estimate;
mod event;
mod evidence;
mod executor;
#[cfg(test)]
mod fake;
mod fresh;
mod generations;
mod held;
mod hosts;
mod job;
mod judge;
#[cfg(test)]
mod killed;
mod ledger;
mod local;
mod lock;
mod long_running;
mod look;
mod on_machine;
mod prepare;
mod printed;
mod profiled;
mod repetition;
mod request;
mod rise;
mod schedule;
mod shown;
mod slices;
mod smoke_test;
mod soak;
mod soak_status;
#[cfg(test)]
mod tests;
mod time_left;
mod transport;
mod under;
mod under_way;
mod warming;
mod way;

pub use agent::serve_agent;
pub use choose::prepare_job;
pub use engine::run;
pub use estimate::GUEST_START_MAX_S;
pub use event::{Event, Outcome, Step};
pub use hosts::push;
pub use job::{Job, JobCell, check_job};
pub use local::{Guardian, Leftovers};
pub use lock::{OtherRun, RunLock};
pub use long_running::{LocalHost, LongRunningLoad, LongRunningServer};
pub use prepare::{Prepared, Where, prepare};
pub use profiled::{profile, recordable};
pub use repetition::FaultNews;
pub use request::{Caller, Place, Request, Work};
pub use shown::ShownCell;
pub use soak::Soak;
pub use soak_status::{LoadStatus, ServerStatus, SoakStatus};
pub use transport::{JobResult, Transport};
pub use way::Ways;
