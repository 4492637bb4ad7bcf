//! The control: the baseline's twin, which should be told apart from it by chance only.
//!
//! The twin is the same command as the baseline, in one more arm. Whatever sets the two apart is the measurement's
//! own doing: the order, the start, the position, a neighbour. So the tolerance is zero, and the twin stands outside
//! the family that Holm corrects: it is a question about the run, not about the servers.

use super::comparison::{Comparison, Decision, judge};
use super::samples::Samples;

/// The share of sound runs in which the twin is told apart from the baseline, by construction.
///
/// At 5% one sound run of twenty would be discarded; the price of 1% is that the control needs
/// [`CONTROL_GENERATIONS_MIN`] generations before it can say anything.
pub const CONTROL_ALPHA: f64 = 0.01;

/// The fewest generations with which the control can be told apart: ceil(log2(2 / 1%)).
pub const CONTROL_GENERATIONS_MIN: usize = 8;

/// Judges the twin against the baseline: [`Decision::Higher`] or [`Decision::Lower`] means that the run cannot be
/// trusted. `None` without any figures.
///
/// What the run can be trusted *for* stands in the interval: two equal servers may look as different as that.
pub fn judge_control(twin: &Samples) -> Option<Comparison> {
    let mut comparison = judge(std::slice::from_ref(twin), 0.0).remove(0)?;
    comparison.decision = match comparison.p_alone {
        Some(p) if p <= CONTROL_ALPHA && comparison.ratio > 1.0 => Decision::Higher,
        Some(p) if p <= CONTROL_ALPHA => Decision::Lower,
        _ if comparison.repetitions < CONTROL_GENERATIONS_MIN => {
            Decision::TooFewRepetitions { needed: CONTROL_GENERATIONS_MIN }
        }
        _ => Decision::NoDifferenceSeen,
    };
    Some(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(ratios: Vec<f64>) -> Decision {
        let watched = judge_control(&Samples::UntilDecided(ratios.clone())).unwrap().decision;
        let once = judge_control(&Samples::Generations(ratios)).unwrap().decision;
        assert_eq!(watched, once);
        once
    }

    #[test]
    fn a_twin_that_is_always_slower_is_told_apart_from_eight_generations_on() {
        let slower = |count: usize| (0..count).map(|i| 0.2 + 0.01 * i as f64).collect::<Vec<_>>();
        assert_eq!(decision(slower(7)), Decision::TooFewRepetitions { needed: 8 });
        assert_eq!(decision(slower(8)), Decision::Higher);
        assert_eq!(decision(slower(8).into_iter().map(|x| -x).collect()), Decision::Lower);
    }

    #[test]
    fn what_one_run_of_twenty_shows_is_no_alarm() {
        // One of nine on the other side, and not the smallest: p = 0.03 to a single comparison.
        let ratios = vec![0.05, 0.06, 0.04, 0.07, 0.08, -0.055, 0.05, 0.09, 0.06];
        let p = judge_control(&Samples::Generations(ratios.clone())).unwrap().p_alone.unwrap();
        assert!((0.01..0.05).contains(&p), "{p}");
        assert_eq!(decision(ratios), Decision::NoDifferenceSeen);
        assert_eq!(judge_control(&Samples::Generations(Vec::new())), None);
    }
}
