//! A run on a machine: what slices and fresh runs share.

use std::time::Instant;

use pitot_meter::units::counted;

use super::executor::Machine;
use super::ledger::Ledger;
use super::repetition::{GivenUp, Shared};
use pitot_plan::{Cell, Plan};
use pitot_record::CellRecord;

/// A run on a machine.
pub(super) struct OnMachine<'a, 'l> {
    pub(super) shared: Shared<'a>,
    pub(super) machine: &'a dyn Machine,
    pub(super) ledger: &'a mut Ledger<'l>,
    /// When the run began.
    pub(super) begin: Instant,
    /// Whether it is decided, if not by the plan's metric.
    pub(super) decided: &'a dyn Fn(&Plan, &[CellRecord]) -> Option<bool>,
    /// All cells, controls at the end.
    pub(super) cells: Vec<Cell>,
    /// By cell, controls at the end: why it was given up. Its repetitions are recorded as failed.
    pub(super) given_up: Vec<Option<GivenUp>>,
}

/// A warning that too little fitted into the time of the run.
pub(super) fn too_slow(within_s: f64, had: u32, unit: &str, least: u32, needed_s: f64) -> String {
    let had = counted(u64::from(had), unit, &format!("{unit}s"));
    format!(
        "Only {had} fitted into the {within_s:.0} s of the run, since this machine is slower than estimated: {least} {unit}s take \
         about {needed_s:.0} s."
    )
}
