//! Conditions on a result: `p99 < 5ms`, `handshake p95 < 20ms`, `errors <= 0.1%`, `status 5xx < 1%`, `rate >= 10k`.

use std::collections::BTreeMap;
use std::fmt;

use pitot_meter::{Histogram, Nanos, units};
use pitot_results::load::error_share;

use pitot_requests::statuses;

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
    /// A figure of times, in nanoseconds.
    Time(Times, Statistic),
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
    /// Replies with a status from the first to the last.
    Status(u16, u16),
    /// The same as a share of all replies.
    StatusShare(u16, u16),
}

/// Times that conditions refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Response times.
    Response,
    /// Connects.
    Connect,
    /// Full TLS handshakes.
    Handshake,
    /// TLS handshakes that resumed a session.
    Resumption,
    /// Pages with all that belongs to them.
    Page,
    /// From the moment at which a request was sent to the first byte of its reply.
    FirstByte,
    /// Gaps within replies, between one piece and the next.
    Gap,
}

/// The words for times in conditions; the word for response times may be left out.
const TIMES: [(&str, Times); 7] = [
    ("response", Times::Response),
    ("connect", Times::Connect),
    ("handshake", Times::Handshake),
    ("resumption", Times::Resumption),
    ("page", Times::Page),
    ("first-byte", Times::FirstByte),
    ("gap", Times::Gap),
];

/// What of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Statistic {
    Quantile(f64),
    Min,
    Max,
    Mean,
}

impl Statistic {
    fn parse(word: &str) -> Option<Statistic> {
        match word {
            "min" => return Some(Statistic::Min),
            "max" => return Some(Statistic::Max),
            "mean" => return Some(Statistic::Mean),
            _ => {}
        }
        let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
        (0.0..=100.0).contains(&percent).then_some(Statistic::Quantile(percent / 100.0))
    }

    fn of(self, times: &Histogram) -> Nanos {
        match self {
            Statistic::Quantile(quantile) => times.at(quantile),
            Statistic::Min => times.min(),
            Statistic::Max => times.max(),
            Statistic::Mean => times.mean(),
        }
    }
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
         max, mean, errors, missed, rate, status 5xx, status 503; and `first-byte`, `gap`, `connect`, `handshake`, `resumption` \
         or `page` before one of times, as in `handshake p99`)"
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
    /// Connects; this and the following are known at the end of a run only.
    pub connect: Option<&'a Histogram>,
    /// Full TLS handshakes.
    pub handshake: Option<&'a Histogram>,
    /// TLS handshakes that resumed a session.
    pub resumption: Option<&'a Histogram>,
    /// Pages, where users read them.
    pub page: Option<&'a Histogram>,
    /// From sending a request to the first byte of its reply.
    pub first_byte: Option<&'a Histogram>,
    /// Gaps within replies.
    pub gap: Option<&'a Histogram>,
    /// Complete replies by their status.
    pub statuses: Option<&'a BTreeMap<u16, u64>>,
    /// Requests begun.
    pub attempted: u64,
    /// Errors of all phases.
    pub errors: u64,
    /// Arrivals missed.
    pub missed: u64,
    /// Replies per second.
    pub rate: f64,
}

impl<'a> Figures<'a> {
    /// Response times of which nothing else is known.
    pub fn of(response: &'a Histogram) -> Figures<'a> {
        Figures {
            response,
            connect: None,
            handshake: None,
            resumption: None,
            page: None,
            first_byte: None,
            gap: None,
            statuses: None,
            attempted: 0,
            errors: 0,
            missed: 0,
            rate: 0.0,
        }
    }

    /// Times of that kind, if there are any.
    fn times(&self, of: Times) -> Option<&'a Histogram> {
        let times = match of {
            Times::Response => Some(self.response),
            Times::Connect => self.connect,
            Times::Handshake => self.handshake,
            Times::Resumption => self.resumption,
            Times::Page => self.page,
            Times::FirstByte => self.first_byte,
            Times::Gap => self.gap,
        };
        times.filter(|times| times.count() > 0)
    }

    /// Replies with a status from the first to the last, and all that have one.
    fn replies(&self, first: u16, last: u16) -> Option<(u64, u64)> {
        let statuses = self.statuses?;
        Some((statuses.range(first..=last).map(|(_, count)| count).sum(), statuses.values().sum()))
    }
}

impl Condition {
    /// Reads conditions that are separated by commas.
    ///
    /// # Errors
    /// If it is no condition.
    pub fn parse_all(text: &str) -> Result<Vec<Condition>, ConditionError> {
        text.split(',').map(Condition::parse).collect()
    }

    /// Reads one condition.
    ///
    /// # Errors
    /// If it is no condition.
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
            "rate" => Metric::Rate,
            "errors" if share.is_some() => Metric::ErrorShare,
            "errors" => Metric::Errors,
            "missed" if share.is_some() => Metric::MissedShare,
            "missed" => Metric::Missed,
            _ => status(figure, share.is_some())
                .or_else(|| time(figure))
                .ok_or_else(|| ConditionError::Metric(figure.to_owned()))?,
        };
        let bad = |why: String| ConditionError::Limit(text.to_owned(), why);
        let limit = match (metric, share) {
            (Metric::ErrorShare | Metric::MissedShare | Metric::StatusShare(..), Some(percent)) => {
                match percent.parse::<f64>() {
                    Ok(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
                    _ => return Err(bad(format!("`{percent}` is not a percentage"))),
                }
            }
            (Metric::Errors | Metric::Missed | Metric::Status(..), _) => {
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
        match self.metric {
            Metric::Time(times, statistic) => Some(statistic.of(figures.times(times)?).0 as f64),
            Metric::Errors => Some(figures.errors as f64),
            Metric::Missed => Some(figures.missed as f64),
            Metric::ErrorShare => error_share(figures.errors, figures.attempted + figures.missed),
            Metric::MissedShare => share(figures.missed, figures.missed + figures.attempted),
            Metric::Rate => Some(figures.rate),
            Metric::Status(first, last) => figures.replies(first, last).map(|(part, _)| part as f64),
            Metric::StatusShare(first, last) => {
                figures.replies(first, last).and_then(|(part, whole)| share(part, whole))
            }
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
    pub fn wants_more_of_a_cost(&self) -> bool {
        let is_cost = match self.metric {
            Metric::Rate => false,
            // More replies that say that all is well are better.
            Metric::Status(first, _) | Metric::StatusShare(first, _) => first >= 400,
            _ => true,
        };
        is_cost && matches!(self.relation, Relation::Above | Relation::AtLeast)
    }

    /// Whether it is about replies, errors, missed arrivals or the rate: figures that are known while a load goes on.
    pub fn is_of_replies(&self) -> bool {
        self.times().is_none_or(|times| times == Times::Response) && !self.is_of_statuses()
    }

    /// Whether it is about the statuses of replies.
    pub fn is_of_statuses(&self) -> bool {
        matches!(self.metric, Metric::Status(..) | Metric::StatusShare(..))
    }

    /// The times that it is about, if it is about times.
    pub fn times(&self) -> Option<Times> {
        match self.metric {
            Metric::Time(times, _) => Some(times),
            _ => None,
        }
    }

    /// Whether it limits errors.
    pub fn limits_errors(&self) -> bool {
        matches!(self.metric, Metric::Errors | Metric::ErrorShare)
    }

    /// The figure as it is now, for a message: `p99 is 7.20 ms`.
    pub fn describe(&self, figures: &Figures<'_>) -> String {
        let figure = self.text.split(['<', '>']).next().unwrap_or_default().trim();
        let Some(value) = self.value(figures) else {
            let why = if self.times() == Some(Times::Gap) { ": each reply came in one piece" } else { "" };
            return format!("{figure} is unknown{why}");
        };
        let shown = match self.metric {
            Metric::Time(..) => Nanos(value as u64).to_string(),
            Metric::ErrorShare | Metric::MissedShare | Metric::StatusShare(..) => {
                format!("{:.3}%", value * 100.0)
            }
            Metric::Errors | Metric::Missed | Metric::Status(..) => format!("{value}"),
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

/// `p99.9`, `handshake p99`.
fn time(figure: &str) -> Option<Metric> {
    match figure.split_once(char::is_whitespace) {
        None => Some(Metric::Time(Times::Response, Statistic::parse(figure)?)),
        Some((word, statistic)) => {
            let (_, times) = TIMES.iter().find(|(name, _)| *name == word)?;
            Some(Metric::Time(*times, Statistic::parse(statistic.trim())?))
        }
    }
}

/// `status 5xx`, `status 503`, `status 500-503`.
fn status(figure: &str, is_share: bool) -> Option<Metric> {
    let (word, which) = figure.split_once(char::is_whitespace)?;
    let ranges = Some(which.trim()).filter(|_| word == "status").and_then(|which| statuses(which).ok())?;
    let [range] = &*ranges else { return None };
    let (first, last) = (*range.start(), *range.end());
    if first > last {
        return None;
    }
    Some(if is_share { Metric::StatusShare(first, last) } else { Metric::Status(first, last) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(text: &str) -> bool {
        let mut response = Histogram::new();
        for ms in 1..=1000 {
            response.record(Nanos::from_millis(ms));
        }
        let mut handshake = Histogram::new();
        handshake.record(Nanos::from_millis(7));
        let mut gap = Histogram::new();
        (1..=100).for_each(|ms| gap.record(Nanos::from_millis(ms)));
        let figures = Figures {
            first_byte: Some(&handshake),
            gap: Some(&gap),
            statuses: Some(&BTreeMap::from([(200, 970), (404, 10), (500, 5), (503, 15)])),
            connect: Some(&Histogram::new()),
            handshake: Some(&handshake),
            attempted: 1000,
            errors: 10,
            rate: 100.0,
            ..Figures::of(&response)
        };
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
            ("response p50 < 502ms", true),
            ("handshake p99 > 6ms", true),
            ("handshake  max<5ms", false),
            ("connect p99 < 5ms", false),
            ("resumption min < 5s", false),
            ("first-byte p99 > 6ms", true),
            ("first-byte max > 8ms", false),
            ("gap p95 > 90ms", true),
            ("gap p95 < 90ms", false),
            ("status 5xx > 1%", true),
            ("status 5xx > 2%", false),
            ("status 503 >= 15", true),
            ("status 503 > 1.5%", false),
            ("status 400-599 >= 3%", true),
            ("status 301 > 0", false),
            ("status 2xx < 98%", true),
        ] {
            assert_eq!(met(text), expected, "{text}");
        }
    }

    #[test]
    fn nothing_is_met_or_missed_before_there_is_something_to_judge() {
        let response = Histogram::new();
        let figures = Figures::of(&response);
        for text in [
            "p99 < 5ms",
            "page p99 < 5ms",
            "gap max < 1s",
            "errors > 1%",
            "status 5xx > 1%",
            "status 200 > 5",
        ] {
            let condition = Condition::parse(text).unwrap();
            assert!(condition.met(&figures, true) && !condition.met(&figures, false));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for text in [
            "p99",
            "p101 < 5ms",
            "handshake < 5ms",
            "handshakes p99 < 5ms",
            "page errors < 1",
            "p99 page < 5ms",
            "q99 < 5ms",
            "p99 < 5",
            "errors < 5ms",
            "errors < 200%",
            "rate > x",
            "< 5",
            "status > 1%",
            "status 6000 > 1%",
            "status 503-500 > 1%",
            "status 5xx > 5ms",
            "status 5xx p99 > 1",
            "first-byte > 5ms",
            "gap errors > 1",
        ] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
        // What the message offers is taken.
        let offered = Condition::parse("q99 < 5ms").unwrap_err().to_string();
        let offered = offered.split("they are ").nth(1).unwrap().split(';').next().unwrap();
        for figure in offered.split(", ").map(|figure| figure.split(" or ").next().unwrap()) {
            let limit = match figure {
                "errors" | "missed" | "status 5xx" | "status 503" => "1%",
                "rate" => "10rps",
                _ => "5ms",
            };
            assert!(Condition::parse(&format!("{figure} > {limit}")).is_ok(), "{figure}");
        }
        assert_eq!(Condition::parse_all("p99 < 5ms, errors < 1%").unwrap().len(), 2);
    }
}
