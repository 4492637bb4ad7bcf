//! Conditions on a result: `p99 < 5ms`, `errors <= 0.1%`, `rate >= 10k`.

use std::fmt;

use pitot_meter::{Histogram, Nanos, units};
use pitot_results::load::error_share;

/// A figure, a relation and a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    metric: Metric,
    relation: Relation,
    limit: f64,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Metric {
    /// A quantile of response times, in nanoseconds.
    Quantile(f64),
    /// The shortest response time, in nanoseconds.
    Min,
    /// The longest response time, in nanoseconds.
    Max,
    /// The mean response time, in nanoseconds.
    Mean,
    /// Errors.
    Errors,
    /// Errors as a share of the requests that were due or begun.
    ErrorShare,
    /// Replies per second.
    Rate,
    /// Arrivals missed.
    Missed,
    /// Arrivals missed as a share of those due.
    MissedShare,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// Why a text is not a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// No relation sign.
    #[error("the condition `{0}` has no `<`, `<=`, `>` or `>=`")]
    Relation(String),
    /// An unknown figure.
    #[error(
        "`{0}` is not a figure of a result (they are min, p50, p75, p90, p95, p99, p99.9, p99.99 or any other percentile, \
         max, mean, errors, missed, rate)"
    )]
    Metric(String),
    /// A limit that does not suit the figure.
    #[error("the limit in `{0}` does not fit its figure: {1}")]
    Limit(String, String),
}

/// The figures that conditions refer to.
#[derive(Clone, Copy, Debug)]
pub struct Figures<'a> {
    /// Response times.
    pub response: &'a Histogram,
    /// Requests begun.
    pub attempted: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// Replies per second.
    pub rate: f64,
}

impl Condition {
    /// Reads conditions that are separated by commas.
    ///
    /// # Errors
    /// See [`ConditionError`].
    pub fn parse_all(text: &str) -> Result<Vec<Condition>, ConditionError> {
        text.split(',').map(Condition::parse).collect()
    }

    /// Reads one condition.
    ///
    /// # Errors
    /// See [`ConditionError`].
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let text = text.trim();
        let relation = || ConditionError::Relation(text.to_owned());
        let sign = text.find(['<', '>']).ok_or_else(relation)?;
        let (figure, rest) = text.split_at(sign);
        let (relation, limit) = match (rest.strip_prefix("<="), rest.strip_prefix(">=")) {
            (Some(limit), _) => (Relation::AtMost, limit),
            (_, Some(limit)) => (Relation::AtLeast, limit),
            _ if rest.starts_with('<') => (Relation::Below, &rest[1..]),
            _ => (Relation::Above, &rest[1..]),
        };
        let (figure, limit) = (figure.trim(), limit.trim());
        let share = limit.strip_suffix('%').map(str::trim);
        let metric = match figure {
            "min" => Metric::Min,
            "max" => Metric::Max,
            "mean" => Metric::Mean,
            "rate" => Metric::Rate,
            "errors" if share.is_some() => Metric::ErrorShare,
            "errors" => Metric::Errors,
            "missed" if share.is_some() => Metric::MissedShare,
            "missed" => Metric::Missed,
            _ => quantile(figure).ok_or_else(|| ConditionError::Metric(figure.to_owned()))?,
        };
        let bad = |why: String| ConditionError::Limit(text.to_owned(), why);
        let limit = match (metric, share) {
            (Metric::ErrorShare | Metric::MissedShare, Some(percent)) => match percent.parse::<f64>() {
                Ok(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
                _ => return Err(bad(format!("`{percent}` is not a percentage"))),
            },
            (Metric::Errors | Metric::Missed, _) => {
                units::count(limit).map(|n| n as f64).map_err(|e| bad(e.to_string()))?
            }
            (Metric::Rate, _) => units::rate(limit).map_err(|e| bad(e.to_string()))?,
            _ => units::duration(limit).map(|d| d.0 as f64).map_err(|e| bad(e.to_string()))?,
        };
        Ok(Condition { metric, relation, limit, text: text.to_owned() })
    }

    /// The figure that the condition limits; `None` if there is no sample of it yet.
    fn value(&self, figures: &Figures<'_>) -> Option<f64> {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let response = |value: Nanos| (figures.response.count() > 0).then_some(value.0 as f64);
        match self.metric {
            Metric::Quantile(quantile) => response(figures.response.at(quantile)),
            Metric::Min => response(figures.response.min()),
            Metric::Max => response(figures.response.max()),
            Metric::Mean => response(figures.response.mean()),
            Metric::Errors => Some(figures.errors as f64),
            Metric::Missed => Some(figures.missed as f64),
            Metric::ErrorShare => error_share(figures.errors, figures.attempted + figures.missed),
            Metric::MissedShare => share(figures.missed, figures.missed + figures.attempted),
            Metric::Rate => Some(figures.rate),
        }
    }

    /// Whether the figures meet the condition; `otherwise` if its figure is not known yet.
    pub fn met(&self, figures: &Figures<'_>, otherwise: bool) -> bool {
        let Some(value) = self.value(figures) else { return otherwise };
        match self.relation {
            Relation::Below => value < self.limit,
            Relation::AtMost => value <= self.limit,
            Relation::Above => value > self.limit,
            Relation::AtLeast => value >= self.limit,
        }
    }

    /// Whether it sets a lower limit to what grows with the load: `p99 > 5ms` asks for a slow server.
    pub(crate) fn wants_more_of_a_cost(&self) -> bool {
        self.metric != Metric::Rate && matches!(self.relation, Relation::Above | Relation::AtLeast)
    }

    /// Whether it limits errors.
    pub(crate) fn limits_errors(&self) -> bool {
        matches!(self.metric, Metric::Errors | Metric::ErrorShare)
    }

    /// The figure as it is now, for a message: `p99 is 7.20 ms`.
    pub fn describe(&self, figures: &Figures<'_>) -> String {
        let figure = self.text.split(['<', '>']).next().unwrap_or_default().trim();
        let Some(value) = self.value(figures) else { return format!("{figure} is not known") };
        let shown = match self.metric {
            Metric::Quantile(_) | Metric::Min | Metric::Max | Metric::Mean => Nanos(value as u64).to_string(),
            Metric::ErrorShare | Metric::MissedShare => format!("{:.3}%", value * 100.0),
            Metric::Errors | Metric::Missed => format!("{value}"),
            Metric::Rate => format!("{value:.1} rps"),
        };
        format!("{figure} is {shown}")
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// `p99.9` as a fraction.
fn quantile(figure: &str) -> Option<Metric> {
    let percent: f64 = figure.strip_prefix('p')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(Metric::Quantile(percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(text: &str) -> bool {
        let mut response = Histogram::new();
        for ms in 1..=1000 {
            response.record(Nanos::from_millis(ms));
        }
        let figures = Figures { response: &response, attempted: 1000, errors: 10, missed: 0, rate: 100.0 };
        Condition::parse(text).unwrap().met(&figures, false)
    }

    #[test]
    fn conditions_judge_their_figures() {
        for (text, expected) in [
            ("p50 < 502ms", true),
            ("p50<499ms", false),
            ("p99.9 > 990ms", true),
            ("max <= 1.1s", true),
            ("mean >= 600ms", false),
            ("errors > 1%", false),
            ("errors >= 1%", true),
            ("errors < 10", false),
            ("errors <= 10", true),
            ("rate >= 100rps", true),
            ("rate > 0.1k", false),
            ("missed <= 0", true),
            ("missed < 0.1%", true),
        ] {
            assert_eq!(met(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_met_or_missed_before_there_is_something_to_judge() {
        let response = Histogram::new();
        let figures = Figures { response: &response, attempted: 0, errors: 0, missed: 0, rate: 0.0 };
        for text in ["p99 < 5ms", "errors > 1%"] {
            let condition = Condition::parse(text).unwrap();
            assert!(condition.met(&figures, true) && !condition.met(&figures, false));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for text in
            ["p99", "p101 < 5ms", "q99 < 5ms", "p99 < 5", "errors < 5ms", "errors < 200%", "rate > x", "< 5"]
        {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        // What the message offers is taken.
        let offered = Condition::parse("q99 < 5ms").unwrap_err().to_string();
        let offered = offered.split("they are ").nth(1).unwrap().trim_end_matches(')');
        for figure in offered.split(", ").map(|figure| figure.split(' ').next().unwrap()) {
            let limit = match figure {
                "errors" | "missed" => "1%",
                "rate" => "10rps",
                _ => "5ms",
            };
            assert!(Condition::parse(&format!("{figure} > {limit}")).is_ok(), "{figure}");
        }
        assert_eq!(Condition::parse_all("p99 < 5ms, errors < 1%").unwrap().len(), 2);
    }
}
