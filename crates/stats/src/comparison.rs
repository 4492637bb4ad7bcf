//! Is one cell better than another, by how much, and how sure is that?
//!
//! All comparisons are ratios, so all are made on logarithms. A *family* of comparisons (all cells against the
//! baseline in one figure) is judged at once, so that nobody can forget to correct for their number.

use crate::between::BetweenRuns;
use crate::holm::holm;
use crate::interval::{Interval, LEVEL};
use crate::mann_whitney::{mann_whitney, mann_whitney_p_min, shift, shift_interval};
use crate::samples::{Logarithms, Pairing, Samples};
use crate::sequential::{watched_interval, watched_p_min, watched_tails};
use crate::signed_rank::{Tails, hodges_lehmann, signed_rank, signed_rank_interval, signed_rank_p_min};
use serde::Serialize;

/// The share of families without any true difference in which one may be declared.
pub const ALPHA: f64 = 1.0 - LEVEL;

/// The test behind a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Wilcoxon's signed-rank test on the log ratios of the blocks.
    SignedRank,
    /// The same on the log ratios of the generations.
    SignedRankOfGenerations,
    /// Mann and Whitney's test on the logarithms of both cells.
    MannWhitney,
    /// An e-process over the generations, which stays valid when it is looked at after each.
    EProcess,
    /// The same, and the signed-rank test when the time was over.
    EProcessAndLastLook,
}

impl Test {
    /// The name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Test::SignedRank => "Wilcoxon signed-rank test, paired by block",
            Test::SignedRankOfGenerations => "Wilcoxon signed-rank test over generations",
            Test::MannWhitney => "Mann-Whitney test",
            Test::EProcess => "e-process over generations, valid at any time",
            Test::EProcessAndLastLook => {
                "e-process over generations, and Wilcoxon signed-rank test when the time was over"
            }
        }
    }
}

/// The decision about two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The candidate is higher by more than the tolerance.
    Higher,
    /// The candidate is lower by more than the tolerance.
    Lower,
    /// A single comparison would have declared a difference, but among so many one such chance difference is expected.
    Suggested,
    /// They are the same to within the tolerance: the whole interval lies inside it (and, where a run goes on until it
    /// has decided, the one corrected for the family too).
    Alike,
    /// Undecided: there may be a difference, but this run does not show it.
    NoDifferenceSeen,
    /// No outcome of so few repetitions could have been significant.
    TooFewRepetitions {
        /// How many are needed for this many comparisons.
        needed: usize,
    },
    /// Nothing shows how far equal servers lie apart here, so that no interval can be claimed: of two runs without a reference.
    NoReference,
}

impl Decision {
    /// True if a difference was declared.
    pub fn is_difference(self) -> bool {
        matches!(self, Decision::Higher | Decision::Lower)
    }

    /// True if the comparison is answered: different, or alike to within the tolerance.
    pub fn is_decided(self) -> bool {
        self.is_difference() || self == Decision::Alike
    }
}

/// A candidate set against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Candidate over baseline: the Hodges-Lehmann estimate on logarithms.
    pub ratio: f64,
    /// The ratio's own 95% interval, without correction for the other comparisons; `None` for too few repetitions.
    pub interval: Option<Interval>,
    /// The smallest ratio of a repetition of the candidate to one of the baseline (of the same block, if paired), or of
    /// a generation.
    pub ratio_min: f64,
    /// The largest one.
    pub ratio_max: f64,
    /// Repetitions on the side that has fewer, or generations.
    pub repetitions: usize,
    /// The test, if the repetitions suffice for one.
    pub test: Option<Test>,
    /// The probability of so clear a difference if the true one were within the tolerance.
    pub p_alone: Option<f64>,
    /// The same corrected for the family: what is at most 5% is declared.
    pub p: Option<f64>,
    /// The decision.
    pub decision: Decision,
}

/// Judges a family of comparisons at once; an entry is `None` where one side has no positive figure.
///
/// A difference is declared if a rank test rejects "the true ratio lies within the tolerance" at 5%, after Holm's
/// correction over the family. That is more than "significant, and the estimate is beyond the tolerance": for a
/// single comparison it means that the whole 95% interval lies beyond, which a reader can see.
///
/// [`Samples::UntilDecided`] may be judged again after every generation: what is decided stays decided, and over all
/// looks together a family without differences beyond the tolerance has one declared with a probability of at most
/// 5%; a family of which nothing is alike has something called so in at most 5%. Its intervals cover at any stop.
pub fn judge(family: &[Samples], tolerance: f64) -> Vec<Option<Comparison>> {
    let margin = tolerance.max(0.0).ln_1p();
    let logarithms: Vec<_> = family.iter().map(Samples::logarithms).collect();
    let size = logarithms.iter().flatten().count();
    let mut judged: Vec<Option<Comparison>> =
        logarithms.iter().map(|logarithms| Some(weigh(logarithms.as_ref()?, margin, size))).collect();
    // Those that no outcome could make significant do not count against the others.
    let raw: Vec<f64> = judged.iter().flatten().filter_map(|c| c.p_alone).collect();
    let alike: Vec<f64> = logarithms.iter().flatten().map(|l| p_not_alike(l, margin)).collect();
    let (mut adjusted, mut alike) = (holm(&raw).into_iter(), holm(&alike).into_iter());
    for (comparison, logarithms) in judged.iter_mut().zip(&logarithms) {
        let (Some(comparison), Some(logarithms)) = (comparison, logarithms) else { continue };
        let p_not_alike = alike.next();
        if comparison.p_alone.is_some() {
            comparison.p = adjusted.next();
            let is_watched = logarithms.pairing.is_watched();
            comparison.decision = decide(comparison, margin, p_not_alike.filter(|_| is_watched));
        }
    }
    judged
}

/// Judges a family whose figures come from two runs. Within a run nothing shows what another run has differently, so that the
/// spread between runs must be known. It widens each interval, and a difference must be beyond it besides the tolerance: there by
/// what one of so many comparisons may show (Bonferroni), for all share the two runs.
pub fn judge_between(family: &[Samples], tolerance: f64, between: BetweenRuns) -> Vec<Option<Comparison>> {
    let margin = tolerance.max(0.0).ln_1p();
    let size = family.iter().filter_map(Samples::logarithms).count().max(1);
    let mut judged = judge(family, (margin + between.bound(ALPHA / size as f64)).exp_m1());
    let spread = between.bound(ALPHA);
    for comparison in judged.iter_mut().flatten() {
        comparison.interval = comparison.interval.map(|i| Interval {
            low: i.low * (-spread).exp(),
            high: i.high * spread.exp(),
            ..i
        });
        let is_inside = comparison.interval.is_some_and(|i| i.low.ln() >= -margin && i.high.ln() <= margin);
        if comparison.decision == Decision::Alike && !is_inside {
            comparison.decision = Decision::NoDifferenceSeen;
        }
    }
    judged
}

/// The repetitions that each cell needs so that a family of `size` comparisons can come to a decision at all.
pub fn repetitions_needed(size: usize, paired: bool) -> usize {
    needed(size, if paired { Pairing::Block } else { Pairing::None })
}

/// The same for a sliced measurement: ceil(log2(2 `size` / 5%)) generations, six for one comparison. If the run goes on until it has
/// decided, they can decide when its time is over.
pub fn generations_needed(size: usize, until_decided: bool) -> usize {
    needed(size, if until_decided { Pairing::WatchedToTheEnd } else { Pairing::Generation })
}

fn needed(size: usize, pairing: Pairing) -> usize {
    let level = ALPHA / size.max(1) as f64;
    (1..).find(|&n| rank_test(pairing, n, n, level).is_some()).unwrap_or(usize::MAX)
}

/// The test for samples of these sizes: the paired one where its smallest p-value can pass `level`, else the other.
///
/// Few pairs make a coarse test (five cannot go below p = 0.0625), while five a side of independent values go down
/// to 0.008. The choice looks at the sizes alone, never at the values, so it costs no false alarms. Generations have
/// no other test, for only their ratios are known.
fn rank_test(pairing: Pairing, a: usize, b: usize, level: f64) -> Option<Test> {
    let fits = |p_min: f64| p_min <= level;
    match pairing {
        Pairing::Generation => fits(signed_rank_p_min(a)).then_some(Test::SignedRankOfGenerations),
        Pairing::Watched => fits(watched_p_min(a, false)).then_some(Test::EProcess),
        Pairing::WatchedToTheEnd => fits(watched_p_min(a, true)).then_some(Test::EProcessAndLastLook),
        Pairing::Block if fits(signed_rank_p_min(a)) => Some(Test::SignedRank),
        Pairing::Block | Pairing::None => fits(mann_whitney_p_min(a, b)).then_some(Test::MannWhitney),
    }
}

/// One comparison with its uncorrected p-value.
fn weigh(logarithms: &Logarithms, margin: f64, family_size: usize) -> Comparison {
    let Logarithms { a, b, pairing } = logarithms;
    let pairing = *pairing;
    let test = rank_test(pairing, a.len(), b.len(), ALPHA / family_size as f64);
    // Without a corrected test an interval may still be had: the one that a single comparison would use.
    let method = test.or_else(|| rank_test(pairing, a.len(), b.len(), ALPHA));
    let paired = pairing != Pairing::None;
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let use_pairs = paired && method != Some(Test::MannWhitney);
    let centre = if use_pairs { hodges_lehmann(&differences) } else { shift(a, b) };
    let interval = method.and_then(|method| match method {
        Test::SignedRank | Test::SignedRankOfGenerations => signed_rank_interval(&differences, LEVEL),
        Test::MannWhitney => shift_interval(a, b, LEVEL),
        Test::EProcess => watched_interval(&differences, LEVEL, false),
        Test::EProcessAndLastLook => watched_interval(&differences, LEVEL, true),
    });
    // What earlier generations have refuted stays refuted, though later ones may pull the estimate back there.
    let centre = match interval.filter(|_| pairing.is_watched()) {
        Some(interval) => centre.map(|centre| centre.clamp(interval.low, interval.high)),
        None => centre,
    };
    let (low, high) = if paired {
        extremes(&differences)
    } else {
        let ((a_low, a_high), (b_low, b_high)) = (extremes(a), extremes(b));
        (a_low - b_high, a_high - b_low)
    };
    Comparison {
        ratio: centre.unwrap_or(f64::NAN).exp(),
        interval: interval.map(|i| i.map(f64::exp)),
        ratio_min: low.exp(),
        ratio_max: high.exp(),
        repetitions: a.len().min(b.len()),
        test,
        p_alone: test.map(|test| p_beyond_margin(test, a, b, margin)),
        p: None,
        decision: Decision::TooFewRepetitions { needed: needed(family_size, pairing) },
    }
}

/// The two-sided p-value of "the shift from `b` to `a` is no larger than `margin`, either way".
fn p_beyond_margin(test: Test, a: &[f64], b: &[f64], margin: f64) -> f64 {
    let differences = |by: f64| a.iter().zip(b).map(|(a, b)| a - b + by).collect::<Vec<_>>();
    let moved_by = |by: f64| -> Tails {
        match test {
            Test::SignedRank | Test::SignedRankOfGenerations => signed_rank(&differences(by)),
            Test::MannWhitney => mann_whitney(&a.iter().map(|a| a + by).collect::<Vec<_>>(), b),
            Test::EProcess => watched_tails(&differences(by), false),
            Test::EProcessAndLastLook => watched_tails(&differences(by), true),
        }
    };
    Tails { lower: moved_by(margin).lower, upper: moved_by(-margin).upper }.two_sided()
}

/// The p-value of "the shift is at least `margin`, one way or the other", of all looks together; 1 for what is judged only
/// once. Doubled like that of a difference, so that what is alike has its 95% interval inside the margin.
fn p_not_alike(logarithms: &Logarithms, margin: f64) -> f64 {
    if !logarithms.pairing.is_watched() {
        return 1.0;
    }
    let moved_by = |by: f64| {
        let ratios: Vec<f64> = logarithms.a.iter().map(|ratio| ratio + by).collect();
        watched_tails(&ratios, logarithms.pairing == Pairing::WatchedToTheEnd)
    };
    (2.0 * moved_by(-margin).lower.max(moved_by(margin).upper)).min(1.0)
}

/// `p_not_alike` is there if that question is decided by a test of its own, and not by the interval.
fn decide(comparison: &Comparison, margin: f64, p_not_alike: Option<f64>) -> Decision {
    if comparison.p.is_some_and(|p| p <= ALPHA) {
        let higher = match comparison.interval {
            Some(i) if i.low > 1.0 => true,
            Some(i) if i.high < 1.0 => false,
            _ => comparison.ratio > 1.0,
        };
        return if higher { Decision::Higher } else { Decision::Lower };
    }
    if comparison.p_alone.is_some_and(|p| p <= ALPHA) {
        return Decision::Suggested;
    }
    if let Some(p) = p_not_alike {
        return if p <= ALPHA { Decision::Alike } else { Decision::NoDifferenceSeen };
    }
    match comparison.interval {
        Some(i) if i.low.ln() >= -margin && i.high.ln() <= margin => Decision::Alike,
        _ => Decision::NoDifferenceSeen,
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_between_runs_widens_intervals_and_bars_decisions() {
        let wobble =
            |level: f64| (0..8).map(|i| level * (1.0 + 0.002 * f64::from(i % 4))).collect::<Vec<f64>>();
        let of = |ratio: f64, moved: f64| {
            let between = BetweenRuns { moved, deviation: 0.0, observations: 2 };
            judge_between(&[Samples::Independent(wobble(ratio), wobble(1.0))], 0.05, between)
                .remove(0)
                .unwrap()
        };
        assert_eq!((of(0.8, 0.0).decision, of(1.0, 0.0).decision), (Decision::Lower, Decision::Alike));
        assert_eq!(
            (of(0.8, 0.3).decision, of(1.0, 0.3).decision),
            (Decision::NoDifferenceSeen, Decision::NoDifferenceSeen)
        );
        let (narrow, wide) = (of(0.8, 0.0).interval.unwrap(), of(0.8, 0.3).interval.unwrap());
        assert!(wide.high / narrow.high > 1.3 && narrow.low / wide.low > 1.3 && wide.contains(1.0));
    }

    /// Pairs whose ratios are `ratio` with a wobble of up to `wobble` either way.
    fn pairs(count: usize, ratio: f64, wobble: f64) -> Samples {
        let of = |i: usize| {
            let base = 100.0 + 10.0 * (i as f64).sin();
            (base * ratio * (1.0 + wobble * (2.0 * i as f64 + 1.0).sin()), base)
        };
        Samples::Paired((0..count).map(of).collect())
    }

    fn one(samples: Samples, tolerance: f64) -> Comparison {
        judge(&[samples], tolerance).remove(0).unwrap()
    }

    #[test]
    fn a_clear_difference_is_declared_with_its_direction() {
        let c = one(pairs(8, 1.5, 0.03), 0.02);
        assert_eq!((c.decision, c.test), (Decision::Higher, Some(Test::SignedRank)));
        let interval = c.interval.unwrap();
        assert!(interval.contains(c.ratio) && interval.low > 1.45 && interval.high < 1.55, "{c:?}");
        assert_eq!(one(pairs(8, 0.7, 0.03), 0.02).decision, Decision::Lower);
    }

    #[test]
    fn a_significant_difference_within_the_tolerance_is_not_declared() {
        let samples = pairs(12, 1.01, 0.001);
        assert_eq!(one(samples.clone(), 0.0).decision, Decision::Higher);
        assert_eq!(one(samples, 0.02).decision, Decision::Alike);
    }

    #[test]
    fn a_difference_lost_in_noise_is_not_declared_and_not_called_alike() {
        let c = one(pairs(8, 1.03, 0.2), 0.02);
        assert_eq!(c.decision, Decision::NoDifferenceSeen);
        assert!(c.interval.unwrap().contains(1.0));
    }

    #[test]
    fn swapping_the_sides_turns_the_answer_round() {
        let Samples::Paired(forth) = pairs(9, 1.2, 0.05) else { unreachable!() };
        let back = forth.iter().map(|&(a, b)| (b, a)).collect();
        let (there, back) = (one(Samples::Paired(forth), 0.02), one(Samples::Paired(back), 0.02));
        assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        assert!((there.p.unwrap() - back.p.unwrap()).abs() < 1e-12);
        assert_eq!((there.decision, back.decision), (Decision::Higher, Decision::Lower));
    }

    #[test]
    fn five_blocks_fall_back_on_the_unpaired_test_and_three_decide_nothing() {
        let five = one(pairs(5, 3.0, 0.03), 0.02);
        assert_eq!((five.test, five.decision), (Some(Test::MannWhitney), Decision::Higher));
        assert!(five.interval.is_some());
        let three = one(pairs(3, 3.0, 0.03), 0.02);
        assert_eq!(three.decision, Decision::TooFewRepetitions { needed: 4 });
        assert_eq!((three.test, three.interval, three.p), (None, None, None));
        assert!(three.ratio_min < 3.0 && three.ratio_max > 3.0, "{three:?}");
    }

    #[test]
    fn more_comparisons_need_more_repetitions() {
        let needed: Vec<usize> = [1, 2, 6, 7, 23, 24].map(|size| repetitions_needed(size, true)).into();
        assert_eq!(needed, [4, 5, 5, 6, 6, 7]);
        let family = vec![pairs(4, 3.0, 0.03); 5];
        for c in judge(&family, 0.02) {
            assert_eq!(c.unwrap().decision, Decision::TooFewRepetitions { needed: 5 });
        }
    }

    #[test]
    fn a_family_is_corrected_by_holm() {
        // One value of eight overlaps.
        let weak = Samples::Independent(vec![2.0; 8], vec![1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 2.7]);
        let p = |family: &[Samples]| judge(family, 0.0)[0].as_ref().unwrap().p.unwrap();
        let alone = p(std::slice::from_ref(&weak));
        assert!(alone < ALPHA);
        assert!((p(&[weak.clone(), weak]) - 2.0 * alone).abs() < 1e-12);
    }

    #[test]
    fn what_only_the_correction_forbids_is_suggested() {
        // Alone it is p = 0.03; three of them are p = 0.09.
        let weak = Samples::Paired(vec![
            (2.0, 1.0),
            (2.1, 1.0),
            (2.2, 1.0),
            (2.3, 1.0),
            (2.4, 1.0),
            (2.5, 1.0),
            (0.9, 1.0),
        ]);
        let p = one(weak.clone(), 0.0).p.unwrap();
        assert!(p <= ALPHA && 3.0 * p > ALPHA, "{p}");
        for c in judge(&vec![weak; 3], 0.0).into_iter().flatten() {
            assert!(c.decision == Decision::Suggested || c.test == Some(Test::MannWhitney), "{c:?}");
        }
    }

    #[test]
    fn six_pairs_decide_alone_and_turn_to_the_unpaired_test_in_a_family() {
        // All six pairs on one side are p = 0.03125, the least that six pairs can give: too much for two comparisons.
        assert_eq!(one(pairs(6, 1.5, 0.03), 0.02).test, Some(Test::SignedRank));
        let mut judged = judge(&[pairs(6, 1.5, 0.03), pairs(6, 1.0, 0.1)], 0.02).into_iter().flatten();
        let (clear, none) = (judged.next().unwrap(), judged.next().unwrap());
        assert_eq!((clear.test, clear.decision), (Some(Test::MannWhitney), Decision::Higher));
        assert_eq!(none.decision, Decision::NoDifferenceSeen);
    }

    #[test]
    fn blocks_without_a_partner_and_figures_without_a_ratio_are_left_out() {
        let samples = Samples::by_block(&[(0, 2.0), (1, 4.0), (3, 8.0)], &[(3, 4.0), (0, 1.0), (2, 9.0)]);
        assert_eq!(samples, Samples::Paired(vec![(2.0, 1.0), (8.0, 4.0)]));
        assert_eq!(judge(&[Samples::Paired(vec![(0.0, 1.0), (1.0, f64::NAN)])], 0.02), [None]);
        assert_eq!(judge(&[Samples::Independent(vec![], vec![1.0])], 0.02), [None]);
        assert_eq!(one(Samples::Paired(vec![(2.0, 1.0), (0.0, 1.0)]), 0.02).repetitions, 1);
    }

    #[test]
    fn equal_figures_are_alike() {
        let c = one(Samples::Paired(vec![(4096.0, 4096.0); 6]), 0.02);
        assert_eq!((c.ratio, c.decision), (1.0, Decision::Alike));
    }

    #[test]
    fn generations_are_judged_by_the_signed_rank_test_or_not_at_all() {
        let generations = |n: usize| {
            Samples::Generations((0..n).map(|i| 1.05f64.ln() + 0.01 * (3.0 * i as f64).sin()).collect())
        };
        let c = one(generations(10), 0.01);
        assert_eq!((c.test, c.decision), (Some(Test::SignedRankOfGenerations), Decision::Higher));
        assert!((c.ratio - 1.05).abs() < 0.005 && c.interval.unwrap().low > 1.03, "{c:?}");
        let five = one(generations(5), 0.01);
        assert_eq!((five.test, five.interval, five.p), (None, None, None));
        assert_eq!(five.decision, Decision::TooFewRepetitions { needed: 6 });
        // Fourteen comparisons of which each has seven generations: an interval, and how many decide.
        for c in judge(&vec![generations(7); 14], 0.01).into_iter().flatten() {
            assert_eq!((c.repetitions, c.test), (7, None));
            assert!(c.interval.is_some());
            assert_eq!(c.decision, Decision::TooFewRepetitions { needed: 10 });
        }
        assert!(judge(&vec![generations(10); 14], 0.01).iter().flatten().all(|c| c.decision.is_difference()));
        assert_eq!(judge(&[Samples::Generations(vec![f64::NAN, f64::INFINITY])], 0.01), [None]);
    }

    #[test]
    fn the_generations_needed_follow_the_number_of_comparisons() {
        for size in 1..200 {
            let formula = (2.0 * size as f64 / ALPHA).log2().ceil() as usize;
            assert_eq!(generations_needed(size, false), formula, "{size} comparisons");
            // The last look of a run until decided may err in three quarters of the cases.
            let last = (2.0 * size as f64 / (0.75 * ALPHA)).log2().ceil() as usize;
            assert_eq!(generations_needed(size, true), last, "{size} comparisons");
        }
        assert_eq!([1, 2, 14, 16].map(|size| generations_needed(size, false)), [6, 7, 10, 10]);
        assert_eq!([1, 2, 14, 16].map(|size| generations_needed(size, true)), [6, 7, 10, 10]);
    }

    /// Log ratios around that of `ratio`, which wobble by up to `wobble`.
    fn watched(count: usize, ratio: f64, wobble: f64) -> Samples {
        let of = |i: usize| ratio.ln() + wobble * (2.4 * i as f64).sin();
        Samples::UntilDecided((0..count).map(of).collect())
    }

    #[test]
    fn a_run_that_is_watched_decides_by_evidence_that_holds_at_any_time() {
        let c = one(watched(5, 1.1, 0.02), 0.02);
        assert_eq!((c.test, c.decision), (None, Decision::TooFewRepetitions { needed: 8 }));
        let c = one(watched(10, 1.1, 0.02), 0.02);
        assert_eq!((c.test, c.decision), (Some(Test::EProcess), Decision::Higher));
        assert!(c.interval.unwrap().low > 1.02 && c.interval.unwrap().contains(c.ratio), "{c:?}");
        assert_eq!(one(watched(10, 0.9, 0.02), 0.02).decision, Decision::Lower);
        assert_eq!(one(watched(10, 1.0, 0.1), 0.02).decision, Decision::NoDifferenceSeen);
    }

    #[test]
    fn the_last_look_of_a_run_whose_time_was_over_finds_more() {
        let over = |samples| match samples {
            Samples::UntilDecided(ratios) => Samples::TimeOver(ratios),
            other => other,
        };
        let before = one(watched(12, 1.05, 0.06), 0.0);
        let last = one(over(watched(12, 1.05, 0.06)), 0.0);
        assert_eq!((before.decision, last.decision), (Decision::NoDifferenceSeen, Decision::Higher));
        assert_eq!(last.test, Some(Test::EProcessAndLastLook));
        let (before, last) = (before.interval.unwrap(), last.interval.unwrap());
        assert!(last.low > 1.0 && last.low > before.low && last.high <= before.high, "{before:?} {last:?}");
        assert_eq!((before.coverage, last.coverage), (LEVEL, LEVEL));
        // What the looks have refuted stays refuted.
        let mut ratios = vec![0.05; 20];
        ratios.extend([-0.01; 12]);
        let c = one(Samples::TimeOver(ratios), 0.0);
        assert!(c.interval.unwrap().low > 1.0, "{c:?}");
        // Six generations are the fewest.
        assert_eq!(one(over(watched(5, 1.1, 0.02)), 0.0).test, None);
        assert_eq!(one(over(watched(6, 1.1, 0.02)), 0.0).decision, Decision::Higher);
        assert_eq!(one(over(watched(40, 1.0, 0.02)), 0.02).decision, Decision::Alike);
    }

    #[test]
    fn a_watched_run_calls_alike_what_its_evidence_holds_inside_the_tolerance() {
        let c = one(watched(20, 1.0, 0.01), 0.02);
        let interval = c.interval.unwrap();
        assert_eq!(c.decision, Decision::Alike);
        assert!(interval.low > 1.0 / 1.02 && interval.high < 1.02, "{c:?}");
        assert!(c.decision.is_decided() && !Decision::Suggested.is_decided());
        // In a family it takes more.
        let first = |size: usize| {
            let alike = |n: usize| judge(&vec![watched(n, 1.0, 0.01); size], 0.02)[0].clone().unwrap();
            (1..60).find(|&n| alike(n).decision == Decision::Alike).unwrap()
        };
        assert!(first(14) > first(1), "{} {}", first(14), first(1));
    }

    #[test]
    fn what_a_watched_run_has_decided_stays_decided() {
        let mut random = crate::Random::new(3);
        let mut family: Vec<Vec<f64>> = vec![Vec::new(); 4];
        let mut before = vec![None; 4];
        for _ in 0..60 {
            for (centre, ratios) in [0.0, 0.06, -0.1, 0.02].into_iter().zip(&mut family) {
                ratios.push(centre + 0.1 * (random.unit() - 0.5));
            }
            let samples: Vec<Samples> = family.iter().cloned().map(Samples::UntilDecided).collect();
            for (c, before) in judge(&samples, 0.03).into_iter().flatten().zip(&mut before) {
                assert!(before.is_none_or(|decision| decision == c.decision), "{before:?} {c:?}");
                *before = Some(c.decision).filter(|d| d.is_decided());
            }
        }
        assert_eq!(before[1..3], [Some(Decision::Higher), Some(Decision::Lower)]);
    }
}
