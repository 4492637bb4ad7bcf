//! Requests to the lab.

use std::path::Path;

#[cfg(test)]
use super::executor::Machine;
use super::local::Guardian;
use super::prepare::Prepared;
use super::soak::Soak;
use super::transport::Transport;
use pitot_plan::{Catalog, Plan};
use pitot_record::CellRecord;

/// What to run, where, and for whom.
pub struct Request<'a, 'w, 'p> {
    /// What.
    pub work: Work<'w>,
    /// Where.
    pub place: Place<'p>,
    /// Whether a smoke test of each cell comes first. Machines that run jobs skip it.
    pub trial: bool,
    /// For whom.
    pub caller: Caller<'a>,
}

/// What to run.
pub enum Work<'a> {
    /// A prepared plan, into a new file.
    New {
        /// The plan.
        prepared: Box<Prepared>,
        /// The file.
        output: &'a Path,
    },
    /// What the file of an interrupted or killed run lacks.
    Resume {
        /// The file.
        path: &'a Path,
        /// The names that plans may use on this machine.
        catalog: &'a Catalog,
    },
    /// A soak, or the rest of one.
    Soak(&'a mut dyn Soak),
}

/// Where to run it.
#[cfg_attr(test, allow(private_interfaces))] // The scripted machine is for tests of this crate.
pub enum Place<'a> {
    /// On this machine and the hosts of the plan. Programs end with the guardian.
    Here(Guardian),
    /// Job by job, by other machines.
    Jobs(&'a mut dyn Transport),
    /// On a scripted machine.
    #[cfg(test)]
    Scripted(&'a dyn Machine),
}

/// Who asks for a run.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The path of `pitot`.
    pub pitot: &'a str,
    /// The version, for the record.
    pub version: &'a str,
    /// The command line, for the record.
    pub command_line: &'a str,
    /// Called at the end of the run, for a warning in the report.
    pub note: &'a dyn Fn() -> Option<String>,
    /// True once the user wants the run to end.
    pub stop: &'a dyn Fn() -> bool,
    /// Whether a run that goes on until it has decided can end with what these cells have, controls at the end. None: once every
    /// comparison of the plan's metric is decided.
    pub decided: &'a dyn Fn(&Plan, &[CellRecord]) -> Option<bool>,
}
