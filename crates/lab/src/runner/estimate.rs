//! How long a prepared plan takes, and fitting it to a time.

use pitot_meter::units::counted;
use pitot_plan::{Cell, CellServer, KernelUse, Measure, Plan};
use pitot_results::Failure;
use pitot_stats::MEDIAN_REPETITIONS_MIN;

use super::prepare::Prepared;
use super::way::{Ways, slow_start_s};

/// Length of the load in the smoke test, seconds.
pub(super) const MOMENT_S: f64 = 0.2;

/// Seconds of a repetition besides warm-up and measurement: two processes start, connect and stop.
pub(super) const OVERHEAD_S: f64 = 0.3;
/// The same without a server.
const ALONE_OVERHEAD_S: f64 = 0.15;

/// A guest with KVM starts within so many seconds; otherwise the processor is emulated.
pub const GUEST_START_MAX_S: f64 = 15.0;
/// CPU time of a guest's start on an emulated processor, seconds, as measured in docs/kernels.md.
const EMULATED_START_S: f64 = 40.0;

/// Maximum share of a run for all looks at servers in the smoke test.
pub(super) const LOOKS_SHARE: f64 = 0.2;
/// The estimated time of a decision may exceed the limit by this share.
const OVERRUN_MAX: f64 = 0.05;

impl Prepared {
    /// Estimated time of the whole plan, seconds.
    pub fn estimate_s(&self) -> f64 {
        self.block_s() * f64::from(self.plan.repetitions) + self.sliced_s()
    }

    /// Estimated time of the cells in slices, seconds.
    fn sliced_s(&self) -> f64 {
        match (self.ways.sliced(), self.plan.until_decided_s) {
            (0, _) => 0.0,
            (_, Some(at_most_s)) => at_most_s,
            _ => self.ways.generation_s(&self.plan) * f64::from(self.plan.generations.unwrap_or(1)),
        }
    }

    /// Estimated time of one block of fresh runs, seconds.
    fn block_s(&self) -> f64 {
        let fresh = self.cells.iter().zip(&self.ways.cells).filter(|(_, (m, _))| *m == Measure::Fresh);
        fresh.map(|(cell, _)| nominal_s(&self.plan, cell)).sum()
    }

    /// Estimated time of the cells in fresh runs, but at most their share of `within_s`.
    pub(super) fn fresh_s(&self, within_s: f64) -> f64 {
        let share = (self.cells.len() - self.ways.sliced()) as f64 / self.cells.len().max(1) as f64;
        (self.block_s() * f64::from(self.plan.repetitions)).min(within_s * share)
    }

    /// The shortest time in which the plan can come to a decision, seconds.
    pub fn least_s(&self) -> f64 {
        let fresh_s = self.block_s() * f64::from(self.ways.repetitions_least());
        let sliced_s = if self.ways.sliced() > 0 { self.ways.least_s(&self.plan) } else { 0.0 };
        smoke_test_s(&self.cells) + fresh_s + sliced_s
    }

    /// Fits the plan to a time, seconds, at which the run ends even if the machine is slower than estimated.
    ///
    /// # Errors
    /// As [`Prepared::fit`].
    pub fn keep_within(&mut self, within_s: f64) -> Result<(), Failure> {
        self.fit(within_s)?;
        self.within_s = Some(within_s);
        Ok(())
    }

    /// Fits the number of generations and slices, and of repetitions, to a time, seconds.
    ///
    /// # Errors
    /// If the time is too short for a decision, or cannot be estimated.
    pub fn fit(&mut self, within_s: f64) -> Result<(), Failure> {
        if self.plan.is_in_guests() {
            return Err(self.unknown_on_kernels());
        }
        let (smoke_test_s, repetitions) = (smoke_test_s(&self.cells), self.plan.repetitions);
        self.has_no_time_to_look = self.fit_beside(within_s, smoke_test_s + self.looks_s(within_s)).is_err();
        if self.has_no_time_to_look {
            self.plan.repetitions = repetitions;
            self.fit_beside(within_s, smoke_test_s)?;
        }
        Ok(())
    }

    /// The error that the time of a plan that varies the kernel cannot be limited, with what is known of it.
    fn unknown_on_kernels(&self) -> Failure {
        let mut kernels: Vec<KernelUse> = Vec::new();
        for kernel in self.cells.iter().filter_map(|cell| self.plan.kernel_of(&cell.factors)) {
            if kernels.iter().all(|known| known.name != kernel.name) {
                kernels.push(kernel);
            }
        }
        let least_s = (self.block_s() * MEDIAN_REPETITIONS_MIN as f64).ceil();
        let cells = counted(self.cells.len() as u64, "cell", "cells");
        // One start more, which asks the kernel what it can run.
        let starts = |kernels: usize| kernels * (MEDIAN_REPETITIONS_MIN + 1);
        let besides = match kernels.iter().filter(|kernel| kernel.is_guest()).count() {
            0 => format!("plus {} starts of the kernels", starts(kernels.len())),
            guests => {
                // One more tests KVM.
                let guests = starts(guests) + 1;
                let most_s = least_s + guests as f64 * GUEST_START_MAX_S;
                format!(
                    "plus {guests} starts of guests: {most_s:.0} s at most with KVM, where a guest starts within \
                     {GUEST_START_MAX_S:.0} s. On an emulated processor a start takes about {EMULATED_START_S:.0} s of CPU time, \
                     and cells take many times as long"
                )
            }
        };
        Failure::misuse(
            format!(
                "the time of a plan that varies the kernel cannot be estimated: {MEDIAN_REPETITIONS_MIN} repetitions of {cells} \
                 take {least_s:.0} s, {besides}"
            ),
            format!(
                "use --repetitions {MEDIAN_REPETITIONS_MIN}, the fewest with an interval, instead of --within"
            ),
        )
    }

    /// Fits the plan to a time of which the smoke test takes `smoke_test_s`.
    fn fit_beside(&mut self, within_s: f64, smoke_test_s: f64) -> Result<(), Failure> {
        let (block_s, least) = (self.block_s(), self.ways.repetitions_least());
        if self.ways.sliced() > 0 {
            // Half of the time for each if there are both slices and fresh runs.
            let fit = ((within_s - smoke_test_s) / 2.0 / block_s.max(1e-9)) as u32;
            self.plan.repetitions = self.plan.repetitions.min(fit.max(least));
            let fresh_s = block_s * f64::from(self.plan.repetitions);
            return self.ways.fit(&mut self.plan, within_s, smoke_test_s + fresh_s);
        }
        let repetitions = ((within_s - smoke_test_s) / block_s) as u32;
        if repetitions < least {
            let needed = self.least_s().ceil();
            return Err(Failure::misuse(
                format!(
                    "{within_s:.0} s are too short: {least} repetitions of {} in fresh runs take {needed:.0} s",
                    counted(self.cells.len() as u64, "cell", "cells")
                ),
                format!("allow at least {needed:.0} s, or compare fewer cells"),
            ));
        }
        self.plan.repetitions = repetitions;
        Ok(())
    }

    /// Checks the time limit again after the smoke test, which took `smoke_test_s`, with the times until servers were ready.
    ///
    /// # Errors
    /// If it is too short for a decision, with one that is long enough.
    pub(super) fn check_time(&self, ready_s: &[f64], smoke_test_s: f64) -> Result<(), Failure> {
        let Some(within_s) = self.within_s else { return Ok(()) };
        let start_s = |cell: usize| {
            let warm_up_s = self.cells[cell].rises.map_or(0.0, |settling| settling.at_least_s);
            (ready_s[cell] - OVERHEAD_S).max(0.0) + warm_up_s
        };
        let of = |measure: Measure| {
            let cells = 0..self.cells.len();
            cells.filter(move |&cell| self.ways.cells[cell].0 == measure)
        };
        let fresh_s: f64 = of(Measure::Fresh).map(start_s).sum();
        let sliced_s: f64 = of(Measure::Slices).chain(self.ways.controls.iter().copied()).map(start_s).sum();
        let slowest = (0..self.cells.len()).max_by(|a, b| start_s(*a).total_cmp(&start_s(*b)));
        let Some((slowest, slowest_s)) = slowest.map(|cell| (cell, start_s(cell))) else { return Ok(()) };
        let ways = Ways { slow_starts_s: self.ways.slow_starts_s.max(sliced_s), ..self.ways.clone() };
        let blocks_s = (self.block_s() + fresh_s) * f64::from(ways.repetitions_least());
        let sliced_s = if ways.sliced() > 0 { ways.least_s(&self.plan) } else { 0.0 };
        let needed_s = smoke_test_s + blocks_s + sliced_s;
        if slowest_s == 0.0 || needed_s <= within_s * (1.0 + OVERRUN_MAX) {
            return Ok(());
        }
        Err(Failure::misuse(
            format!(
                "{within_s:.0} s are too short: {} takes {:.1} s until it is ready and warm, and each repetition starts it again",
                self.cells[slowest].label(),
                slowest_s + OVERHEAD_S
            ),
            format!(
                "allow at least {:.0} s, or leave that server out",
                (needed_s / (1.0 - LOOKS_SHARE)).ceil()
            ),
        ))
    }
}

/// Estimated time of the smoke test, seconds.
fn smoke_test_s(cells: &[Cell]) -> f64 {
    cells.iter().filter(|cell| cell.is_timed()).map(|cell| MOMENT_S + OVERHEAD_S + slow_start_s(cell)).sum()
}

/// Estimated time of a repetition, seconds.
pub(super) fn nominal_s(plan: &Plan, cell: &Cell) -> f64 {
    let load_s = if cell.is_timed() { plan.warmup_s + plan.duration_s } else { plan.untimed_s };
    let overhead_s = if cell.server == CellServer::None { ALONE_OVERHEAD_S } else { OVERHEAD_S };
    // Each kind is recorded for a second.
    load_s + plan.profile.len() as f64 + overhead_s + slow_start_s(cell)
}
