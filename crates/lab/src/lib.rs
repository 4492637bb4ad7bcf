//! The lab: runs the cells of plans and records them. It starts servers and load generators as separate processes, by
//! commands that a user could type, and reads what they print. So it depends on neither `pitot-serve` nor `pitot-load`,
//! and treats every other server alike.
#![forbid(unsafe_code)]

mod monitor;
mod procfs;
mod runner;

pub use runner::{
    Caller, Event, FaultNews, GUEST_START_MAX_S, Guardian, Job, JobCell, JobResult, Leftovers, LoadStatus,
    LocalHost, LongRunningLoad, LongRunningServer, OtherRun, Outcome, Place, Prepared, Request, RunLock,
    ServerStatus, ShownCell, Soak, SoakStatus, Step, Transport, Ways, Where, Work, check_job, prepare,
    prepare_job, profile, push, recordable, run, serve_agent,
};
