//! Evidence that stays valid when it is looked at after every generation.
//!
//! A test with a fixed level, repeated until it rejects, rejects in the end whatever is true. An *e-process* does not:
//! it is the capital of a player who bets, generation after generation, that the next log ratio lies above a value c,
//! at odds that are fair or worse as long as the ratios are symmetric about c or about something lower. Capital that
//! begins at 1 ever reaches K with a probability of at most 1/K (Ville 1939), however often one looks, so 1 over the
//! largest capital so far is a p-value at any time (Ramdas, Grünwald, Vovk and Shafer 2023).
//!
//! The bet is exp(lx)/cosh(lx) = 1 + tanh(lx) for x = log ratio - c (de la Peña 1999; for symmetric distributions
//! Howard, Ramdas, McAuliffe and Sekhon 2020, and Ramdas et al. 2020). It wins at most a doubling, so seven consistent
//! generations give at most 128; and it loses all but nothing, however wild a generation is. Nothing is assumed of
//! the spread, the tails, or that generations are alike. The best l depends on difference and spread, so the capital
//! is divided over a grid of them ([`STAKES`]). Each bet falls as c rises, so the values that are not yet refuted are
//! an interval: a *confidence sequence*, which covers at whatever moment the run stops.
//!
//! The price, simulated in docs/method-slices.md: half of the runs decide with as many generations as a test
//! with a fixed number needs for a power of 80%, one in five takes one and a half times as many.

use super::interval::Interval;

/// What the capital is divided over: a log ratio of about 1 / `l` is what the stake `l` was made for, 0.1% to 50%.
const STAKES: [f64; 10] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0];

/// Beyond this distance from all ratios, on logarithms, every bet is won.
const FAR: f64 = 10.0;

/// The p-value, valid at any time, of "the centre of `ratios` is at most `centre`".
pub(super) fn p_at_most(ratios: &[f64], centre: f64) -> f64 {
    1.0 / capital_max(ratios.iter().map(|x| x - centre))
}

/// The same of "the centre is at least `centre`".
pub(super) fn p_at_least(ratios: &[f64], centre: f64) -> f64 {
    1.0 / capital_max(ratios.iter().map(|x| centre - x))
}

/// The confidence sequence at `level`: the centres that neither side has refuted so far. `None` while there are too few
/// ratios, or if none is left, which happens in less than 1 - `level` of the cases where there is a centre at all.
pub(super) fn sequential_interval(ratios: &[f64], level: f64) -> Option<Interval> {
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
    let mut capital = [1.0 / STAKES.len() as f64; STAKES.len()];
    let mut largest = 1.0f64;
    for gain in gains {
        for (part, stake) in capital.iter_mut().zip(STAKES) {
            *part *= 1.0 + (stake * gain).tanh();
        }
        largest = largest.max(capital.iter().sum());
    }
    largest
}

/// Where a condition that holds at `inside` and not at `outside` ends, from the side where it holds.
fn boundary(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..50 {
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
    use crate::statistics::interval::LEVEL;

    #[test]
    fn the_expected_capital_after_symmetric_ratios_is_what_it_began_with() {
        // All signs of six ratios of very different size, each sign equally likely; and of a centre that is lower.
        let sizes = [0.001, 0.5, 0.03, 7.0, 0.08, 0.01];
        let expected = |shift: f64| {
            let of = |signs: u32| {
                let sign = |i: usize| if signs >> i & 1 == 1 { 1.0 } else { -1.0 };
                let mut capital = [1.0 / STAKES.len() as f64; STAKES.len()];
                for (i, size) in sizes.iter().enumerate() {
                    for (part, stake) in capital.iter_mut().zip(STAKES) {
                        *part *= 1.0 + (stake * (sign(i) * size - shift)).tanh();
                    }
                }
                capital.iter().sum::<f64>()
            };
            (0..64).map(of).sum::<f64>() / 64.0
        };
        assert!((expected(0.0) - 1.0).abs() < 1e-12, "{}", expected(0.0));
        assert!(expected(0.01) < 1.0);
    }

    #[test]
    fn evidence_only_grows_and_a_wild_generation_costs_little_of_it() {
        let mut ratios = vec![0.05, 0.06, 0.04, 0.05, 0.07, 0.05, 0.06];
        let before = p_at_most(&ratios, 0.0);
        assert!(before < 0.025, "{before}");
        ratios.push(-30.0);
        assert_eq!(p_at_most(&ratios, 0.0), before);
        assert_eq!(p_at_least(&ratios, 0.0), 1.0 / capital_max(ratios.iter().map(|x| -x)));
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
            assert!(now.low >= before.low - 1e-9 && now.high <= before.high + 1e-9, "{before:?} {now:?}");
            assert!(p_at_most(seen, now.low - 1e-9) <= 0.025 && p_at_most(seen, now.low + 1e-9) > 0.025);
            assert!(p_at_least(seen, now.high + 1e-9) <= 0.025 && p_at_least(seen, now.high - 1e-9) > 0.025);
            before = now;
        }
        assert!(before.contains(0.1) && before.high - before.low < 0.06, "{before:?}");
    }
}
