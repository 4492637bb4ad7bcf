//! The comparisons of a run in one metric, each made once.
//!
//! Two cells may be compared for several questions: a server against the baseline, the best, or its own peak. Each question is
//! a family with its own correction, and a pair belongs to the first family that has it. So a pair has one test, one ratio,
//! one interval and one decision in all parts of a report.

use super::claimed::Pair;
use super::samples::within_run;
use pitot_record::{CellRecord, Metric, Run};
use pitot_stats::{Comparison, Decision, Interval, Samples, judge};

#[derive(Debug)]
pub(super) struct Comparisons {
    made: Vec<Made>,
    family_size_max: usize,
}

#[derive(Debug)]
struct Made {
    candidate: i64,
    baseline: i64,
    comparison: Option<Comparison>,
}

impl Comparisons {
    /// Makes the comparisons of `families`, in their order. A pair that was made before, either way round, is left out.
    pub(super) fn of(families: &[Vec<Pair<'_>>], metric: &Metric, run: &Run) -> Comparisons {
        let mut all = Comparisons { made: Vec::new(), family_size_max: 0 };
        for family in families {
            let mut new: Vec<Pair<'_>> = Vec::new();
            for &(candidate, baseline) in family {
                let among_new = new
                    .iter()
                    .any(|(c, b)| [(c.id, b.id), (b.id, c.id)].contains(&(candidate.id, baseline.id)));
                if candidate.id != baseline.id && !among_new && all.position(candidate, baseline).is_none() {
                    new.push((candidate, baseline));
                }
            }
            let samples: Vec<Samples> = new.iter().map(|(c, b)| within_run(run, c, b, metric)).collect();
            let judged = judge(&samples, run.plan.tolerance);
            all.family_size_max = all.family_size_max.max(judged.iter().flatten().count());
            all.made.extend(new.iter().zip(judged).map(|((candidate, baseline), comparison)| Made {
                candidate: candidate.id,
                baseline: baseline.id,
                comparison,
            }));
        }
        all
    }

    /// The comparison of two cells; none if no family asked for it, or one of them has no positive figure.
    pub(super) fn between(&self, candidate: &CellRecord, baseline: &CellRecord) -> Option<Comparison> {
        let (index, is_turned) = self.position(candidate, baseline)?;
        let comparison = self.made[index].comparison.as_ref()?;
        Some(if is_turned { turned(comparison) } else { comparison.clone() })
    }

    pub(super) fn family_size_max(&self) -> usize {
        self.family_size_max
    }

    /// Where a pair is, and whether it was made the other way round.
    fn position(&self, candidate: &CellRecord, baseline: &CellRecord) -> Option<(usize, bool)> {
        let of = |c: i64, b: i64| self.made.iter().position(|m| (m.candidate, m.baseline) == (c, b));
        let straight = of(candidate.id, baseline.id).map(|index| (index, false));
        straight.or_else(|| of(baseline.id, candidate.id).map(|index| (index, true)))
    }
}

/// The comparison the other way round; the tests are symmetric.
fn turned(c: &Comparison) -> Comparison {
    Comparison {
        ratio: 1.0 / c.ratio,
        interval: c.interval.map(|i| Interval { low: 1.0 / i.high, high: 1.0 / i.low, coverage: i.coverage }),
        ratio_min: 1.0 / c.ratio_max,
        ratio_max: 1.0 / c.ratio_min,
        decision: match c.decision {
            Decision::Higher => Decision::Lower,
            Decision::Lower => Decision::Higher,
            other => other,
        },
        ..c.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_turned_round_is_the_one_that_the_test_would_make() {
        let forth: Vec<(f64, f64)> =
            (0..8).map(|i| (150.0 + f64::from(i * 7 % 5), 100.0 + f64::from(i))).collect();
        let back = forth.iter().map(|&(a, b)| (b, a)).collect();
        let one = |pairs| judge(&[Samples::Paired(pairs)], 0.02).remove(0).unwrap();
        let (turned, made) = (turned(&one(forth)), one(back));
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let (i, j) = (turned.interval.unwrap(), made.interval.unwrap());
        assert!(near(turned.ratio, made.ratio) && near(i.low, j.low) && near(i.high, j.high));
        assert!(near(turned.ratio_min, made.ratio_min) && near(turned.ratio_max, made.ratio_max));
        assert_eq!((turned.decision, turned.test), (made.decision, made.test));
    }
}
