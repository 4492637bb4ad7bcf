//! The words for metrics, comparisons and lists of names in sentences. Names that matter stand between `**`.

use crate::number;
use pitot_lab::Metric;
use pitot_lab::statistics::{Comparison, Decision};

/// How a sentence speaks of a metric.
struct Words {
    noun: &'static str,
    verb: &'static str,
    more: &'static str,
    less: &'static str,
}

/// Speaks of `metric`; what has no words of its own is spoken of by its title.
fn words(metric: &Metric) -> Words {
    let (noun, verb, more, less) = match metric.name {
        "throughput" => ("requests a second", "carried", "more", "fewer"),
        "cpu-per-request" => ("CPU time per request", "used", "more", "less"),
        "user-per-request" => ("user CPU time per request", "used", "more", "less"),
        "system-per-request" => ("system CPU time per request", "used", "more", "less"),
        "latency-p50" => ("median latency", "had", "higher", "lower"),
        "latency-p90" => ("p90 latency", "had", "higher", "lower"),
        "latency-p99" => ("p99 latency", "had", "higher", "lower"),
        "latency-p99.9" => ("p99.9 latency", "had", "higher", "lower"),
        "latency-max" => ("longest latency", "had", "higher", "lower"),
        "transfer-rate" => ("bytes a second", "carried", "more", "fewer"),
        "cpu-per-megabyte" => ("CPU time per megabyte", "used", "more", "less"),
        "gap-p99" => ("p99 gap within a reply", "had", "longer", "shorter"),
        "gap-max" => ("longest gap within a reply", "had", "longer", "shorter"),
        "files-time" => ("time for all files", "needed", "more", "less"),
        "create-time" => ("time to create files", "needed", "more", "less"),
        "write-time" => ("time to write files", "needed", "more", "less"),
        "read-time" => ("time to read files", "needed", "more", "less"),
        "setup-time" => ("set-up time", "needed", "more", "less"),
        "server-cpu" => ("CPU", "used", "more", "less"),
        "server-memory" | "memory" => ("memory", "used", "more", "less"),
        "memory-per-connection" => ("memory per connection", "used", "more", "less"),
        _ => (metric.title, "had", "higher", "lower"),
    };
    Words { noun, verb, more, less }
}

/// A metric's noun: `requests a second`.
pub(crate) fn noun(metric: &Metric) -> &'static str {
    words(metric).noun
}

/// What the best of a metric does: `carries the most requests a second`, `has the lowest p99 latency`.
pub(crate) fn superlative(metric: &Metric, several: bool) -> String {
    let noun = noun(metric);
    let higher = metric.better == pitot_lab::Better::Higher;
    let (one, many, amount) = match metric.name {
        "throughput" => ("carries", "carry", "most"),
        "transfer-rate" => ("carries", "carry", "most"),
        "cpu-per-request" | "user-per-request" | "system-per-request" | "cpu-per-megabyte" => {
            ("needs", "need", "least")
        }
        "files-time"
        | "create-time"
        | "write-time"
        | "read-time"
        | "setup-time"
        | "server-cpu"
        | "server-memory"
        | "memory"
        | "memory-per-connection" => ("needs", "need", "least"),
        _ if higher => ("has", "have", "highest"),
        _ => ("has", "have", "lowest"),
    };
    format!("{} the {amount} {noun}", if several { many } else { one })
}

/// The sentence of a comparison without its place: `**a** carried 11.9 times [10.8, 13.1] the requests a second of **b**`.
pub(crate) fn versus(
    candidate: &str,
    baseline: &str,
    metric: &Metric,
    c: &Comparison,
    tolerance: f64,
) -> String {
    let Words { noun, verb, more, less } = words(metric);
    match c.decision {
        Decision::NoDifferenceSeen => {
            return format!(
                "no difference seen between **{candidate}** and **{baseline}** in {noun}: ratio {}",
                ratio(c)
            );
        }
        Decision::Alike => {
            return format!(
                "**{candidate}** and **{baseline}** are alike in {noun} to within {}: ratio {}",
                number::percent(tolerance),
                ratio(c)
            );
        }
        Decision::Higher | Decision::Lower | Decision::Suggested | Decision::TooFewRepetitions { .. } => {}
    }
    let doubt = match c.decision {
        Decision::TooFewRepetitions { needed } => {
            let s = if c.repetitions == 1 { "" } else { "s" };
            format!(" (not certain: {} repetition{s}, {needed} needed)", c.repetitions)
        }
        Decision::Suggested => " (not certain: one of many comparisons)".to_owned(),
        _ => String::new(),
    };
    if (0.67..1.5).contains(&c.ratio) {
        let direction = if c.ratio >= 1.0 { more } else { less };
        format!("**{candidate}** {verb} {} {direction} {noun} than **{baseline}**{doubt}", difference(c))
    } else {
        format!("**{candidate}** {verb} {} the {noun} of **{baseline}**{doubt}", times(c))
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

/// The same as `11.9 times [10.8, 13.1]`.
pub(crate) fn times(c: &Comparison) -> String {
    let whole = ratio(c);
    let (value, rest) = whole.split_once(' ').unwrap_or((&whole, ""));
    format!("{value} times {rest}").trim_end().to_owned()
}

/// A ratio near one as a difference: `4.2% [1.1%, 7.4%]`, whichever way it goes.
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

/// What was decided, in two or three words for a table.
pub(crate) fn decision(comparison: &Comparison, better_is_higher: bool) -> String {
    match comparison.decision {
        Decision::Higher => if better_is_higher { "better" } else { "worse" }.into(),
        Decision::Lower => if better_is_higher { "worse" } else { "better" }.into(),
        Decision::Suggested if (comparison.ratio > 1.0) == better_is_higher => "better? not certain".into(),
        Decision::Suggested => "worse? not certain".into(),
        Decision::Alike => "alike".into(),
        Decision::NoDifferenceSeen => "no difference seen".into(),
        Decision::TooFewRepetitions { needed } => format!("too few ({needed} needed)"),
    }
}

/// Names in a list: `**a**`, `**a** and **b**`, `**a**, **b** and 3 others`.
pub(crate) fn list(names: &[&str]) -> String {
    let bold = |name: &&str| format!("**{name}**");
    match names {
        [] => String::new(),
        [one] => bold(one),
        [front @ .., last] if front.len() < 3 => {
            format!("{} and {}", front.iter().map(bold).collect::<Vec<_>>().join(", "), bold(last))
        }
        [first, second, rest @ ..] => format!("{}, {} and {} others", bold(first), bold(second), rest.len()),
    }
}

/// A sentence: its first letter large, a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let start = text.find(|c: char| c != '*').unwrap_or(0);
    let (marks, rest) = text.split_at(start);
    let mut letters = rest.chars();
    let first = letters.next();
    let stop = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    // A name keeps its spelling: `**poll**` is what a user types, also at the start of a sentence.
    let head: String = match first {
        Some(c) if marks.is_empty() => c.to_uppercase().collect(),
        Some(c) => c.to_string(),
        None => String::new(),
    };
    format!("{marks}{head}{}{stop}", letters.as_str())
}

/// A heading: its first letter large, but for words like `p99`.
pub(crate) fn capital(text: &str) -> String {
    if text.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) {
        return text.to_owned();
    }
    sentence(text).trim_end_matches('.').to_owned()
}

/// The sentence without its marks, for plain text.
pub(crate) fn unmarked(text: &str) -> String {
    text.replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_lab::metric;
    use pitot_lab::statistics::{Samples, judge};

    fn comparison(ratio: f64, count: u32) -> Comparison {
        let pairs = (0..count).map(|i| (100.0 * ratio * (1.0 + 0.01 * f64::from(i % 3)), 100.0)).collect();
        judge(&[Samples::Paired(pairs)], 0.02).remove(0).unwrap()
    }

    #[test]
    fn large_ratios_are_told_as_times_and_small_ones_as_a_difference() {
        let throughput = metric::find("throughput").unwrap();
        let cpu = metric::find("cpu-per-request").unwrap();
        assert_eq!(
            versus("a", "b", throughput, &comparison(12.0, 8), 0.02),
            "**a** carried 12.1 times [12.0, 12.2] the requests a second of **b**"
        );
        assert_eq!(
            versus("a", "b", cpu, &comparison(0.8, 8), 0.02),
            "**a** used 19% [19%, 20%] less CPU time per request than **b**"
        );
    }

    #[test]
    fn what_was_not_seen_is_said() {
        let throughput = metric::find("throughput").unwrap();
        let alike = versus("a", "b", throughput, &comparison(0.995, 8), 0.02);
        assert!(alike.contains("alike in requests a second to within 2%"), "{alike}");
        let few = versus("a", "b", throughput, &comparison(3.0, 3), 0.02);
        assert!(
            few.contains("3.03 times (3.00 to 3.06)") && few.ends_with("3 repetitions, 4 needed)"),
            "{few}"
        );
    }

    #[test]
    fn sentences_begin_large_but_names_keep_their_spelling() {
        assert_eq!(sentence("no difference seen"), "No difference seen.");
        assert_eq!(sentence("**poll** leads"), "**poll** leads.");
        assert_eq!(list(&["a", "b"]), "**a** and **b**");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "**a**, **b** and 3 others");
        assert_eq!(unmarked("**a** and **b**"), "a and b");
    }
}
