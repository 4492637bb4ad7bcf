//! The self-check: whether the lab finds existing differences and no others, with A/A comparisons and a slowed server.

use pitot_plan::{Levels, REPLICATE_FACTOR};
use pitot_record::{CellRecord, Run, Side, metric};
use pitot_stats::judge;

/// Allowed differences in 40 A/A comparisons: 95% confidence allows one of 20.
const FALSE_ALARM_SHARE_MAX: f64 = 2.0 / 40.0;
/// Required differences in ten comparisons with the slowed server.
const FOUND_SHARE_MIN: f64 = 9.0 / 10.0;

/// The results of the suites `self-check` and `self-check-power`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelfCheck {
    /// Comparisons of a server with itself.
    pub same: usize,
    /// Those with a difference.
    pub same_declared: usize,
    /// Comparisons with the slowed server.
    pub slowed: usize,
    /// Those that found it slower.
    pub slowed_declared: usize,
    /// The ratios of the slowed server, one for each comparison.
    pub slowed_ratios: Vec<f64>,
}

impl SelfCheck {
    /// Adds a run of one of the suites; each comparison is judged alone.
    ///
    /// # Errors
    /// A sentence, if the run has other servers than the suites.
    pub fn add(&mut self, run: &Run) -> Result<(), String> {
        let metric =
            metric::find(&run.plan.metric).ok_or_else(|| format!("unknown metric `{}`", run.plan.metric))?;
        let before = self.same + self.slowed;
        let tolerance = run.plan.tolerance;
        for plain in run.cells.iter().filter(|c| server_of(c).starts_with("plain")) {
            let replicate = |cell: &CellRecord| cell.level(REPLICATE_FACTOR).map(|l| l.level.clone());
            // The control is the same server again.
            let twin = run.control_of(plain);
            for other in run.cells.iter().filter(|c| replicate(c) == replicate(plain)).chain(twin) {
                let (side, baseline) = match other.control_of {
                    Some(_) => (Side::alone(other), Side::alone(plain)),
                    None => (run.side(other), run.side(plain)),
                };
                let samples = side.samples_against(&baseline, metric, &run.plan);
                let Some(comparison) = judge(&[samples], tolerance).into_iter().next().flatten() else {
                    continue;
                };
                let is_declared = comparison.decision.is_difference();
                if server_of(other).starts_with("again") || other.control_of.is_some() {
                    self.same += 1;
                    self.same_declared += usize::from(is_declared);
                } else if server_of(other).starts_with("slowed") {
                    self.slowed += 1;
                    self.slowed_declared += usize::from(is_declared && comparison.ratio > 1.0);
                    self.slowed_ratios.push(comparison.ratio);
                }
            }
        }
        if self.same + self.slowed == before {
            return Err(format!(
                "the run of `{}` has nothing to check: it is not one of the suites `self-check` and `self-check-power`",
                run.plan.name
            ));
        }
        Ok(())
    }

    /// CPU time of the plain server per reply in a run, nanoseconds: the base of the 5%.
    pub fn plain_cpu_ns(run: &Run) -> Option<f64> {
        let cost = metric::find("cpu-per-request")?;
        let plain = Levels(vec![(pitot_plan::SERVER_FACTOR.to_owned(), vec!["plain".to_owned()])]);
        let cells = run.cells.iter().filter(|c| plain.matches(&c.factors));
        let figures: Vec<f64> = cells.flat_map(|c| c.figures(cost)).map(|(_, ns)| ns).collect();
        pitot_stats::median(&figures)
    }

    /// True if the lab passes.
    pub fn passes(&self) -> bool {
        self.same_declared as f64 <= self.same as f64 * FALSE_ALARM_SHARE_MAX
            && self.slowed_declared as f64 >= self.slowed as f64 * FOUND_SHARE_MIN
    }
}

/// The level of the factor `server`.
fn server_of(cell: &CellRecord) -> &str {
    cell.level(pitot_plan::SERVER_FACTOR).map_or("", |level| &level.level)
}

impl std::fmt::Display for SelfCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.same > 0 {
            writeln!(
                f,
                "A/A: {} of {} comparisons of a server with itself show a difference (at most {} allowed)",
                self.same_declared,
                self.same,
                (self.same as f64 * FALSE_ALARM_SHARE_MAX) as usize
            )?;
        }
        if self.slowed > 0 {
            let slower = (pitot_stats::median(&self.slowed_ratios).unwrap_or(1.0) - 1.0) * 100.0;
            writeln!(
                f,
                "power: {} of {} comparisons detect the server that is slower by {slower:.1}% (at least {} required)",
                self.slowed_declared,
                self.slowed,
                (self.slowed as f64 * FOUND_SHARE_MIN).ceil() as usize
            )?;
        }
        write!(f, "self-check: {}", if self.passes() { "passed" } else { "FAILED" })
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
        assert!(text.ends_with("self-check: passed"), "{text}");
        assert!(check(3, 9).to_string().ends_with("self-check: FAILED"));
        let half = SelfCheck { slowed: 0, slowed_declared: 0, slowed_ratios: Vec::new(), ..check(2, 0) };
        assert!(half.passes() && !half.to_string().contains("power"));
    }
}
