//! A server over time: its loads and its resources.

use pitot_meter::units::span;
use pitot_record::Unit;
use pitot_record::soak::{Event, EventKind, Fault};

use super::analysis::{Analysis, SubjectFigures};
use super::series::Series;
use crate::axis::Axis;
use crate::number::figure as value_of;
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};

/// Drawings: a title, and figures of one unit.
const DRAWINGS: [(&str, &[&str]); 13] = [
    ("Rate, replies a second", &["throughput"]),
    ("Response time", &["latency-mean", "latency-p50", "latency-p99"]),
    ("CPU time per request", &["cpu-per-request"]),
    ("CPU utilisation of the server", &["server-cpu"]),
    ("Memory", &["memory-rss", "memory-private", "memory"]),
    ("Descriptors", &["descriptors"]),
    ("Threads and processes", &["threads", "processes"]),
    ("Sockets", &["sockets-established", "sockets-close-wait", "sockets-time-wait", "sockets-other"]),
    ("Kernel memory", &["slab"]),
    ("Page cache and available memory", &["page-cache", "memory-available"]),
    ("Used disk space", &["disk-used"]),
    ("The machine's CPUs", &["cpu-busy", "neighbours", "steal"]),
    ("Memory of the lab and its loads", &["memory-lab", "memory-loads"]),
];
const POINTS_MAX: usize = 400;
const STOPS_MAX: usize = 60;
const NAMED_FAULTS_MAX: usize = 8;
/// Room above the lines for the names of stretches.
const HEADROOM: f64 = 1.15;
/// A moment is drawn as wide as this share of the axis.
const MOMENT_SHARE: f64 = 0.004;

pub(super) fn figure(a: &Analysis<'_>) -> Option<Figure> {
    let panes: Vec<Pane> = a.subjects.iter().rev().map(|subject| pane(a, subject)).collect();
    Figure::of("server", panes)
}

fn pane(a: &Analysis<'_>, subject: &SubjectFigures<'_>) -> Pane {
    let scenes = DRAWINGS.iter().filter_map(|(title, names)| {
        let all = subject.series.iter().chain(&a.machine);
        let series: Vec<&Series> =
            all.filter(|s| names.contains(&s.figure.name) && s.points.iter().any(|p| p.1 > 0.0)).collect();
        (!series.is_empty()).then(|| scene(a, subject.subject.id, title, &series))
    });
    Pane { label: subject.subject.name.clone(), scenes: scenes.collect(), legend: Vec::new() }
}

fn scene(a: &Analysis<'_>, subject: i64, title: &str, series: &[&Series]) -> Scene {
    let reached_s = a.soak.reached_s().max(1.0);
    let (divisor, unit) = match reached_s {
        s if s < 600.0 => (1.0, "seconds"),
        s if s < 7200.0 => (60.0, "minutes"),
        s if s < 172_800.0 => (3600.0, "hours"),
        _ => (86_400.0, "days"),
    };
    let mut x = Axis::between(&format!("{unit} since the soak began"), 0.0, reached_s / divisor, |v| {
        format!("{v:.2}")
    });
    x.stretch(divisor);
    let high = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max) * HEADROOM;
    let of = series[0].figure.unit;
    let base = axis_base(of, high);
    let mut y = Axis::from_zero("", high / base, |v| value_of(v * base, of));
    y.stretch(base);
    let mut marks: Vec<Mark> =
        a.soak.events.iter().filter_map(|event| mark(event, subject, reached_s)).collect();
    let own_faults: Vec<&Fault> =
        a.soak.faults.iter().filter(|f| f.subject == subject && f.was_made).collect();
    marks.extend(fault_bands(&own_faults, reached_s));
    let judged = a.subjects.iter().filter(|of| of.subject.id == subject).flat_map(|of| &of.drifts);
    let judged = judged.chain(&a.machine_drifts).filter(|judged| series.iter().any(|s| judged.is_of(s)));
    for (at_s, label) in judged.flat_map(|judged| judged.changes()) {
        let to = (at_s + reached_s * MOMENT_SHARE).min(reached_s);
        marks.push(Mark::Stretch { from: at_s, to, label: label.into(), fault: false });
    }
    for (index, one) in series.iter().enumerate() {
        let mut label = one.figure.title.trim_start_matches("the ").to_owned();
        if !one.of.is_empty() {
            label = format!("{label}, {}", one.of);
        }
        marks.push(Mark::Line {
            ink: Ink::Part(index % 3),
            points: thinned(&one.points),
            label: if series.len() > 1 { label } else { String::new() },
            dots: false,
            dashed: index >= 3,
        });
    }
    Scene {
        title: title.to_owned(),
        hint: String::new(),
        x,
        y,
        marks,
        stops: stops(series, &own_faults),
        size: Size::Half,
    }
}

/// The unit in which an axis has round numbers.
fn axis_base(unit: Unit, high: f64) -> f64 {
    match unit {
        Unit::Bytes => [1_073_741_824.0, 1_048_576.0, 1024.0].into_iter().find(|b| high >= *b).unwrap_or(1.0),
        _ => 1.0,
    }
}

/// Gaps and outages are stretches; other events are moments.
fn mark(event: &Event, subject: i64, reached_s: f64) -> Option<Mark> {
    if event.subject.is_some_and(|of| of != subject) {
        return None;
    }
    let label = match event.kind {
        EventKind::Gap => "gap",
        EventKind::ServerEnded => "ended",
        EventKind::ServerRestarted | EventKind::RestartFailed | EventKind::LoadEnded => return None,
        EventKind::HelperEnded => "helper ended",
        EventKind::LoadUnanswered => "no replies",
        EventKind::Throttled => "throttled",
        EventKind::HangSilent
        | EventKind::HangNotAccepting
        | EventKind::HangStopped
        | EventKind::HangNoReplies => "hang",
        EventKind::Kernel => "kernel",
        EventKind::ClockStep => "clock",
        EventKind::Neighbours => "other processes",
        EventKind::FaultFailed => "fault failed",
        EventKind::Lost => "lost",
        EventKind::KeptUnreadable | EventKind::KernelUnreadable => return None,
    };
    let to = event.until_s.unwrap_or(event.at_s).max(event.at_s + reached_s * MOMENT_SHARE);
    Some(Mark::Stretch { from: event.at_s, to: to.min(reached_s), label: label.into(), fault: false })
}

/// The faults of a server. The names of many would overlap; hover texts have them.
fn fault_bands(made: &[&Fault], reached_s: f64) -> Vec<Mark> {
    let are_named = made.len() <= NAMED_FAULTS_MAX;
    let band = |fault: &&Fault| Mark::Stretch {
        from: fault.at_s.min(reached_s),
        to: fault.until_s.unwrap_or(reached_s).min(reached_s).max(fault.at_s.min(reached_s)),
        label: if are_named { fault.kind.clone() } else { String::new() },
        fault: true,
    };
    made.iter().map(band).collect()
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().step_by(points.len().div_ceil(POINTS_MAX).max(1)).copied().collect()
}

fn stops(series: &[&Series], faults: &[&Fault]) -> Vec<Stop> {
    let first = series[0];
    let step = first.points.len().div_ceil(STOPS_MAX).max(1);
    let stop = |(index, (at_s, _)): (usize, &(f64, f64))| {
        let values = series.iter().enumerate().filter_map(|(ink, one)| {
            let value = one.points.get(index)?.1;
            Some((Some(Ink::Part(ink % 3)), one.figure.title.to_owned(), value_of(value, one.figure.unit)))
        });
        let from = first.stretch_s(index).0;
        let to = first.stretch_s((index + step - 1).min(first.points.len() - 1)).1;
        let meanwhile =
            faults.iter().filter(|f| f.at_s < to && f.until_s.is_none_or(|until_s| until_s >= from));
        let made = meanwhile.map(|fault| (None, "fault".to_owned(), fault.kind.clone()));
        Stop { at: Anchor::X(*at_s), heading: span(*at_s), rows: values.chain(made).collect() }
    };
    first.points.iter().enumerate().step_by(step).map(stop).collect()
}
