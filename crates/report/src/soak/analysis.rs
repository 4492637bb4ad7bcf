//! What is computed of a soak, once.

use pitot_meter::Histogram;
use pitot_record::Soak;
use pitot_record::soak::{Control, Interval, Load, Reading, Subject};

use super::beside::Beside;
use super::drifts::{Judged, judge};
use super::series::{Figure, Series};
use super::untouched::untouched;

/// A soak with what its reports say.
pub(super) struct Analysis<'a> {
    pub(super) soak: &'a Soak,
    pub(super) subjects: Vec<SubjectFigures<'a>>,
    /// Figures of the control, if there is one.
    pub(super) control: Vec<Series>,
    /// Figures of the machine.
    pub(super) machine: Vec<Series>,
    /// What of them drifts.
    pub(super) machine_drifts: Vec<Judged>,
}

/// A server.
pub(super) struct SubjectFigures<'a> {
    pub(super) subject: &'a Subject,
    pub(super) loads: Vec<LoadFigures<'a>>,
    /// What was sampled of it, and what follows from its loads.
    pub(super) series: Vec<Series>,
    /// What of them drifts.
    pub(super) drifts: Vec<Judged>,
}

/// A load.
pub(super) struct LoadFigures<'a> {
    pub(super) load: &'a Load,
    /// Response times of the whole soak.
    pub(super) response: Histogram,
    pub(super) points: Vec<Point>,
}

/// A load in one interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// The middle of the interval, seconds since the soak began.
    pub(super) at_s: f64,
    pub(super) rate: f64,
    pub(super) errors: u64,
    pub(super) mean_ns: f64,
    pub(super) p50_ns: f64,
    pub(super) p99_ns: f64,
}

impl<'a> Analysis<'a> {
    pub(super) fn of(soak: &'a Soak) -> Analysis<'a> {
        let machine = sampled(&soak.readings, 0);
        let control = soak.control.as_deref().map(of_control).unwrap_or_default();
        let beside = Beside { control: &control, machine: &machine };
        let of = |subject| SubjectFigures::of(soak, subject, &beside);
        let subjects = soak.subjects.iter().map(of).collect();
        let machine_drifts = judge(&machine, &Beside::default());
        Analysis { soak, subjects, control, machine, machine_drifts }
    }

    /// The loads, each with the name of its server.
    pub(super) fn loads(&self) -> impl Iterator<Item = (&str, &LoadFigures<'a>)> {
        self.subjects
            .iter()
            .flat_map(|subject| subject.loads.iter().map(|load| (subject.subject.name.as_str(), load)))
    }

    /// What is said of the figures of servers.
    pub(super) fn judged(&self) -> impl Iterator<Item = &Judged> {
        self.subjects.iter().flat_map(|subject| &subject.drifts)
    }

    /// Those of which it was long enough to tell.
    pub(super) fn sure(&self) -> impl Iterator<Item = &Judged> {
        self.judged().filter(|judged| !judged.is_too_short())
    }

    /// Seconds under load so far. The last interval may hold what was told late of the one before.
    pub(super) fn loaded_s(&self) -> f64 {
        (self.soak.reached_s() - self.soak.gaps_s()).max(0.0).min(self.soak.info.asked_s)
    }
}

impl<'a> SubjectFigures<'a> {
    fn of(soak: &'a Soak, subject: &'a Subject, beside: &Beside<'_>) -> SubjectFigures<'a> {
        let of = |load: &'a Load| LoadFigures::of(&soak.intervals, load);
        let loads: Vec<_> = soak.loads_of(subject.id).map(of).collect();
        let mut series = Vec::new();
        for load in &loads {
            series.extend(load.series(if loads.len() > 1 { &load.load.name } else { "" }));
        }
        series.extend(sampled(&soak.readings, subject.id));
        let drifts = judge(&untouched(&series, soak, subject.id), beside);
        SubjectFigures { subject, loads, series, drifts }
    }

    /// The series of that name; of the first load, where there are several.
    pub(super) fn find(&self, name: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.figure.name == name)
    }
}

impl<'a> LoadFigures<'a> {
    fn of(intervals: &[Interval], load: &'a Load) -> LoadFigures<'a> {
        let mut response = Histogram::new();
        let mut points = Vec::new();
        for interval in intervals.iter().filter(|interval| interval.load == load.id) {
            // A histogram that cannot be read is left out: its counts are in the totals.
            let times = Histogram::decode(&interval.response).unwrap_or_default();
            response.merge(&times);
            points.push(Point::of(interval, &times));
        }
        LoadFigures { load, response, points }
    }

    /// What the load saw over time; `of` is its name, where a server has several.
    fn series(&self, of: &str) -> Vec<Series> {
        let series = |name: &str, value: fn(&Point) -> f64, only_answered: bool| {
            let points = self.points.iter().filter(|p| !only_answered || p.p99_ns > 0.0);
            let points = points.map(|point| (point.at_s, value(point))).collect();
            Figure::find(name).map(|figure| Series { figure, of: of.to_owned(), points })
        };
        let all = [
            series("throughput", |p| p.rate, false),
            series("latency-mean", |p| p.mean_ns, true),
            series("latency-p50", |p| p.p50_ns, true),
            series("latency-p99", |p| p.p99_ns, true),
        ];
        all.into_iter().flatten().collect()
    }

    /// Replies a second, over the time that it ran.
    pub(super) fn rate(&self) -> f64 {
        let totals = &self.load.totals;
        if totals.loaded_s > 0.0 { totals.completed as f64 / totals.loaded_s } else { 0.0 }
    }
}

impl Point {
    fn of(interval: &Interval, times: &Histogram) -> Point {
        let length_s = interval.length_s.max(1e-9);
        Point {
            at_s: interval.start_s + length_s / 2.0,
            rate: interval.completed as f64 / length_s,
            errors: interval.errors,
            mean_ns: times.mean().0 as f64,
            p50_ns: times.at(0.5).0 as f64,
            p99_ns: times.at(0.99).0 as f64,
        }
    }
}

/// The figures of the control.
fn of_control(control: &Control) -> Vec<Series> {
    let mut series = LoadFigures::of(&control.intervals, &control.load).series("");
    series.extend(sampled(&control.readings, control.subject.id));
    series
}

/// The figures of a server, or of the machine (0), in the order of the metrics.
fn sampled(readings: &[Reading], subject: i64) -> Vec<Series> {
    let of = |figure: Figure| {
        let own =
            readings.iter().filter(|reading| reading.subject == subject && reading.metric == figure.name);
        let points: Vec<_> =
            own.map(|sample| (sample.start_s + sample.length_s / 2.0, sample.mean)).collect();
        (!points.is_empty()).then_some(Series { figure, of: String::new(), points })
    };
    Figure::all().filter_map(of).collect()
}
