//! The lab: it expands plans, runs cells and writes the run file.
//!
//! It drives only what a user could type: servers and load generators are separate processes, started by their
//! command lines and known by what they print. So nothing here depends on `pitot-serve` or `pitot-load`, and any
//! other server is a cell like theirs.
//!
//! For reports, start at [`Run::open`] and [`METRICS`].
#![forbid(unsafe_code)]

pub mod advise;
pub mod kept;
mod monitor;
mod procfs;
mod runner;
mod self_check;
pub mod tune;

pub use runner::{
    Arrival, Caller, Carrier, Event, FaultNews, GUEST_START_MAX_S, Ground, Guardian, Leftovers, OtherRun,
    Outcome, Part, PartCell, Place, Prepared, Request, RunLock, ShownCell, StandingLoad, StandingServer,
    Step, Ways, Where, Work, check_part, prepare, prepare_part, push, run, serve_agent,
};
pub use self_check::SelfCheck;
