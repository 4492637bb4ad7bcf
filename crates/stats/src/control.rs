//! The A/A control: a second copy of the baseline, which should differ from it only by chance.
//!
//! It runs the same command as the baseline. Any difference is due to the measurement: the order, the start, the position, another
//! process. So the tolerance is zero, and the control is not in the family that Holm's method corrects: it is a question about the
//! run, not about the servers.

use crate::comparison::{Comparison, Decision, judge};
use crate::samples::Samples;
use crate::sequential::watched_p_min;
use crate::signed_rank::signed_rank_p_min;

/// The share of sound runs in which the control differs from the baseline by chance.
///
/// At 5% one sound run of twenty would be discarded. With 1% the control needs at least 8 generations. In a run until decided it
/// needs [`control_generations_needed`], or 9 if the time was over.
pub const CONTROL_ALPHA: f64 = 0.01;

/// The fewest generations with which the control of a run until decided can differ from the baseline before the time is over.
pub fn control_generations_needed() -> usize {
    needed(|count| watched_p_min(count, false))
}

/// The fewest generations whose smallest p-value suffices.
fn needed(p_min: impl Fn(usize) -> f64) -> usize {
    (1..).find(|&count| p_min(count) <= CONTROL_ALPHA).unwrap_or(usize::MAX)
}

/// Judges the control against the baseline: [`Decision::Higher`] or [`Decision::Lower`] means that the run cannot be trusted. `None`
/// without any figures.
///
/// The interval shows how different two equal servers may look in this run.
pub fn judge_control(twin: &Samples) -> Option<Comparison> {
    let mut comparison = judge(std::slice::from_ref(twin), 0.0).remove(0)?;
    let p_min = |count| match twin {
        Samples::UntilDecided(_) => watched_p_min(count, false),
        Samples::TimeOver(_) => watched_p_min(count, true),
        _ => signed_rank_p_min(count),
    };
    comparison.decision = match comparison.p_alone {
        Some(p) if p <= CONTROL_ALPHA && comparison.ratio > 1.0 => Decision::Higher,
        Some(p) if p <= CONTROL_ALPHA => Decision::Lower,
        _ if p_min(comparison.repetitions) > CONTROL_ALPHA => {
            Decision::TooFewRepetitions { needed: needed(p_min) }
        }
        _ => Decision::NoDifferenceSeen,
    };
    Some(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(ratios: Vec<f64>) -> Decision {
        judge_control(&Samples::Generations(ratios)).unwrap().decision
    }

    fn until_decided(ratios: Vec<f64>) -> Decision {
        judge_control(&Samples::UntilDecided(ratios)).unwrap().decision
    }

    #[test]
    fn a_twin_that_is_always_slower_is_told_apart_from_eight_generations_on() {
        let slower = |count: usize| (0..count).map(|i| 0.2 + 0.01 * i as f64).collect::<Vec<_>>();
        let faster = |count: usize| slower(count).into_iter().map(|x| -x).collect::<Vec<_>>();
        assert_eq!(once(slower(7)), Decision::TooFewRepetitions { needed: 8 });
        assert_eq!((once(slower(8)), once(faster(8))), (Decision::Higher, Decision::Lower));
        assert_eq!(until_decided(slower(10)), Decision::TooFewRepetitions { needed: 11 });
        assert_eq!(control_generations_needed(), 11);
        assert_eq!(
            (until_decided(slower(11)), until_decided(faster(11))),
            (Decision::Higher, Decision::Lower)
        );
        let time_over = |ratios| judge_control(&Samples::TimeOver(ratios)).unwrap().decision;
        assert_eq!(time_over(slower(8)), Decision::TooFewRepetitions { needed: 9 });
        assert_eq!(time_over(slower(9)), Decision::Higher);
    }

    #[test]
    fn what_one_run_of_twenty_shows_is_no_alarm() {
        // One of nine on the other side, and not the smallest: p = 0.03 to a single comparison.
        let ratios = vec![0.05, 0.06, 0.04, 0.07, 0.08, -0.055, 0.05, 0.09, 0.06];
        let p = judge_control(&Samples::Generations(ratios.clone())).unwrap().p_alone.unwrap();
        assert!((0.01..0.05).contains(&p), "{p}");
        assert_eq!(once(ratios.clone()), Decision::NoDifferenceSeen);
        assert_eq!(until_decided([ratios, vec![0.05; 2]].concat()), Decision::NoDifferenceSeen);
        assert_eq!(judge_control(&Samples::Generations(Vec::new())), None);
    }
}
