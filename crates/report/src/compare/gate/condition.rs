//! What a gate asks for, and how it is written.
//!
//! | form | met by a cell |
//! |---|---|
//! | `METRIC < -5%`, `METRIC > +10%` | that changed by more from the first run to the second |
//! | `METRIC > 2ms`, `METRIC < 50k` | whose value in the second run is beyond this |
//! | `spread > 10%` | whose repetitions in the second run vary by more than this in the plan's metric |
//! | `noisy`, `failed` ... | that has this verdict in the second run |
//!
//! METRIC is a metric's name or title (`throughput`, `cpu-per-request`, `p99`, `memory` ...). A metric that is itself a
//! percentage, such as `error-rate`, takes a signed change (`> +10%`) or a limit without sign (`> 1%`).

use pitot_meter::{Nanos, units};
use pitot_record::{METRICS, Metric, Unit, metric};
use pitot_results::Failure;
use pitot_results::VerdictKind;
use std::fmt;
use std::str::FromStr;

/// The word for the variation between the repetitions of a cell.
const SPREAD: &str = "spread";

/// A condition on the cells of a comparison.
#[derive(Clone, Debug)]
pub struct Gate {
    text: String,
    pub(super) condition: Condition,
}

/// What a cell must do to meet a gate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Condition {
    /// Its metric changes by more than a ratio from the first run to the second.
    Change(&'static Metric, Bound),
    /// Its metric is beyond a value, in the metric's unit, in the second run.
    Limit(&'static Metric, Bound),
    Spread(f64),
    Verdict(VerdictKind),
}

/// A value and the side of it on which a gate is met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) above: bool,
    pub(super) value: f64,
}

fn names() -> String {
    METRICS.iter().filter(|m| m.is_of_runs()).map(|m| m.name).collect::<Vec<_>>().join(", ")
}

/// The verdicts that a gate may name.
fn verdicts() -> Vec<&'static str> {
    VerdictKind::ALL.into_iter().filter(|kind| *kind != VerdictKind::Valid).map(VerdictKind::name).collect()
}

/// The metric of a name, `cpu-per-request` or `cpu_per_request`, or of a title, `p99`.
fn find(name: &str) -> Option<&'static Metric> {
    let found = metric::find(&name.replace('_', "-")).or_else(|| METRICS.iter().find(|m| m.title == name));
    found.filter(|metric| metric.is_of_runs())
}

impl FromStr for Gate {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Gate, Failure> {
        let text = text.trim();
        let condition = match text.find(['<', '>']) {
            None => {
                let verdict = VerdictKind::from_name(text).filter(|kind| *kind != VerdictKind::Valid);
                Condition::Verdict(verdict.ok_or_else(|| other_form(text))?)
            }
            Some(sign) => {
                let above = text[sign..].starts_with('>');
                bounded(text, text[..sign].trim(), above, text[sign + 1..].trim())?
            }
        };
        Ok(Gate { text: text.to_owned(), condition })
    }
}

fn other_form(text: &str) -> Failure {
    let verdicts = verdicts().join(", ");
    let fix = format!(
        "write METRIC < -5% or METRIC > +5% for a change, METRIC > 2ms for a limit, {SPREAD} > 10%, or one of: {verdicts}"
    );
    Failure::misuse(format!("{text:?} is not a condition"), fix)
}

/// The condition of a name, a sign and a bound.
fn bounded(text: &str, name: &str, above: bool, word: &str) -> Result<Condition, Failure> {
    if name == SPREAD {
        let share = percentage(word).filter(|share| above && *share >= 0.0);
        let what = || format!("{text:?} is not a limit for the spread");
        return share
            .map(Condition::Spread)
            .ok_or_else(|| Failure::misuse(what(), format!("write {SPREAD} > 10%")));
    }
    if let Some(rest) = word.strip_prefix('=') {
        let sign = if above { '>' } else { '<' };
        let fix = format!("write {name} {sign} {}", rest.trim());
        return Err(Failure::misuse(format!("{text:?} is not a condition: use < or > without ="), fix));
    }
    let unknown = || match metric::new_name(name) {
        Some(new) => Failure::misuse(format!("`{name}` is now called `{new}`"), format!("write {new}")),
        None => {
            let fix = format!("use one of: {}, {SPREAD}", names());
            Failure::misuse(format!("{name:?} is not a metric"), fix)
        }
    };
    let metric = find(name).ok_or_else(unknown)?;
    let neither = || {
        let limit = example(metric.unit);
        let fix = format!(
            "write a signed percentage for a change, such as -5% or +10%, or a limit such as {limit}"
        );
        Failure::misuse(format!("{word:?} is neither a change nor a limit"), fix)
    };
    let is_change = word.ends_with('%') && (metric.unit != Unit::Percent || word.starts_with(['+', '-']));
    if !is_change {
        let value = limit(word, metric.unit).ok_or_else(neither)?;
        return Ok(Condition::Limit(metric, Bound { above, value }));
    }
    let share = percentage(word).filter(|share| *share > -1.0).ok_or_else(neither)?;
    if (above && share < 0.0) || (!above && share > 0.0) {
        let what = format!("{text:?} is met even if nothing changes");
        return Err(Failure::misuse(what, "write METRIC < -5% for a fall, METRIC > +5% for a rise"));
    }
    Ok(Condition::Change(metric, Bound { above, value: 1.0 + share }))
}

/// `-5%` as a share.
fn percentage(word: &str) -> Option<f64> {
    let number = word.strip_suffix('%')?.trim().trim_start_matches('+').parse::<f64>().ok()?;
    number.is_finite().then_some(number / 100.0)
}

/// A limit in the unit of a metric, as typed or as a report prints it: `2ms`, `1.5 MiB`, `50k`, `20 µs`.
fn limit(word: &str, unit: Unit) -> Option<f64> {
    let word: String = word.split_whitespace().collect::<String>().replace('µ', "u");
    let word = word.as_str();
    match unit {
        Unit::Nanoseconds => units::duration(word).ok().map(|Nanos(ns)| ns as f64),
        Unit::Seconds => units::duration(word).ok().map(Nanos::as_secs_f64),
        Unit::Bytes => units::size(word).ok().map(|bytes| bytes as f64),
        Unit::BytesPerSecond => {
            let bytes = word.strip_suffix("/s").unwrap_or(word);
            let decimal = || units::rate(&bytes.strip_suffix('B')?.replace("kB", "k")).ok();
            units::size(bytes).ok().map(|bytes| bytes as f64).or_else(decimal)
        }
        Unit::PerSecond | Unit::Count => units::rate(word).ok(),
        Unit::Percent => percentage(word).filter(|share| *share >= 0.0).map(|share| share * 100.0),
    }
}

fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "2ms",
        Unit::Seconds => "10s",
        Unit::Bytes => "64MiB",
        Unit::BytesPerSecond => "100MB/s",
        Unit::PerSecond => "50k",
        Unit::Count => "1.5",
        Unit::Percent => "1%",
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Gate {
    /// The metric that it bounds; none for a spread or a verdict.
    pub fn metric(&self) -> Option<&'static Metric> {
        match self.condition {
            Condition::Change(metric, _) | Condition::Limit(metric, _) => Some(metric),
            Condition::Spread(_) | Condition::Verdict(_) => None,
        }
    }

    /// The change from which on it can be met, as a share; none if it does not bound a change.
    pub fn change(&self) -> Option<f64> {
        match self.condition {
            Condition::Change(_, bound) => Some((bound.value - 1.0).abs()),
            Condition::Limit(..) | Condition::Spread(_) | Condition::Verdict(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_a_metric_a_side_and_a_percentage() {
        for (text, name, above, ratio) in [
            ("throughput < -5%", "throughput", false, 0.95),
            ("p99>+10%", "latency-p99", true, 1.1),
            ("p99.9 > 10%", "latency-p99.9", true, 1.1),
            ("cpu_per_request > +2.5 %", "cpu-per-request", true, 1.025),
            ("memory > 0%", "memory", true, 1.0),
            ("error-rate > +10%", "error-rate", true, 1.1),
        ] {
            let Condition::Change(metric, bound) = text.parse::<Gate>().unwrap().condition else {
                panic!("{text} is a change")
            };
            assert_eq!((metric.name, bound.above), (name, above), "{text}");
            assert!((bound.value - ratio).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn a_limit_is_in_the_unit_of_its_metric() {
        for (text, name, above, value) in [
            ("p99 > 2ms", "latency-p99", true, 2e6),
            ("throughput < 50k", "throughput", false, 50_000.0),
            ("cpu-per-request > 20 µs", "cpu-per-request", true, 20_000.0),
            ("memory > 64MiB", "memory", true, 67_108_864.0),
            ("transfer-rate < 100MB/s", "transfer-rate", false, 1e8),
            ("transfer-rate < 10kB/s", "transfer-rate", false, 1e4),
            ("files-time > 1.5s", "files-time", true, 1.5),
            ("error-rate > 1%", "error-rate", true, 1.0),
            ("switches/request > 1.5", "context-switches-per-request", true, 1.5),
        ] {
            let Condition::Limit(metric, bound) = text.parse::<Gate>().unwrap().condition else {
                panic!("{text} is a limit")
            };
            assert_eq!((metric.name, bound.above), (name, above), "{text}");
            assert!((bound.value / value - 1.0).abs() < 1e-12, "{text}: {}", bound.value);
        }
        for metric in METRICS {
            assert!(limit(example(metric.unit), metric.unit).is_some(), "{}", metric.name);
        }
    }

    #[test]
    fn noise_can_be_a_condition() {
        let of = |text: &str| text.parse::<Gate>().unwrap().condition;
        assert!(matches!(of("noisy"), Condition::Verdict(VerdictKind::Noisy)));
        assert!(matches!(of("spread > 10%"), Condition::Spread(share) if (share - 0.1).abs() < 1e-12));
    }

    #[test]
    fn a_wrong_condition_is_refused_with_its_fix() {
        for (text, fix) in [
            ("throughput", "METRIC < -5%"),
            ("valid", "client-bound, network-bound"),
            ("speed < -5%", "throughput, cpu-per-request"),
            ("switches-per-request < -5%", "write context-switches-per-request"),
            ("throughput < -5", "signed percentage"),
            ("throughput < x%", "signed percentage"),
            ("throughput < -100%", "signed percentage"),
            ("throughput < 2ms", "a limit such as 50k"),
            ("p99 > 2", "a limit such as 2ms"),
            ("throughput > -5%", "for a fall"),
            ("p99 < 5%", "for a fall"),
            ("spread < 10%", "spread > 10%"),
            ("throughput <= -5%", "write throughput < -5%"),
        ] {
            let failure = text.parse::<Gate>().unwrap_err();
            assert!(failure.fix.contains(fix), "{text}: {failure:?}");
            assert!(!failure.what.contains('\n'), "{text}: {failure:?}");
        }
    }
}
