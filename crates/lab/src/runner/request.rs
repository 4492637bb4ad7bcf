//! What the lab can be asked for.

use std::path::Path;

use super::carrier::Carrier;
#[cfg(test)]
use super::executor::Machine;
use super::local::Guardian;
use super::prepare::Prepared;
use super::soak::Soak;
use pitot_plan::Catalog;

/// What is to be run, where, and for whom.
pub struct Request<'a, 'w, 'p> {
    /// What.
    pub work: Work<'w>,
    /// Where.
    pub place: Place<'p>,
    /// Whether each cell is tried for a moment before anything is measured; others who carry out parts try nothing.
    pub trial: bool,
    /// For whom.
    pub caller: Caller<'a>,
}

/// What is to be run.
pub enum Work<'a> {
    /// A plan that is ready, into a new file.
    New {
        /// The plan.
        prepared: Box<Prepared>,
        /// The file.
        output: &'a Path,
    },
    /// What the file of a run lacks that was interrupted or killed.
    Resume {
        /// The file.
        path: &'a Path,
        /// What this machine offers.
        catalog: &'a Catalog,
    },
    /// A soak, or what is left of one.
    Soak(&'a mut dyn Soak),
}

/// Where it is run.
#[cfg_attr(test, allow(private_interfaces))] // The scripted machine is for tests of this crate.
pub enum Place<'a> {
    /// On this machine and the hosts that the plan names. What is started ends with the guardian.
    Here(Guardian),
    /// Part by part, by others.
    Parts(&'a mut dyn Carrier),
    /// On a scripted machine.
    #[cfg(test)]
    Scripted(&'a dyn Machine),
}

/// Who asks for a run.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// How `pitot` is started: a path.
    pub pitot: &'a str,
    /// The version, for the record.
    pub version: &'a str,
    /// The command line, for the record.
    pub command_line: &'a str,
    /// A sentence for the report on what went on besides, asked for at the end of the run.
    pub note: &'a dyn Fn() -> Option<String>,
    /// True once the user wants the run to end.
    pub stop: &'a dyn Fn() -> bool,
}
