//! Options of `pitot run` that say how much is measured, in place of what the plan says.

use std::time::Duration;

use clap::Args;
use pitot_lab::Prepared;
use pitot_meter::Nanos;
use pitot_plan::{Measure, Plan};
use pitot_results::Failure;

/// The time of a run with conditions.
const WITHIN_GATES: Nanos = Nanos::from_secs(60);

/// How much is measured.
#[derive(Debug, Default, Args)]
pub(crate) struct Amount {
    /// Repetitions of each cell, or generations of those that are measured in slices, instead of the plan's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["within", "until_decided"])]
    pub(super) repetitions: Option<u32>,
    /// Fit the generations and slices of the plan to this time, or the repetitions of fresh runs. [default: with --fail-if 1m]
    #[arg(long, value_name = "TIME", value_parser = pitot_meter::units::duration, conflicts_with = "until_decided")]
    within: Option<Nanos>,
    /// Add generations until every comparison of the plan's metric is decided: different, or equal within the tolerance. The test
    /// is valid under repeated looks.
    #[arg(long)]
    pub(super) until_decided: bool,
    /// With --until-decided: stop after this time in any case.
    #[arg(long, value_name = "TIME", value_parser = pitot_meter::units::duration, default_value = "10m", requires = "until_decided")]
    at_most: Nanos,
    /// The time is a share of a longer one: a decision counts more.
    #[arg(skip)]
    is_share: bool,
    /// It ends when it is decided, without a condition too.
    #[arg(skip)]
    is_watched: bool,
}

impl Amount {
    /// That ends when it is decided, and after this time in any case.
    pub(super) fn decided_within(time: Nanos) -> Amount {
        Amount { within: Some(time), is_watched: true, ..Amount::default() }
    }

    /// That fits into so many seconds, a share of a longer time, unless a decision takes more.
    pub(super) fn share(seconds: f64) -> Amount {
        Amount { within: Some(Nanos((seconds * 1e9) as u64)), is_share: true, ..Amount::default() }
    }

    /// The time that was given, seconds.
    pub(super) fn within_s(&self) -> Option<f64> {
        self.within.map(Nanos::as_secs_f64)
    }

    /// Changes what the plan says.
    ///
    /// # Errors
    /// If the plan is not measured in slices and the option is for slices.
    pub(super) fn change(&self, plan: &mut Plan, has_gates: bool) -> Result<(), Failure> {
        if self.repetitions.is_some() || self.within.is_some() {
            // The number of generations is given now.
            plan.until_decided_s = None;
        }
        if let Some(repetitions) = self.repetitions {
            plan.repetitions = repetitions;
            plan.generations = Some(repetitions);
        }
        if self.until_decided {
            if plan.measure == Measure::Fresh || plan.is_in_guests() {
                return Err(Failure::misuse(
                    format!("the plan `{}` is measured in fresh runs, whose number is fixed", plan.name),
                    "omit --until-decided; plans that do not vary the kernel can have measure = \"slices\"",
                ));
            }
            plan.until_decided_s = Some(Duration::from_nanos(self.at_most.0).as_secs_f64());
        }
        if let Some(within) = self.within_gates(plan, has_gates) {
            plan.until_decided_s = Some(within.as_secs_f64());
        }
        Ok(())
    }

    /// The time within which a plan measured in slices goes on until the conditions on it are decided; none if it does not.
    fn within_gates(&self, plan: &Plan, has_gates: bool) -> Option<Nanos> {
        let is_sliced = plan.measure == Measure::Slices && !plan.is_in_guests();
        let is_watched =
            (self.is_watched || has_gates) && is_sliced && self.repetitions.is_none() && !self.until_decided;
        is_watched.then(|| self.within.unwrap_or(WITHIN_GATES))
    }

    /// Fits a plan that is ready to the time that was given.
    ///
    /// # Errors
    /// If the time is too short, or not known before.
    pub(super) fn fit(&self, prepared: &mut Prepared, has_gates: bool) -> Result<(), Failure> {
        let within = self.within.or_else(|| self.within_gates(&prepared.plan, has_gates));
        prepared.decides_first = self.is_share;
        within.map_or(Ok(()), |within| prepared.keep_within(within.as_secs_f64()))
    }
}
