//! Whether the lab finds what is there and nothing else: A/A comparisons and power, judged as in any other run.

use crate::statistics::{Samples, judge};
use crate::{CellRecord, REPLICATE_FACTOR, Run, metric};

/// A/A comparisons that may declare a difference, of forty: one of twenty is what 95% certainty allows.
const FALSE_ALARM_SHARE_MAX: f64 = 2.0 / 40.0;
/// Comparisons with the slowed server that must declare one, of ten.
const FOUND_SHARE_MIN: f64 = 9.0 / 10.0;

/// What the suite `self-check` came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfCheck {
    /// Comparisons of a server with itself.
    pub same: usize,
    /// How many of them declared a difference.
    pub same_declared: usize,
    /// Comparisons with a server that is slowed.
    pub slowed: usize,
    /// How many of them declared that it is.
    pub slowed_declared: usize,
    /// The ratios of the slowed server, one for each comparison.
    pub slowed_ratios: Vec<f64>,
}

impl SelfCheck {
    /// Judges a run of the suite: each comparison for itself, as the run of a single pair would be.
    ///
    /// # Errors
    /// A sentence if the run has other servers than the suite.
    pub fn of(run: &Run) -> Result<SelfCheck, String> {
        let metric =
            metric::find(&run.plan.metric).ok_or_else(|| format!("unknown metric `{}`", run.plan.metric))?;
        let mut check = SelfCheck::default();
        let is = |cell: &CellRecord, server: &str| {
            cell.level(crate::SERVER_FACTOR).is_some_and(|l| l.level == server)
        };
        for plain in run.cells.iter().filter(|c| is(c, "plain")) {
            let replicate = plain.level(REPLICATE_FACTOR).map(|l| &l.level);
            let beside = |server: &str| {
                run.cells
                    .iter()
                    .find(|c| is(c, server) && c.level(REPLICATE_FACTOR).map(|l| &l.level) == replicate)
            };
            let compare = |cell: &CellRecord| {
                let samples = Samples::by_block(&cell.figures(metric), &plain.figures(metric));
                judge(&[samples], run.plan.tolerance).into_iter().next().flatten()
            };
            if let Some(comparison) = beside("again").and_then(compare) {
                check.same += 1;
                check.same_declared += usize::from(comparison.decision.is_difference());
            }
            if let Some(comparison) = beside("slowed").and_then(compare) {
                check.slowed += 1;
                check.slowed_declared +=
                    usize::from(comparison.decision.is_difference() && comparison.ratio > 1.0);
                check.slowed_ratios.push(comparison.ratio);
            }
        }
        if check.same == 0 || check.slowed == 0 {
            return Err(format!(
                "the run of `{}` has nothing to check: it is not the suite `self-check`",
                run.plan.name
            ));
        }
        Ok(check)
    }

    /// True if the lab passes.
    pub fn passes(&self) -> bool {
        self.same_declared as f64 <= self.same as f64 * FALSE_ALARM_SHARE_MAX
            && self.slowed_declared as f64 >= self.slowed as f64 * FOUND_SHARE_MIN
    }
}

impl std::fmt::Display for SelfCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut ratios = self.slowed_ratios.clone();
        ratios.sort_by(f64::total_cmp);
        let slower = (crate::statistics::median(&ratios).unwrap_or(1.0) - 1.0) * 100.0;
        writeln!(
            f,
            "A/A: {} of {} comparisons of a server with itself declare a difference (at most {} may)",
            self.same_declared,
            self.same,
            (self.same as f64 * FALSE_ALARM_SHARE_MAX) as usize
        )?;
        write!(
            f,
            "power: {} of {} comparisons find the server that is slower by {slower:.1}% (at least {} must)",
            self.slowed_declared,
            self.slowed,
            (self.slowed as f64 * FOUND_SHARE_MIN).ceil() as usize
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_those_that_are_promised() {
        let check = |same_declared, slowed_declared| SelfCheck {
            same: 40,
            same_declared,
            slowed: 10,
            slowed_declared,
            slowed_ratios: vec![1.05],
        };
        assert!(check(2, 9).passes());
        assert!(!check(3, 10).passes());
        assert!(!check(0, 8).passes());
        let text = check(1, 9).to_string();
        assert!(
            text.contains("1 of 40") && text.contains("at most 2") && text.contains("slower by 5.0%"),
            "{text}"
        );
        assert!(text.contains("9 of 10") && text.contains("at least 9"), "{text}");
    }
}
