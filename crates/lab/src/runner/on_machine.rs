//! A run that is measured on a machine: what those who measure in slices and in fresh runs share.

use std::time::Instant;

use pitot_meter::units::counted;

use super::executor::Machine;
use super::ledger::Ledger;
use super::repetition::{GivenUp, Shared};
use pitot_plan::Cell;

/// A run on a machine.
pub(super) struct OnMachine<'a, 'l> {
    pub(super) shared: Shared<'a>,
    pub(super) machine: &'a dyn Machine,
    pub(super) ledger: &'a mut Ledger<'l>,
    /// When the run began.
    pub(super) begin: Instant,
    /// All cells, controls at the end.
    pub(super) cells: Vec<Cell>,
    /// By cell, controls at the end: why it is not tried any more. Its repetitions are recorded as failed.
    pub(super) given_up: Vec<Option<GivenUp>>,
}

/// That too little fitted into the time of a run to decide: a sentence.
pub(super) fn too_slow(within_s: f64, had: u32, unit: &str, least: usize, needed_s: f64) -> String {
    let had = counted(u64::from(had), unit, &format!("{unit}s"));
    format!(
        "Only {had} fitted into the {within_s:.0} s of the run, as this machine is slower than foreseen: {least} {unit}s take \
         about {needed_s:.0} s."
    )
}
