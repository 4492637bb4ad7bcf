//! The runner: takes a plan through all its repetitions and writes the run file ([`run`]).
//!
//! Whatever happens to one repetition, the run continues; whatever happens to the run, the file is consistent and no
//! process is left. The order is a function of plan and seed, so an interrupted run continues where it stopped.

mod agent;
mod carrier;
mod choose;
mod decided;
mod demand;
mod engine;
mod event;
mod evidence;
mod executor;
#[cfg(test)]
mod fake;
mod fresh;
mod generations;
mod held;
mod hosts;
mod judge;
#[cfg(test)]
mod killed;
mod ledger;
mod local;
mod lock;
mod look;
mod on_machine;
mod part;
mod prepare;
mod printed;
mod repetition;
mod request;
mod scattered;
mod schedule;
mod settling;
mod slices;
mod soak;
mod soak_status;
mod standing;
#[cfg(test)]
mod tests;
mod time_left;
mod trial;
mod under;
mod under_way;
mod way;

pub use agent::serve_agent;
pub use carrier::{Arrival, Carrier};
pub use choose::prepare_part;
pub use engine::run;
pub use event::{Event, Outcome, Step};
pub use hosts::push;
pub use local::{Guardian, Leftovers};
pub use lock::{OtherRun, RunLock};
pub use part::{Part, PartCell, check_part};
pub use prepare::{GUEST_START_MAX_S, Prepared, ShownCell, Where, prepare};
pub use repetition::FaultNews;
pub use request::{Caller, Place, Request, Work};
pub use soak::Soak;
pub use soak_status::{LoadStatus, ServerStatus, SoakStatus};
pub use standing::{Ground, StandingLoad, StandingServer};
pub use way::Ways;
