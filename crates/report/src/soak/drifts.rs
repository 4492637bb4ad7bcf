//! Drifts: the trend of each figure of a server (`pitot_stats::drift`), and the smallest trend that would have been seen.
//!
//! A drift is declared only if it moved its figure during the run: a time, a rate or memory of the machine by 5%, memory of a server
//! by 1% and 64 KiB, a count by two. The figures of a server are one family (Holm): without drift, one soak of twenty has a false
//! alarm for a server.
//!
//! A busy machine makes every server slower. What is judged of a time ([`Meaning::Time`]) is what the same time of the control does not
//! explain ([`adjusted`]). Where they do not move together from one interval to the next, but the control has a trend
//! ([`Beside::trend`]), a drift must be beyond it, as a share of each figure; that of CPU time per request ([`Meaning::Cost`]) likewise, and
//! that of a rate ([`Meaning::Pace`]) beyond the trend of the CPU time that other programs leave.

use pitot_record::Unit;
use pitot_record::metric::Meaning;
use pitot_stats::drift::{Course, Drift, Question, Series as Asked, Tolerance, adjusted, drift};
use pitot_stats::holm;
use serde_json::{Value, json};

use super::beside::Beside;
use super::series::{Figure, Series};
use crate::number::figure;

/// The chance of a false alarm for a server.
const LEVEL: f64 = 0.05;
/// A drift must exceed this share of the figure, over the whole run,
const SHARE: f64 = 0.05;
/// or this share of the memory of a server,
const MEMORY_SHARE: f64 = 0.01;
/// and this, in bytes,
const MEMORY_BYTES: f64 = 65_536.0;
/// or this for counts: descriptors, threads, sockets.
const COUNT: f64 = 2.0;

/// A figure of a server that drifts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drifting {
    /// Whether it is a leak.
    pub is_leak: bool,
    /// The server, the figure and its trend.
    pub sentence: String,
}

/// The answer for a figure.
pub(super) struct Judged {
    figure: Figure,
    /// The load, where a server has several; empty otherwise.
    of: String,
    drift: Drift,
    /// The same with the part of the machine, where it was taken out.
    as_measured: Option<Drift>,
    /// The share of the movements from one interval to the next that was the machine's, and was taken out.
    explained: Option<f64>,
    /// The trend of what shows how busy the machine was, as a share an hour, where nothing was taken out.
    beside_per_hour: f64,
    /// It moved as much as a drift, and not more than what shows how busy the machine was.
    goes_with_machine: bool,
}

/// Judges the figures of a server, or of the machine.
pub(super) fn judge(series: &[Series], beside: &Beside<'_>) -> Vec<Judged> {
    let asked = series.iter().filter(|series| series.figure.meaning != Meaning::Context);
    let mut judged: Vec<Judged> = asked.filter_map(|series| answer(series, beside)).collect();
    let p: Vec<f64> = judged.iter().map(|judged| judged.drift.p).collect();
    for (judged, adjusted) in judged.iter_mut().zip(holm(&p)) {
        let is_beyond = judged.is_beyond();
        let drift = &mut judged.drift;
        drift.p_adjusted = adjusted;
        let is_drift = adjusted < LEVEL && drift.slope_per_hour.abs() > drift.tolerance_per_hour;
        drift.declared = is_drift && is_beyond;
        let moved = |drift: &Drift| drift.p < LEVEL && drift.slope_per_hour.abs() > drift.tolerance_per_hour;
        judged.goes_with_machine =
            (is_drift && !is_beyond) || (!drift.declared && judged.as_measured.as_ref().is_some_and(moved));
        let drift = &mut judged.drift;
        drift.course = match drift.changes.last() {
            _ if drift.declared => Course::Drifts,
            Some(last) => Course::Settled(last.seconds),
            None => Course::Steady,
        };
    }
    judged
}

fn word(kind: pitot_stats::drift::Kind) -> &'static str {
    match kind {
        pitot_stats::drift::Kind::Step => "step",
        pitot_stats::drift::Kind::Bend => "bend",
    }
}

/// None if there are too few intervals, or if it was always 0.
fn answer(series: &Series, beside: &Beside<'_>) -> Option<Judged> {
    if series.points.iter().all(|point| point.1 == 0.0) {
        return None;
    }
    let name = match series.of.as_str() {
        "" => series.figure.title.to_owned(),
        load => format!("{} of the load `{load}`", series.figure.title),
    };
    let question = Question { level: LEVEL, tolerance: tolerance(series), ..Question::default() };
    let of = |points: &[(f64, f64)]| drift(&Asked { figure: &name, points }, &question).ok();
    let as_measured = of(&series.points)?;
    let judged = Judged {
        figure: series.figure,
        of: series.of.clone(),
        drift: as_measured,
        as_measured: None,
        explained: None,
        beside_per_hour: 0.0,
        goes_with_machine: false,
    };
    let explains = if series.figure.meaning == Meaning::Time { beside.of(series) } else { Vec::new() };
    let adjusted = adjusted(&series.points, &explains);
    Some(match adjusted.and_then(|adjusted| Some((of(&adjusted.points)?, adjusted.correlation))) {
        Some((drift, correlation)) => Judged {
            as_measured: Some(judged.drift.clone()),
            drift,
            explained: Some(correlation.powi(2)),
            ..judged
        },
        // Nothing else can be the cause of what does not move.
        None if judged.drift.p < LEVEL => Judged { beside_per_hour: beside.trend(series), ..judged },
        None => judged,
    })
}

/// The tolerated trend per hour, for a run as long as the series.
fn tolerance(series: &Series) -> Tolerance {
    let times = || series.points.iter().map(|point| point.0);
    let length_s = times().fold(0.0, f64::max) - times().fold(f64::INFINITY, f64::min);
    let hours = (length_s / 3600.0).max(1.0 / 3600.0);
    match series.figure.unit {
        Unit::Count => Tolerance::PerHour(COUNT / hours),
        Unit::Bytes if series.figure.meaning == Meaning::Leak => {
            let mean = series.points.iter().map(|point| point.1).sum::<f64>() / series.points.len() as f64;
            Tolerance::PerHour((MEMORY_SHARE * mean).max(MEMORY_BYTES) / hours)
        }
        _ => Tolerance::SharePerHour(SHARE / hours),
    }
}

impl Judged {
    /// Whether its trend, by its interval, is beyond that of the machine in its direction.
    fn is_beyond(&self) -> bool {
        let drift = &self.drift;
        if drift.slope_per_hour * self.beside_per_hour <= 0.0 || drift.median <= 0.0 {
            return true;
        }
        let nearest = drift.interval.map(|end| end / drift.median);
        let least = if self.beside_per_hour > 0.0 { nearest[0] } else { -nearest[1] };
        least > self.beside_per_hour.abs()
    }

    pub(super) fn is_declared(&self) -> bool {
        self.drift.declared
    }

    /// Whether a figure that must not grow for ever still grew at the end.
    pub(super) fn is_leak(&self) -> bool {
        self.drift.declared && self.figure.meaning == Meaning::Leak && self.drift.slope_per_hour > 0.0
    }

    pub(super) fn is_too_short(&self) -> bool {
        self.drift.is_too_short()
    }

    pub(super) fn name(&self) -> String {
        self.drift.figure.clone()
    }

    pub(super) fn mark(&self) -> &'static str {
        if self.is_leak() { "leak? " } else { "drift: " }
    }

    pub(super) fn has_changed(&self) -> bool {
        !self.drift.changes.is_empty()
    }

    /// `memory (RSS) grew 1.2 KiB an hour [0.9 KiB, 1.5 KiB]: 29 KiB a day`.
    pub(super) fn sentence(&self) -> String {
        let drift = match (self.goes_with_machine, &self.as_measured) {
            (false, _) => self.drift.clone(),
            (true, with_machine) => {
                Drift { declared: true, ..with_machine.as_ref().unwrap_or(&self.drift).clone() }
            }
        };
        let sentence = match self.figure.unit {
            Unit::Bytes | Unit::Count => drift.sentence(|amount| self.amount(amount)),
            _ => drift.sentence_in_shares(),
        };
        match (self.goes_with_machine, self.figure.meaning) {
            (true, Meaning::Pace) => format!("{sentence}; so did the CPU time that other programs left"),
            (true, _) => format!("{sentence}; so did the control's, and the machine may be the cause"),
            _ => sentence,
        }
    }

    fn amount(&self, amount: f64) -> String {
        match self.figure.unit {
            Unit::Count if amount < 10.0 => format!("{amount:.1}"),
            Unit::Count => format!("{amount:.0}"),
            unit => figure(amount, unit),
        }
    }

    /// When it changed, and how.
    pub(super) fn changes(&self) -> impl Iterator<Item = (f64, &'static str)> {
        self.drift.changes.iter().map(|change| (change.seconds, word(change.kind)))
    }

    /// Whether it is the answer for this series.
    pub(super) fn is_of(&self, series: &Series) -> bool {
        self.figure.name == series.figure.name && self.of == series.of
    }

    /// One of `drifts` in JSON.
    pub(super) fn json(&self, server: Option<&str>) -> Value {
        let drift = &self.drift;
        let changes = drift.changes.iter().map(|change| {
            json!({
                "kind": word(change.kind),
                "at_s": change.seconds,
                "between_s": change.between,
                "size": change.size,
                "interval": change.interval,
            })
        });
        json!({
            "server": server,
            "load": self.of,
            "figure": self.figure.name,
            "unit": self.figure.unit.symbol(),
            "slope_per_hour": drift.slope_per_hour,
            "interval": drift.interval,
            "p": drift.p,
            "p_adjusted": drift.p_adjusted,
            "declared": drift.declared,
            "explained_by_machine": self.explained,
            "beside_per_hour": self.beside_per_hour,
            "goes_with_machine": self.goes_with_machine,
            "leak": self.is_leak(),
            "tolerance_per_hour": drift.tolerance_per_hour,
            "detectable_per_hour": drift.detectable_per_hour,
            "course": match drift.course {
                Course::Steady | Course::Settled(_) if self.is_too_short() => "too-short",
                Course::Steady => "steady",
                Course::Drifts => "drifts",
                Course::Settled(_) => "settled",
            },
            "changes": changes.collect::<Vec<_>>(),
            "sentence": self.sentence(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure every ten seconds, for ten minutes.
    fn series(name: &str, value: impl Fn(f64) -> f64) -> Series {
        with_noise(18, name, value)
    }

    fn with_noise(seed: u64, name: &str, value: impl Fn(f64) -> f64) -> Series {
        let mut random = pitot_meter::Random::new(seed);
        let points = (0..60u32).map(|n| {
            let at_s = f64::from(n) * 10.0;
            (at_s, value(at_s) * (1.0 + 0.002 * (random.unit() - 0.5)))
        });
        Series { figure: Figure::find(name).unwrap(), of: String::new(), points: points.collect() }
    }

    fn declared(judged: &[Judged]) -> Vec<&str> {
        judged.iter().filter(|judged| judged.is_declared()).map(|judged| judged.figure.name).collect()
    }

    #[test]
    fn leaks_are_told_and_what_is_steady_is_not() {
        let steady = series("memory-private", |_| 5e6);
        let leak = series("memory-rss", |at_s| 8e6 + 1024.0 * at_s);
        let descriptors = Series {
            points: (0..60).map(|n| (f64::from(n) * 10.0, 20.0 + f64::from(n / 2))).collect(),
            ..series("descriptors", |_| 0.0)
        };
        let judged = judge(&[steady, leak, descriptors], &Beside::default());
        assert_eq!(declared(&judged), ["memory-rss", "descriptors"]);
        assert!(judged[1].is_leak() && judged[2].is_leak());
        let said = judged[1].sentence();
        assert!(said.starts_with("memory (RSS) grew 3.") && said.contains("MiB an hour ["), "{said}");
        let said = judged[2].sentence();
        assert!(said.starts_with("the number of descriptors grew 180 an hour ["), "{said}");
        let said = judged[0].sentence();
        assert!(said.starts_with("no drift of private memory above "), "{said}");
        let json = judged[1].json(Some("loop"));
        assert_eq!((&json["declared"], &json["unit"]), (&Value::from(true), &Value::from("B")));
    }

    #[test]
    fn two_minutes_of_a_restless_figure_are_too_short_in_words_and_in_json() {
        let jumps = |at_s: f64| 1e5 * (1.0 + f64::from((at_s * 10.0) as u32 * 7_919 % 11));
        let points = |value: &dyn Fn(f64) -> f64| {
            (0..60).map(|n| (f64::from(n) * 2.0, value(f64::from(n)))).collect::<Vec<_>>()
        };
        let restless = Series { points: points(&jumps), ..series("latency-p99", |_| 0.0) };
        let steady = Series { points: points(&|_| 5e6), ..series("memory-private", |_| 0.0) };
        let judged = judge(&[restless, steady], &Beside::default());
        assert!(judged[0].is_too_short() && !judged[1].is_too_short());
        assert_eq!(judged[0].sentence(), "too short to tell whether p99 drifts");
        assert_eq!(judged[0].json(None)["course"], "too-short");
        assert_eq!(judged[1].json(None)["course"], "steady");
    }

    #[test]
    fn small_growth_is_within_the_tolerance_and_little_data_has_no_answer() {
        // 40 KiB in ten minutes.
        let small = series("memory-rss", |at_s| 8e4 + 68.0 * at_s);
        let judged = judge(&[small], &Beside::default());
        assert_eq!(declared(&judged), [""; 0]);
        assert!(judged[0].sentence().contains("within the tolerance"), "{}", judged[0].sentence());
        let short = Series { points: vec![(1.0, 1.0), (2.0, 2.0)], ..series("threads", |_| 1.0) };
        let few = [short, series("sockets-close-wait", |_| 0.0), series("steal", |_| 0.1)];
        assert!(judge(&few, &Beside::default()).is_empty());
    }

    #[test]
    fn a_time_drifts_only_beyond_the_control_and_a_rate_beyond_the_cpu_that_is_left() {
        let grows = |share: f64| move |at_s: f64| 1e6 * (1.0 + share * at_s / 600.0);
        let busy = [with_noise(19, "latency-p50", grows(0.5))];
        let machine = [with_noise(20, "neighbours", |at_s| 5.0 + 40.0 * at_s / 600.0)];
        let beside = Beside { control: &busy, machine: &machine };
        let of = |name: &str, share: f64| {
            let judged = judge(&[series(name, grows(share))], &beside);
            (judged[0].is_declared(), judged[0].sentence())
        };
        let (declared, said) = of("latency-p50", 0.4);
        assert!(
            !declared && said.starts_with("p50 grew ") && said.ends_with("the machine may be the cause"),
            "{said}"
        );
        assert!(of("latency-p50", 2.0).0, "it grew four times as much");
        assert!(of("latency-p50", -0.3).0, "it fell");
        let (declared, said) = of("throughput", -0.3);
        assert!(!declared && said.ends_with("; so did the CPU time that other programs left"), "{said}");
        assert!(of("throughput", -0.9).0 && of("memory-rss", 0.3).0);
        let alone = judge(&[series("latency-p50", grows(0.4))], &Beside::default());
        assert!(alone[0].is_declared());
    }

    #[test]
    fn what_the_control_explains_is_taken_out() {
        let mut random = pitot_meter::Random::new(5);
        let busy: Vec<f64> = (0..60).map(|_| random.unit().powi(4)).collect();
        let at = |at_s: f64| busy[(at_s / 10.0) as usize];
        let control = [series("latency-mean", |at_s| 3e5 + 2e6 * at(at_s))];
        let steps = |at_s: f64| 1e7 + 2.5e6 * at(at_s) + if at_s < 300.0 { 0.0 } else { 1e6 };
        let of = |control: &[Series]| {
            let beside = Beside { control, machine: &[] };
            let mut judged = judge(&[series("latency-mean", steps)], &beside);
            judged.remove(0)
        };
        let judged = of(&control);
        assert!(judged.explained.is_some_and(|share| share > 0.9), "{:?}", judged.explained);
        let changes: Vec<(f64, &str)> = judged.changes().collect();
        assert!(matches!(changes[..], [(at_s, "step")] if (at_s - 295.0).abs() <= 10.0), "{changes:?}");
        assert!(of(&[]).explained.is_none());

        // What is explained is said, since the server itself may have slowed down the control.
        let rises = [series("latency-mean", |at_s| 3e5 * (1.0 + at_s / 600.0) + 2e5 * at(at_s))];
        let beside = Beside { control: &rises, machine: &[] };
        let with_it = |at_s: f64| 1e7 + 10.0 * (3e5 * (1.0 + at_s / 600.0) + 2e5 * at(at_s));
        let judged = judge(&[with_noise(7, "latency-mean", with_it)], &beside).remove(0);
        let said = judged.sentence();
        assert!(!judged.is_declared() && judged.goes_with_machine, "{said}");
        assert!(
            said.starts_with("the mean response time grew ") && said.ends_with("may be the cause"),
            "{said}"
        );
    }

    #[test]
    fn a_p99_that_creeps_is_told_and_a_mean_that_steps_is_marked() {
        let creeps = series("latency-p99", |at_s| 1e6 * (1.0 + 0.02 * at_s / 60.0));
        let steps = series("latency-mean", |at_s| if at_s < 300.0 { 1e5 } else { 1.1e5 });
        let judged = judge(&[creeps, steps], &Beside::default());
        assert_eq!(declared(&judged), ["latency-p99"]);
        assert!(judged[0].sentence().starts_with("p99 grew "), "{}", judged[0].sentence());
        assert!(!judged[0].is_leak());
        let changes: Vec<(f64, &str)> = judged[1].changes().collect();
        assert!(matches!(changes[..], [(at_s, "step")] if (at_s - 295.0).abs() <= 10.0), "{changes:?}");
    }
}
