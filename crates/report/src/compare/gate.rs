//! Gates for continuous integration: `throughput < -5%`.
//!
//! The grammar is `METRIC < CHANGE` or `METRIC > CHANGE`, where METRIC is a metric's name or title (`throughput`,
//! `cpu-per-request`, `p99`, `memory` ...) and CHANGE is how far the second run may be from the first: `-5%`, `+10%`.
//!
//! A gate must not fire on noise, and must not pass for lack of data. So it is **met** by a cell if a difference was
//! declared there (significant after correction over all cells, and beyond the tolerance) *and* the whole interval of the
//! change lies beyond the gate's. It is met as well by a cell that failed in the second run only. It is **passed** if the
//! whole interval of every cell lies on the other side. Everything else is **undecided**, which is neither: an interval
//! that holds the limit, a cell that was disturbed in either run, too few repetitions, nothing to compare.

use super::comparison::RunComparison;
use crate::phrase::times;
use crate::text::s;
use pitot_lab::statistics::{Comparison, Decision, Interval};
use pitot_lab::{METRICS, Metric, VerdictKind, metric};
use pitot_results::Failure;
use std::fmt;
use std::str::FromStr;

/// More cells than this are counted in a sentence.
const LISTED_MAX: usize = 4;
/// A limit that takes more repetitions than so many times those of the runs is too close to be decided by more of them.
const MORE_REPETITIONS_MAX: f64 = 10.0;
/// Verdicts of cells whose figures do not describe their server: an interval over them says nothing either.
const DISTURBED: [VerdictKind; 3] = [VerdictKind::Noisy, VerdictKind::RateMissed, VerdictKind::NetworkBound];

/// A bound on the change of one metric.
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    metric: &'static Metric,
    above: bool,
    ratio: f64,
}

/// How a gate came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// Every cell is on the right side of the limit, and its whole interval with it.
    Passed,
    /// Some cells are: a sentence for each.
    Met(Vec<String>),
    /// Some cells cannot be decided: a sentence for each reason.
    Undecided(Vec<String>),
}

/// What is wrong with a gate's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It has another form.
    #[error("{0:?} is not a condition")]
    Form(String),
    /// The metric has another name today: the old one and the new one.
    #[error("`{0}` is now called `{1}`")]
    Renamed(String, &'static str),
    /// The metric does not exist.
    #[error("{0:?} is not a metric")]
    Metric(String),
    /// The change is not a percentage.
    #[error("{0:?} is not a change")]
    Change(String),
    /// The bound lies on the other side of no change: it would be met by an unchanged server.
    #[error("{0:?} is met even if nothing changes")]
    Always(String),
}

impl From<GateError> for Failure {
    fn from(error: GateError) -> Failure {
        let cure = match &error {
            GateError::Form(_) => "write METRIC < -5% or METRIC > +5%, such as 'throughput < -5%'".into(),
            GateError::Renamed(_, new) => format!("write {new}"),
            GateError::Metric(_) => format!("use one of: {}", names()),
            GateError::Change(_) => "write a signed percentage, such as -5% or +10%".into(),
            GateError::Always(_) => "write METRIC < -5% for a fall, METRIC > +5% for a rise".to_owned(),
        };
        Failure::misuse(error.to_string(), cure)
    }
}

fn names() -> String {
    METRICS.iter().map(|m| m.name).collect::<Vec<_>>().join(", ")
}

/// The metric that a user means: by its name, `cpu_per_request` being `cpu-per-request`, or by its title, `p99`.
fn find(name: &str) -> Option<&'static Metric> {
    metric::find(&name.replace('_', "-")).or_else(|| METRICS.iter().find(|m| m.title == name))
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Gate, GateError> {
        let sign = text.find(['<', '>']).ok_or_else(|| GateError::Form(text.into()))?;
        let above = text[sign..].starts_with('>');
        let (name, change) = (text[..sign].trim(), text[sign + 1..].trim());
        let unknown = || match metric::new_name(name) {
            Some(new) => GateError::Renamed(name.into(), new),
            None => GateError::Metric(name.into()),
        };
        let metric = find(name).ok_or_else(unknown)?;
        let share = change
            .strip_suffix('%')
            .and_then(|number| number.trim().trim_start_matches('+').parse::<f64>().ok())
            .filter(|percent| percent.is_finite() && *percent > -100.0)
            .ok_or_else(|| GateError::Change(change.into()))?;
        if (above && share < 0.0) || (!above && share > 0.0) {
            return Err(GateError::Always(text.into()));
        }
        Ok(Gate { text: text.trim().to_owned(), metric, above, ratio: 1.0 + share / 100.0 })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Gate {
    /// The metric that it bounds.
    pub fn metric(&self) -> &'static Metric {
        self.metric
    }

    /// Whether the comparison meets it.
    pub fn judge(&self, comparison: &RunComparison<'_>) -> GateOutcome {
        let mut met: Vec<String> = comparison
            .pairs
            .iter()
            .filter(|p| p.verdict_b == VerdictKind::Failed && p.verdict_a != VerdictKind::Failed)
            .map(|p| format!("{} failed in the second run only", p.label))
            .collect();
        let table = comparison.metrics.iter().find(|t| t.metric.name == self.metric.name);
        let rows = table.map_or(&[][..], |t| &t.rows);
        let mut compared = 0;
        let mut undecided = Vec::new();
        let mut too_few = None;
        for (pair, row) in comparison.pairs.iter().zip(rows) {
            let Some(c) = &row.comparison else { continue };
            compared += 1;
            let disturbed =
                DISTURBED.into_iter().find(|kind| [pair.verdict_a, pair.verdict_b].contains(kind));
            match (c.decision, c.interval) {
                (Decision::TooFewRepetitions { needed }, _) => too_few = Some((c.repetitions, needed)),
                _ if disturbed.is_some() => {
                    let verdict = disturbed.map_or("", VerdictKind::name);
                    undecided.push(format!("{} was {verdict}: measure it again", pair.label));
                }
                (_, Some(interval)) if self.lies_within(interval) => {}
                (Decision::Higher | Decision::Lower, Some(interval)) if self.lies_beyond(interval) => {
                    met.push(format!("{}: {} the value of the first run", pair.label, times(c)));
                }
                _ => undecided.push(format!("{}: {}", pair.label, self.why_undecided(c))),
            }
        }
        if let Some((have, needed)) = too_few {
            let cells = comparison.pairs.len();
            undecided.push(format!(
                "{have} repetition{} {} too few to show a difference in {cells} cell{}: run with --repetitions {needed}",
                s(have),
                if have == 1 { "is" } else { "are" },
                s(cells)
            ));
        }
        if compared == 0 {
            undecided.push(format!("no cell has a value of {} in both runs", self.metric.name));
        }
        if !met.is_empty() {
            GateOutcome::Met(met)
        } else if !undecided.is_empty() {
            GateOutcome::Undecided(undecided)
        } else {
            GateOutcome::Passed
        }
    }

    /// The change is beyond the limit wherever in the interval it is.
    fn lies_beyond(&self, interval: Interval) -> bool {
        if self.above { interval.low > self.ratio } else { interval.high < self.ratio }
    }

    /// The change is not beyond the limit wherever in the interval it is.
    fn lies_within(&self, interval: Interval) -> bool {
        if self.above { interval.high <= self.ratio } else { interval.low >= self.ratio }
    }

    /// Why a comparison neither meets nor passes the gate, and what would decide it.
    fn why_undecided(&self, c: &Comparison) -> String {
        let Some(interval) = c.interval.filter(|interval| !self.lies_beyond(*interval)) else {
            return format!("{} is beyond the limit, but not significantly after correction", times(c));
        };
        // The end of the interval that the limit lies towards; widths shrink with the square root of the repetitions.
        let end = if c.ratio > self.ratio { interval.low } else { interval.high };
        let (width, distance) = ((end / c.ratio).ln().abs(), (self.ratio / c.ratio).ln().abs());
        let more = (width / distance).powi(2) * 1.1;
        let cure = if more <= MORE_REPETITIONS_MAX {
            let needed = (c.repetitions as f64 * more).ceil();
            format!("about {needed} repetitions would decide it")
        } else {
            "it is too close to the limit for more repetitions to decide it".to_owned()
        };
        format!("the interval of {} holds the limit; {cure}", times(c))
    }
}

impl GateOutcome {
    /// The outcome in a sentence.
    pub fn sentence(&self, gate: &Gate) -> String {
        match self {
            GateOutcome::Passed => format!("gate '{gate}': passed"),
            GateOutcome::Met(cells) => format!("gate '{gate}': met by {}", listed(cells)),
            GateOutcome::Undecided(reasons) => format!("gate '{gate}': undecided, {}", listed(reasons)),
        }
    }
}

fn listed(cells: &[String]) -> String {
    let listed = &cells[..cells.len().min(LISTED_MAX)];
    let more = cells.len() - listed.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", listed.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_a_metric_a_side_and_a_change() {
        for (text, metric, above, ratio) in [
            ("throughput < -5%", "throughput", false, 0.95),
            ("p99>+10%", "latency-p99", true, 1.1),
            ("p99.9 > 10%", "latency-p99.9", true, 1.1),
            ("cpu_per_request > +2.5 %", "cpu-per-request", true, 1.025),
            ("memory > 0%", "memory", true, 1.0),
        ] {
            let gate: Gate = text.parse().unwrap();
            assert_eq!((gate.metric.name, gate.above), (metric, above), "{text}");
            assert!((gate.ratio - ratio).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn a_wrong_condition_is_refused_with_its_cure() {
        for (text, cure) in [
            ("throughput", "METRIC < -5%"),
            ("speed < -5%", "throughput, cpu-per-request"),
            ("switches-per-request < -5%", "write context-switches-per-request"),
            ("throughput < -5", "signed percentage"),
            ("throughput < x%", "signed percentage"),
            ("throughput < -100%", "signed percentage"),
            ("throughput > -5%", "for a fall"),
            ("p99 < 5%", "for a fall"),
        ] {
            let failure = Failure::from(text.parse::<Gate>().unwrap_err());
            assert!(failure.cure.contains(cure), "{text}: {failure:?}");
            assert!(!failure.what.contains('\n'), "{text}: {failure:?}");
        }
    }
}
