//! Evidence that stays valid when it is looked at after every generation.
//!
//! A test with a fixed level, repeated until it rejects, rejects in the end whatever is true. An *e-process* does not:
//! it is the capital of a player who bets, generation after generation, that the next log ratio lies above a value c,
//! at odds that are fair or worse as long as the ratios are symmetric about c or about something lower. Capital that
//! begins at 1 ever reaches K with a probability of at most 1/K (Ville 1939), however often one looks, so 1 over the
//! largest capital so far is a p-value at any time (Ramdas, Grünwald, Vovk and Shafer 2023).
//!
//! The bet is 1 + k tanh(lx) with x = log ratio - c. With k = 1 it is exp(lx)/cosh(lx) (de la Peña 1999; for symmetric
//! distributions Howard, Ramdas, McAuliffe and Sekhon 2020; Ramdas, Ruf, Larsson and Koolen 2020, arXiv:2009.03167): it
//! wins a doubling at most, and one wild generation can lose nearly all of it. With k = 0.7 it wins at most 1.7, but
//! keeps 0.3 whatever happens. Half of the capital goes to each: with one generation in twelve eight times as wild
//! as the others, that halves the generations that a decision takes, and without any it adds one at most.
//!
//! Nothing is assumed of the spread, the tails, or that generations are alike. The best l depends on difference and
//! spread, so the capital is divided over a grid of them too. Each bet falls as c rises, so the values that are not yet
//! refuted are an interval: a *confidence sequence*, which covers at whatever moment the run stops.
//!
//! The price, simulated in docs/method-slices.md: half of the runs decide with one and a half times as many generations as a test with
//! a fixed number needs for a power of 80%; one in five takes more than twice as many.
//!
//! A run whose time is over has one more look, and knows that it is the last: when it ends does not depend on what it found. There the
//! signed-rank test finds far more. So the looks may err in a quarter of the cases allowed, and the last one in the others.

use crate::interval::Interval;
use crate::signed_rank::{Tails, signed_rank, signed_rank_interval, signed_rank_p_min};

/// Half of the capital is divided over the stakes l = 2, 4, 8 ... 1024, and so is the other half: a log ratio of about
/// 1 / l is what a stake is made for, 0.1% to 50%.
const STAKES: usize = 10;
const STAKE_MIN: f64 = 2.0;

/// What the cautious half bets at most.
const CAUTIOUS: f64 = 0.7;

/// Beyond this distance from all ratios, on logarithms, every bet is won.
const FAR: f64 = 10.0;

/// The part of the error that is that of the looks after each generation ...
const LOOKS: f64 = 0.25;
/// ... and that of the last one.
const LAST: f64 = 1.0 - LOOKS;

/// One-sided p-values of "the centre of `ratios` is zero", of all looks together. `is_over` if the time was over.
pub(crate) fn watched_tails(ratios: &[f64], is_over: bool) -> Tails {
    let last = if is_over { signed_rank(ratios) } else { Tails { lower: 1.0, upper: 1.0 } };
    let both = |looks: f64, last: f64| (looks / LOOKS).min(last / LAST).min(1.0);
    Tails {
        lower: both(p_at_least(ratios, 0.0), last.lower),
        upper: both(p_at_most(ratios, 0.0), last.upper),
    }
}

/// The interval of all looks together. `None` for too few ratios. If the last look refutes all that the earlier ones had left, it is
/// theirs, since what is refuted stays refuted.
pub(crate) fn watched_interval(ratios: &[f64], level: f64, is_over: bool) -> Option<Interval> {
    let with = |part: f64| 1.0 - (1.0 - level) * part;
    let looks = sequential_interval(ratios, with(LOOKS));
    let last = signed_rank_interval(ratios, with(LAST)).filter(|_| is_over);
    let both = looks.zip(last).map(|(looks, last)| Interval {
        low: looks.low.max(last.low),
        high: looks.high.min(last.high),
        coverage: level,
    });
    let found = both.filter(|both| both.low <= both.high).or(looks).or(last);
    found.map(|interval| Interval { coverage: level, ..interval })
}

/// The smallest two-sided p-value that so many generations can give in all looks together.
pub(crate) fn watched_p_min(generations: usize, is_over: bool) -> f64 {
    let last = if is_over { signed_rank_p_min(generations) } else { 1.0 };
    (sequential_p_min(generations) / LOOKS).min(last / LAST).min(1.0)
}

/// The p-value, valid at any time, of "the centre of `ratios` is at most `centre`".
fn p_at_most(ratios: &[f64], centre: f64) -> f64 {
    1.0 / capital_max(ratios.iter().map(|x| x - centre))
}

/// The same of "the centre is at least `centre`".
fn p_at_least(ratios: &[f64], centre: f64) -> f64 {
    1.0 / capital_max(ratios.iter().map(|x| centre - x))
}

/// The smallest two-sided p-value that so many generations can give: every bet won.
fn sequential_p_min(generations: usize) -> f64 {
    let count = i32::try_from(generations).unwrap_or(i32::MAX);
    (4.0 / (2f64.powi(count) + (1.0 + CAUTIOUS).powi(count))).min(1.0)
}

/// The confidence sequence at `level`: the centres that neither side has refuted so far. `None` while there are too few
/// ratios, or if none is left, which happens in less than 1 - `level` of the cases where there is a centre at all.
fn sequential_interval(ratios: &[f64], level: f64) -> Option<Interval> {
    let p_max = (1.0 - level) / 2.0;
    let (min, max) =
        ratios.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (l.min(x), h.max(x)));
    if ratios.is_empty() || p_at_most(ratios, min - FAR) > p_max {
        return None;
    }
    let low = boundary(min - FAR, max, |centre| p_at_most(ratios, centre) <= p_max);
    let high = boundary(max + FAR, min, |centre| p_at_least(ratios, centre) <= p_max);
    (low <= high).then_some(Interval { low, high, coverage: level })
}

/// The largest capital ever reached by betting on each of `gains` to be positive; at least 1, with which it began.
fn capital_max(gains: impl Iterator<Item = f64>) -> f64 {
    let mut capital = Capital::new();
    let mut largest = 1.0f64;
    for gain in gains {
        capital.bet(gain);
        largest = largest.max(capital.sum());
    }
    largest
}

/// The capital on each stake: bold, cautious.
struct Capital([(f64, f64); STAKES]);

impl Capital {
    fn new() -> Capital {
        Capital([(0.5 / STAKES as f64, 0.5 / STAKES as f64); STAKES])
    }

    /// tanh(lx) is 2 / (1 + exp(-2lx)) - 1, and stakes double, so that the power for the next is the square of this
    /// one: finding the ends of an interval asks for this thousands of times.
    fn bet(&mut self, gain: f64) {
        let mut power = (-2.0 * STAKE_MIN * gain).exp();
        for (bold, cautious) in &mut self.0 {
            let won = 2.0 / (1.0 + power);
            *bold *= won;
            *cautious *= 1.0 - CAUTIOUS + CAUTIOUS * won;
            power *= power;
        }
    }

    fn sum(&self) -> f64 {
        self.0.iter().map(|(bold, cautious)| bold + cautious).sum()
    }
}

/// Where a condition that holds at `inside` and not at `outside` ends, from the side where it holds.
fn boundary(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    // From a distance of at most tens to less than a millionth.
    for _ in 0..26 {
        let middle = f64::midpoint(inside, outside);
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::LEVEL;

    #[test]
    fn the_expected_capital_after_symmetric_ratios_is_what_it_began_with() {
        // All signs of six ratios of very different size, each sign equally likely; and of a centre that is lower.
        let sizes = [0.001, 0.5, 0.03, 7.0, 0.08, 0.01];
        let expected = |shift: f64| {
            let of = |signs: u32| {
                let sign = |i: usize| if signs >> i & 1 == 1 { 1.0 } else { -1.0 };
                let mut capital = Capital::new();
                for (i, size) in sizes.iter().enumerate() {
                    capital.bet(sign(i) * size - shift);
                }
                capital.sum()
            };
            (0..64).map(of).sum::<f64>() / 64.0
        };
        assert!((expected(0.0) - 1.0).abs() < 1e-12, "{}", expected(0.0));
        assert!(expected(0.01) < 1.0);
    }

    #[test]
    fn a_bet_multiplies_each_part_by_the_hyperbolic_tangent_of_its_stake() {
        for gain in [-FAR, -0.3, -0.001, 0.0, 0.002, 0.07, FAR] {
            let mut capital = Capital([(1.0, 1.0); STAKES]);
            capital.bet(gain);
            for (i, (bold, cautious)) in (1..).zip(capital.0) {
                let tanh = (2f64.powi(i) * gain).tanh();
                assert!((bold - 1.0 - tanh).abs() < 1e-9, "{gain} {i}: {bold}");
                assert!((cautious - 1.0 - CAUTIOUS * tanh).abs() < 1e-9, "{gain} {i}: {cautious}");
            }
        }
    }

    #[test]
    fn evidence_only_grows_and_recovers_from_a_wild_generation() {
        let mut ratios = vec![0.05, 0.06, 0.04, 0.05, 0.07, 0.05, 0.06, 0.05];
        let before = p_at_most(&ratios, 0.0);
        assert!(before < 0.025, "{before}");
        ratios.push(-30.0);
        assert_eq!(p_at_most(&ratios, 0.0), before);
        ratios.extend([0.05; 8]);
        assert!(p_at_most(&ratios, 0.0) < before / 3.0, "{}", p_at_most(&ratios, 0.0));
    }

    #[test]
    fn the_smallest_p_value_is_that_of_ratios_far_on_one_side() {
        for count in 1..12 {
            let far = vec![FAR; count];
            assert!((2.0 * p_at_most(&far, 0.0) / sequential_p_min(count) - 1.0).abs() < 1e-9 || count == 1);
        }
    }

    #[test]
    fn six_ratios_are_the_fewest_that_give_an_interval() {
        let ratios = [0.05, 0.04, 0.06, 0.05, 0.055, 0.045];
        assert_eq!(sequential_interval(&ratios[..5], LEVEL), None);
        assert_eq!(sequential_interval(&[], LEVEL), None);
        let interval = sequential_interval(&ratios, LEVEL).unwrap();
        assert!(interval.low < 0.04 && interval.high > 0.06 && interval.contains(0.05), "{interval:?}");
    }

    #[test]
    fn the_interval_is_what_the_p_values_do_not_refute_and_never_widens() {
        let ratios: Vec<f64> = (0..40).map(|i| 0.1 + 0.05 * (f64::from(i) * 2.4).sin()).collect();
        let mut before = sequential_interval(&ratios[..6], LEVEL).unwrap();
        for count in 7..=40 {
            let seen = &ratios[..count];
            let now = sequential_interval(seen, LEVEL).unwrap();
            assert!(now.low >= before.low - 1e-5 && now.high <= before.high + 1e-5, "{before:?} {now:?}");
            assert!(p_at_most(seen, now.low - 1e-5) <= 0.025 && p_at_most(seen, now.low + 1e-5) > 0.025);
            assert!(p_at_least(seen, now.high + 1e-5) <= 0.025 && p_at_least(seen, now.high - 1e-5) > 0.025);
            before = now;
        }
        assert!(before.contains(0.1) && before.high - before.low < 0.06, "{before:?}");
    }
}
