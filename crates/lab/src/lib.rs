//! The lab: it runs the cells of plans and records them.
//!
//! It drives only what a user could type: servers and load generators are separate processes, started by their
//! command lines and known by what they print. So nothing here depends on `pitot-serve` or `pitot-load`, and any
//! other server is a cell like theirs.
#![forbid(unsafe_code)]

mod monitor;
mod procfs;
mod runner;

pub use runner::{
    Arrival, Caller, Carrier, Event, FaultNews, GUEST_START_MAX_S, Ground, Guardian, Leftovers, LoadStatus,
    OtherRun, Outcome, Part, PartCell, Place, Prepared, Request, RunLock, ServerStatus, ShownCell, Soak,
    SoakStatus, StandingLoad, StandingServer, Step, Ways, Where, Work, check_part, prepare, prepare_part,
    push, run, serve_agent,
};
