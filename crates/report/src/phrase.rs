//! Comparisons in the words of their metric.

use crate::number;
use crate::text::s;
use crate::tone::Tone;
use pitot_record::metric::{Quantity, Words};
use pitot_record::{Better, Metric};
use pitot_stats::{Comparison, Decision};

/// Ratios in this range are written as a difference in percent, others as a multiple.
const DIFFERENCE_RATIOS: std::ops::Range<f64> = 0.67..1.5;

struct Adjectives {
    more: &'static str,
    less: &'static str,
    most: &'static str,
    least: &'static str,
}

fn adjectives(quantity: Quantity) -> Adjectives {
    let (more, less, most, least) = match quantity {
        Quantity::Countable => ("more", "fewer", "most", "fewest"),
        Quantity::Amount => ("more", "less", "most", "least"),
        Quantity::Level => ("higher", "lower", "highest", "lowest"),
        Quantity::Duration => ("longer", "shorter", "longest", "shortest"),
    };
    Adjectives { more, less, most, least }
}

/// What the best of a metric did: `handled the most requests per second`, `had the lowest p99 latency`.
pub(crate) fn superlative(metric: &Metric) -> String {
    let Words { noun, verb, quantity } = metric.words;
    let Adjectives { most, least, .. } = adjectives(quantity);
    let extreme = if metric.better == Better::Higher { most } else { least };
    format!("{verb} the {extreme} {noun}")
}

/// What the better of two did: `handled more requests per second`, `used less CPU time per request`.
pub(crate) fn comparative(metric: &Metric) -> String {
    let Words { noun, verb, quantity } = metric.words;
    let Adjectives { more, less, .. } = adjectives(quantity);
    let direction = if metric.better == Better::Higher { more } else { less };
    format!("{verb} {direction} {noun}")
}

/// A comparison in a sentence: `**a** handled 11.9 times [10.8, 13.1] as many requests per second as **b**`. `unit`: `repetition` or
/// `generation`.
pub(crate) fn versus(
    (candidate, baseline): (&str, &str),
    metric: &Metric,
    c: &Comparison,
    tolerance: f64,
    unit: &str,
) -> String {
    let Words { noun, verb, quantity } = metric.words;
    match c.decision {
        Decision::NoDifferenceSeen => {
            return format!(
                "a difference between **{candidate}** and **{baseline}** in {noun} is not {}: ratio {}",
                shown_to_exceed(tolerance),
                ratio(c)
            );
        }
        Decision::Alike => {
            return format!(
                "**{candidate}** and **{baseline}** are equivalent in {noun} to within {}: ratio {}",
                number::percent(tolerance),
                ratio(c)
            );
        }
        Decision::Higher
        | Decision::Lower
        | Decision::Suggested
        | Decision::TooFewRepetitions { .. }
        | Decision::NoReference => {}
    }
    let doubt = match c.decision {
        Decision::TooFewRepetitions { needed } => {
            let have = c.repetitions;
            format!(" (too few to tell: {have} {unit}{}, {needed} needed)", s(have))
        }
        Decision::Suggested => {
            let exceeds = shown_to_exceed(tolerance);
            format!(" (not {exceeds}, after correction for the number of comparisons)")
        }
        _ => String::new(),
    };
    if DIFFERENCE_RATIOS.contains(&c.ratio) {
        let Adjectives { more, less, .. } = adjectives(quantity);
        let direction = if c.ratio >= 1.0 { more } else { less };
        return format!(
            "**{candidate}** {verb} {} {direction} {noun} than **{baseline}**{doubt}",
            difference(c)
        );
    }
    let amount = times(c);
    match quantity {
        Quantity::Countable => {
            format!("**{candidate}** {verb} {amount} as many {noun} as **{baseline}**{doubt}")
        }
        Quantity::Amount => {
            format!("**{candidate}** {verb} {amount} as much {noun} as **{baseline}**{doubt}")
        }
        Quantity::Level | Quantity::Duration => {
            format!("**{candidate}** {verb} {amount} the {noun} of **{baseline}**{doubt}")
        }
    }
}

/// Of a difference that is not declared, though its interval may exclude 1: "is not shown to exceed the tolerance of 5%".
pub(crate) fn shown_to_exceed(tolerance: f64) -> String {
    match tolerance > 0.0 {
        true => format!("shown to exceed the tolerance of {}", number::percent(tolerance)),
        false => "shown".to_owned(),
    }
}

/// A ratio with its interval: `1.02 [0.95, 1.08]`; the range where there is no interval: `1.02 (0.90 to 1.20)`.
pub(crate) fn ratio(c: &Comparison) -> String {
    let (value, low, high) = (number::ratio(c.ratio), c.ratio_min, c.ratio_max);
    match c.interval {
        Some(i) => format!("{value} [{}, {}]", number::ratio(i.low), number::ratio(i.high)),
        None if c.repetitions < 2 => value,
        None => format!("{value} ({} to {})", number::ratio(low), number::ratio(high)),
    }
}

/// `11.9 times [10.8, 13.1]`.
pub(crate) fn times(c: &Comparison) -> String {
    let whole = ratio(c);
    let (value, rest) = whole.split_once(' ').unwrap_or((&whole, ""));
    format!("{value} times {rest}").trim_end().to_owned()
}

/// The size of a difference: `4.2% [1.1%, 7.4%]`.
fn difference(c: &Comparison) -> String {
    let sign = if c.ratio >= 1.0 { 1.0 } else { -1.0 };
    let share = |ratio: f64| sign * (ratio - 1.0);
    let value = number::percent(share(c.ratio));
    let (low, high) = c.interval.map_or((c.ratio_min, c.ratio_max), |i| (i.low, i.high));
    let (low, high) = if sign > 0.0 { (share(low), share(high)) } else { (share(high), share(low)) };
    match c.interval {
        Some(_) => format!("{value} [{}, {}]", number::percent(low), number::percent(high)),
        None if c.repetitions < 2 => value,
        None => format!("{value} ({} to {})", number::percent(low), number::percent(high)),
    }
}

/// Whether a declared difference is better or worse.
pub(crate) fn tone(comparison: &Comparison, metric: &Metric) -> Option<Tone> {
    let better = match comparison.decision {
        Decision::Higher => metric.better == Better::Higher,
        Decision::Lower => metric.better == Better::Lower,
        _ => return None,
    };
    Some(if better { Tone::Good } else { Tone::Bad })
}

/// The decision in a few words for a table; `unit` as for [`versus`].
pub(crate) fn decision(c: &Comparison, metric: &Metric, unit: &str) -> String {
    match c.decision {
        Decision::Higher | Decision::Lower => tone(c, metric).map_or("", Tone::change).to_owned(),
        Decision::Suggested => {
            let direction = if metric.is_better(c.ratio, 1.0) { Tone::Good } else { Tone::Bad };
            format!("possibly {}", direction.change())
        }
        Decision::Alike => "equivalent".into(),
        Decision::NoDifferenceSeen => "undecided".into(),
        Decision::TooFewRepetitions { needed } => format!("too few {unit}s ({needed} needed)"),
        Decision::NoReference => "no reference".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::metric::named;
    use pitot_stats::{Samples, judge};

    const THROUGHPUT: &Metric = named("throughput");
    const CPU: &Metric = named("cpu-per-request");
    const LATENCY: &Metric = named("latency-p99");

    fn comparison(ratio: f64, count: u32) -> Comparison {
        let pairs = (0..count).map(|i| (100.0 * ratio * (1.0 + 0.01 * f64::from(i % 3)), 100.0)).collect();
        judge(&[Samples::Paired(pairs)], 0.02).remove(0).unwrap()
    }

    #[test]
    fn large_ratios_are_written_as_multiples_and_small_ones_as_differences() {
        assert_eq!(
            versus(("a", "b"), THROUGHPUT, &comparison(12.0, 8), 0.02, "repetition"),
            "**a** handled 12.1 times [12.0, 12.2] as many requests per second as **b**"
        );
        assert_eq!(
            versus(("a", "b"), CPU, &comparison(0.8, 8), 0.02, "repetition"),
            "**a** used 19% [19%, 20%] less CPU time per request than **b**"
        );
        assert_eq!(
            versus(("a", "b"), LATENCY, &comparison(12.0, 8), 0.02, "repetition"),
            "**a** had 12.1 times [12.0, 12.2] the p99 latency of **b**"
        );
    }

    #[test]
    fn the_best_is_the_highest_or_the_lowest_as_the_metric_says() {
        assert_eq!(superlative(THROUGHPUT), "handled the most requests per second");
        assert_eq!(superlative(CPU), "used the least CPU time per request");
        assert_eq!(superlative(LATENCY), "had the lowest p99 latency");
    }

    #[test]
    fn what_is_not_significant_is_said() {
        let alike = versus(("a", "b"), THROUGHPUT, &comparison(0.995, 8), 0.02, "repetition");
        assert!(alike.contains("equivalent in requests per second to within 2%"), "{alike}");
        let few = versus(("a", "b"), THROUGHPUT, &comparison(3.0, 3), 0.02, "repetition");
        assert!(
            few.contains("3.03 times (3.00 to 3.06)") && few.ends_with("3 repetitions, 4 needed)"),
            "{few}"
        );
    }

    #[test]
    fn an_interval_that_excludes_1_is_not_called_insignificant() {
        let pairs = (0..12).map(|i| (106.0 + f64::from(i % 5) - 2.0, 100.0)).collect();
        let c = judge(&[Samples::Paired(pairs)], 0.05).remove(0).unwrap();
        assert!(c.decision == Decision::NoDifferenceSeen && c.interval.unwrap().low > 1.0, "{c:?}");
        let said = versus(("a", "b"), THROUGHPUT, &c, 0.05, "repetition");
        assert!(said.contains("is not shown to exceed the tolerance of 5%: ratio 1.06"), "{said}");
        assert_eq!(decision(&c, THROUGHPUT, "repetition"), "undecided");
    }

    #[test]
    fn what_many_comparisons_leave_open_is_told_as_not_shown() {
        let c = Comparison { decision: Decision::Suggested, ..comparison(1.1, 8) };
        assert!(c.interval.unwrap().low > 1.0, "{c:?}");
        let said = versus(("a", "b"), THROUGHPUT, &c, 0.05, "repetition");
        let doubt =
            "(not shown to exceed the tolerance of 5%, after correction for the number of comparisons)";
        assert!(said.ends_with(doubt) && !said.contains("significant"), "{said}");
        assert_eq!(shown_to_exceed(0.0), "shown");
    }

    #[test]
    fn a_table_says_which_way_is_better() {
        assert_eq!(decision(&comparison(12.0, 8), THROUGHPUT, "repetition"), "better");
        assert_eq!(decision(&comparison(12.0, 8), CPU, "repetition"), "worse");
        assert_eq!(decision(&comparison(0.1, 8), CPU, "repetition"), "better");
    }
}
