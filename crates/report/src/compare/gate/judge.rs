//! Whether the cells of a comparison meet a gate.

use super::condition::{Bound, Condition, Gate};
use super::outcome::{CellOutcome, GateCell, whole};
use crate::amount::option_for;
use crate::analysis::{Analysis, are_unlike, values};
use crate::compare::LoadComparison;
use crate::compare::comparison::{CellPair, MetricRow, RunComparison, estimate};
use crate::control::failed_controls;
use crate::number::{figure_with_spread, percent};
use crate::outcome::GateOutcome;
use crate::phrase::{shown_to_exceed, times};
use pitot_plan::Replies;
use pitot_record::metric::of_plan;
use pitot_record::{CellRecord, Metric};
use pitot_results::VerdictKind;
use pitot_stats::{ALPHA, Comparison, Decision, Estimate, Interval, MEDIAN_REPETITIONS_MIN, Spread};

/// If deciding takes more than this many times the repetitions of the runs, more repetitions are no advice.
const MORE_REPETITIONS_MAX: f64 = 10.0;
/// Verdicts of cells whose figures and intervals do not describe their server.
const DISTURBED: [VerdictKind; 2] = [VerdictKind::RateMissed, VerdictKind::NetworkBound];

const NOISY: &str = "it was noisy: measure it again";

const UNTRUSTED: &str =
    "was measured in a run whose control failed, so the run finds differences where there are none";

impl Gate {
    /// Whether the comparison meets it.
    pub fn judge(&self, comparison: &RunComparison<'_>) -> GateOutcome {
        let nothing = match self.metric() {
            Some(metric) => format!("no cell has a value of {}", metric.name),
            None => "there is no cell to judge".to_owned(),
        };
        whole(&self.cells(comparison), nothing, &|needed| option_for(comparison.b, needed))
    }

    /// Whether the second of two single loads meets it. Without intervals, no change and no limit can be decided.
    pub fn judge_loads(&self, loads: &LoadComparison<'_>) -> GateOutcome {
        let verdict = loads.verdict();
        let outcome = match self.condition {
            Condition::Verdict(kind) if kind == verdict => CellOutcome::Met(format!("was {}", kind.name())),
            Condition::Verdict(_) => CellOutcome::Passed,
            _ if verdict == VerdictKind::Failed => CellOutcome::Met("failed".into()),
            Condition::Change(..) => CellOutcome::Undecided(
                "has no interval, since each side is a single load: measure both servers in one plan".into(),
            ),
            Condition::Limit(..) => CellOutcome::Undecided(
                "has no interval, since it is a single load: use pitot load --fail-if to judge it".into(),
            ),
            Condition::Spread(_) => CellOutcome::TooFewRepetitions { have: 1, needed: 2 },
        };
        let cell = GateCell { label: loads.label(), outcome };
        whole(&[cell], String::new(), &|needed| format!("--repetitions {needed}"))
    }

    /// The outcome of each cell that the gate applies to: cells of both runs, cells missing from the second run, and cells that
    /// only the second run has, if the gate needs nothing else.
    pub fn cells(&self, comparison: &RunComparison<'_>) -> Vec<GateCell> {
        let table = |metric: &Metric| comparison.metrics.iter().find(|t| t.metric.name == metric.name);
        let works = [comparison.a, comparison.b].map(Analysis::of);
        let untrusted = works.iter().any(|work| !failed_controls(work).is_empty());
        let pairs = comparison.pairs.iter().enumerate().filter_map(|(i, pair)| {
            let outcome = match self.condition {
                // The reference has no ratio to itself.
                Condition::Change(..) if pair.is_reference && pair.is_sound() => return None,
                Condition::Change(..) if untrusted && pair.is_sound() => {
                    CellOutcome::Undecided(UNTRUSTED.to_owned())
                }
                Condition::Change(metric, bound) => {
                    let outcome = {
                        let table = table(metric);
                        let between = table.and_then(|t| t.between).map_or(0.0, |b| b.bound(ALPHA));
                        changed(comparison, pair, table.map(|t| &t.rows[i]), bound, between)?
                    };
                    let other_exit = works[1].cells.iter().find(|c| c.record.id == pair.b.id);
                    match other_exit.and_then(|cell| cell.other_exit()) {
                        Some(why) => CellOutcome::Met(why),
                        None => of_same_work(comparison, pair, &works, outcome),
                    }
                }
                _ => self.alone(comparison, pair.b, Some(pair.a))?,
            };
            Some(GateCell { label: pair.label.clone(), outcome })
        });
        let missing = comparison.only_a.iter().map(|label| GateCell {
            label: label.clone(),
            outcome: CellOutcome::Undecided("is missing from the second run".into()),
        });
        let is_new = |cell: &&CellRecord| comparison.only_b.contains(&cell.label());
        let new = comparison.b.cells.iter().filter(is_new).filter_map(|cell| {
            Some(GateCell { label: cell.label(), outcome: self.alone(comparison, cell, None)? })
        });
        pairs.chain(missing).chain(new).collect()
    }

    /// The outcome of a cell of the second run alone; none if the gate does not apply to it.
    fn alone(
        &self,
        c: &RunComparison<'_>,
        cell: &CellRecord,
        before: Option<&CellRecord>,
    ) -> Option<CellOutcome> {
        let verdict = cell.verdict().kind;
        let failed = verdict == VerdictKind::Failed;
        match self.condition {
            Condition::Change(..) => None,
            Condition::Verdict(kind) if kind == verdict => {
                Some(CellOutcome::Met(format!("was {}", kind.name())))
            }
            Condition::Verdict(_) => Some(CellOutcome::Passed),
            _ if failed => Some(CellOutcome::Met(format!("failed{}", c.in_b()))),
            Condition::Limit(metric, bound) => match estimate(c.b, cell, metric) {
                Some(e) => Some(limited(metric, bound, &e, verdict)),
                None => before
                    .and_then(|before| estimate(c.a, before, metric))
                    .map(|_| CellOutcome::Undecided(format!("has no value of {}{}", metric.name, c.in_b()))),
            },
            Condition::Spread(share) => Some(match Spread::of(&values(cell, of_plan(&c.b.plan))) {
                None => CellOutcome::TooFewRepetitions { have: cell.repetitions.len(), needed: 2 },
                Some(spread) if spread.relative > share => {
                    CellOutcome::Met(format!("varies by {}", percent(spread.relative)))
                }
                Some(_) => CellOutcome::Passed,
            }),
        }
    }
}

/// A value of the second run against a limit.
fn limited(metric: &Metric, bound: Bound, e: &Estimate, verdict: VerdictKind) -> CellOutcome {
    if DISTURBED.contains(&verdict) {
        return disturbed(verdict);
    }
    let shown = figure_with_spread(metric, e);
    match e.interval {
        None => CellOutcome::TooFewRepetitions { have: e.repetitions, needed: MEDIAN_REPETITIONS_MIN },
        Some(interval) if bound.is_met_by(interval) => CellOutcome::Met(format!("has {shown}")),
        Some(interval) if bound.is_kept_by(interval) => CellOutcome::Passed,
        Some(_) => {
            let fix = if verdict == VerdictKind::Noisy { NOISY } else { "more repetitions narrow it" };
            CellOutcome::Undecided(format!("has {shown}, an interval that includes the limit ({fix})"))
        }
    }
}

/// A change against a bound; none if neither run has a value. `between`: how far apart equal servers are, as a logarithm.
fn changed(
    runs: &RunComparison<'_>,
    pair: &CellPair<'_>,
    row: Option<&MetricRow>,
    bound: Bound,
    between: f64,
) -> Option<CellOutcome> {
    let undecided = |why: &str| Some(CellOutcome::Undecided(why.to_owned()));
    let name_of_a = runs.name_of_a();
    let is_failed = |verdict: VerdictKind| verdict == VerdictKind::Failed;
    match (is_failed(pair.verdict_a), is_failed(pair.verdict_b)) {
        (false, true) if runs.is_within => return Some(CellOutcome::Met("failed".into())),
        (false, true) => return Some(CellOutcome::Met("failed in the second run only".into())),
        (true, _) if runs.is_within => {
            return undecided(&format!("has nothing to compare with: {name_of_a} failed"));
        }
        (true, true) => return undecided("failed in both runs"),
        (true, false) => return undecided("failed in the first run: there is nothing to compare with"),
        (false, false) => {}
    }
    let row = row?;
    let Some(c) = &row.comparison else {
        return match (&row.a, &row.b) {
            (None, None) => None,
            (Some(a), Some(b)) if a.max == 0.0 && b.max == 0.0 => Some(CellOutcome::Passed),
            (Some(_), Some(_)) => {
                undecided("has no ratio, since a value is 0: use a limit instead of a change")
            }
            (Some(_), None) => undecided(&format!("has no value{}", runs.in_b())),
            (None, Some(_)) if runs.is_within => {
                undecided(&format!("has no value of {name_of_a} to compare with"))
            }
            (None, Some(_)) => undecided("has no value in the first run"),
        };
    };
    let verdicts = [pair.verdict_a, pair.verdict_b];
    if let Decision::TooFewRepetitions { needed } = c.decision {
        return Some(CellOutcome::TooFewRepetitions { have: c.repetitions, needed });
    }
    if c.decision == Decision::NoReference {
        return undecided(
            "has no interval, since the two runs share no reference: measure both servers in one plan",
        );
    }
    if let Some(verdict) = DISTURBED.into_iter().find(|kind| verdicts.contains(kind)) {
        return Some(disturbed(verdict));
    }
    Some(match c.interval {
        Some(interval) if bound.is_kept_by(interval) => CellOutcome::Passed,
        Some(interval) if c.decision.is_difference() && bound.is_met_by(interval) => {
            CellOutcome::Met(format!("has {} the value of {name_of_a}", times(c)))
        }
        _ => {
            let is_noisy = verdicts.contains(&VerdictKind::Noisy);
            CellOutcome::Undecided(why_undecided(runs, c, bound, between, is_noisy))
        }
    })
}

/// The outcome, or undecided if the cells of a pair did different work: with errors or smaller replies no cell passes, and a cell that
/// was still getting faster has no final figure.
fn of_same_work(
    runs: &RunComparison<'_>,
    pair: &CellPair<'_>,
    [in_a, in_b]: &[Analysis<'_>; 2],
    outcome: CellOutcome,
) -> CellOutcome {
    let of = |analysis: &Analysis<'_>, record: &CellRecord| {
        let cell = analysis.cells.iter().find(|cell| cell.record.id == record.id)?;
        match outcome {
            CellOutcome::Met(_) => cell.still_rises(),
            CellOutcome::Passed => cell.other_work().or_else(|| cell.still_rises()),
            // Nothing that could still be measured would let it pass.
            CellOutcome::Undecided(_) | CellOutcome::TooFewRepetitions { .. } => cell.other_work(),
        }
    };
    let is_undecided =
        |why: String| CellOutcome::Undecided(format!("{why}, so its change says nothing about speed"));
    let own = of(in_b, pair.b).map(|why| format!("{why}{}", runs.in_b()));
    let base = || of(in_a, pair.a).map(|why| format!("is compared with {}, which {why}", runs.name_of_a()));
    let between = || {
        (outcome == CellOutcome::Passed && answer_otherwise(runs, pair))
            .then(|| "answers with different content than in the first run".to_owned())
    };
    own.or_else(base).or_else(between).map_or_else(|| outcome.clone(), is_undecided)
}

/// Whether a cell's replies differ in the second run.
fn answer_otherwise(runs: &RunComparison<'_>, pair: &CellPair<'_>) -> bool {
    let may_differ = [runs.a, runs.b].iter().any(|run| run.plan.replies == Replies::MayDiffer);
    !runs.is_within && !may_differ && are_unlike(pair.a, pair.b)
}

fn disturbed(verdict: VerdictKind) -> CellOutcome {
    CellOutcome::Undecided(format!("was {}: measure it again", verdict.name()))
}

impl Bound {
    /// The whole interval is beyond the bound.
    fn is_met_by(self, interval: Interval) -> bool {
        if self.above { interval.low > self.value } else { interval.high < self.value }
    }

    /// No part of the interval is beyond the bound.
    fn is_kept_by(self, interval: Interval) -> bool {
        if self.above { interval.high <= self.value } else { interval.low >= self.value }
    }
}

/// Why a change neither meets nor passes the gate, and what would decide it.
fn why_undecided(
    runs: &RunComparison<'_>,
    c: &Comparison,
    bound: Bound,
    between: f64,
    is_noisy: bool,
) -> String {
    let name_of_a = runs.name_of_a();
    let Some(interval) = c.interval.filter(|interval| !bound.is_met_by(*interval)) else {
        return format!(
            "has {} the value of {name_of_a}, which is not {} after correction for the number of cells",
            times(c),
            shown_to_exceed(runs.tolerance)
        );
    };
    // The end of the interval that the limit lies towards; widths shrink with the square root of the repetitions.
    let end = if c.ratio > bound.value { interval.low } else { interval.high };
    let (width, distance) = ((end / c.ratio).ln().abs(), (bound.value / c.ratio).ln().abs());
    // More repetitions do not reduce what differs between runs.
    let (own, room) = ((width - between).max(0.0), distance - between);
    let more = (own / room).powi(2) * 1.1;
    let fix = if between > 0.0 && room <= 0.0 {
        "the runs differ too much for more repetitions to decide it: measure both servers in one run"
            .to_owned()
    } else if is_noisy {
        NOISY.to_owned()
    } else if more <= MORE_REPETITIONS_MAX {
        let needed = (c.repetitions as f64 * more).ceil();
        match runs.is_within && runs.b.plan.until_decided_s.is_some() {
            true => {
                format!("about {needed} generations would decide it: {}", option_for(runs.b, needed as usize))
            }
            false => format!("about {needed} repetitions would decide it"),
        }
    } else {
        "it is too close to the limit for more repetitions to decide it".to_owned()
    };
    format!("has {} the value of {name_of_a}, an interval that includes the limit ({fix})", times(c))
}
