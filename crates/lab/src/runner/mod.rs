//! The runner: takes a plan through all its repetitions and writes the run file.
//!
//! Whatever happens to one repetition, the run continues; whatever happens to the run, the file is consistent and no
//! process is left. The order is a function of plan and seed, so an interrupted run continues where it stopped.

mod agent;
mod carry_out;
mod decided;
mod demand;
mod evidence;
mod executor;
#[cfg(test)]
mod fake;
mod generations;
mod held;
mod hosts;
mod judge;
mod kept;
#[cfg(test)]
mod killed;
mod local;
mod lock;
mod look;
mod part;
mod prepare;
mod printed;
mod repetition;
mod resume;
mod scattered;
mod schedule;
mod settling;
mod slices;
mod standing;
#[cfg(test)]
mod tests;
mod trial;
mod under;
mod under_way;
mod way;

pub use agent::serve_agent;
pub use carry_out::{Finished, Outcome, Progress, Setting};
pub use hosts::push;
pub use local::{Guardian, Leftovers};
pub use lock::{OtherRun, RunLock};
pub use part::{Part, PartCell, check_part, run_part};
pub use prepare::{GUEST_START_MAX_S, Prepared, ShownCell, cure_of_skip, prepare, prepare_elsewhere};
pub use repetition::FaultNews;
pub use resume::resume;
pub use scattered::{Arrival, Carrier, resume_scattered};
pub use standing::{Ground, StandingLoad, StandingServer};
pub use under::prepare_under;
pub use way::Ways;
