//! Correct replies and errors of a repetition over time, with its faults as bands.

use super::entry::Chart;
use super::timeline::{CELLS_MAX, fault_bands};
use crate::analysis::{Analysis, Cell};
use crate::axis::Axis;
use crate::number::figure;
use crate::scene::{Anchor, Figure, Ink, Mark, Pane, Scene, Size, Stop};
use pitot_record::{Repetition, Unit};

pub(super) const CHART: Chart = Chart {
    name: "service",
    title: "Service under faults",
    summary: "Correct replies and errors per second in one repetition, in steps of 0.1 s. A band is the time from the start of a \
              fault until it was undone; an instantaneous fault is a line.",
    draw,
};

/// Length of a point, seconds: the same step decides when a rate is back.
const POINT_S: f64 = 0.1;
const RIGHT: Ink = Ink::Part(0);
const ERRORS: Ink = Ink::Worse;
/// Room above the lines for the names of faults.
const HEADROOM: f64 = 1.2;

fn draw(a: &Analysis<'_>) -> Option<Figure> {
    Figure::of("cell", a.cells.iter().filter_map(pane).take(CELLS_MAX).collect())
}

fn pane(cell: &Cell<'_>) -> Option<Pane> {
    let repetition =
        cell.record.repetitions.iter().find(|r| r.faults.iter().any(|fault| fault.was_made()))?;
    let points = points(repetition)?;
    let last = points.last()?.0;
    let show = |v: f64| figure(v, Unit::PerSecond);
    let line = |ink: Ink, label: &str, of: fn(&(f64, f64, f64)) -> f64| {
        Mark::line(ink, label, points.iter().map(|point| (point.0, of(point))).collect())
    };
    let high = points.iter().map(|(_, right, errors)| right.max(*errors)).fold(1.0, f64::max);
    let mut marks = fault_bands(repetition, repetition.load.as_ref()?.clock_ns.start);
    marks.push(line(RIGHT, "correct replies", |point| point.1));
    if points.iter().any(|(_, _, errors)| *errors > 0.0) {
        marks.push(line(ERRORS, "errors", |point| point.2));
    }
    let stop = |(at, right, errors): &(f64, f64, f64)| Stop {
        at: Anchor::X(*at),
        heading: format!("{at:.1} s"),
        rows: vec![
            (Some(RIGHT), "correct replies per second".into(), show(*right)),
            (Some(ERRORS), "errors per second".into(), show(*errors)),
        ],
    };
    let scene = Scene {
        title: "Replies per second".into(),
        hint: "bands are faults".into(),
        x: Axis::between("seconds since the measurement began", 0.0, last, |v| format!("{v:.2}")),
        y: Axis::from_zero("", high * HEADROOM, show),
        stops: points.iter().step_by(points.len().div_ceil(100)).map(stop).collect(),
        marks,
        size: Size::Full,
    };
    let legend = vec![(RIGHT, "correct replies".into()), (ERRORS, "errors".into())];
    Some(Pane { label: cell.record.label(), scenes: vec![scene], legend })
}

/// Seconds from the start, correct replies and errors per second.
fn points(repetition: &Repetition) -> Option<Vec<(f64, f64, f64)>> {
    let load = repetition.load.as_ref()?;
    let steps = load.steps.as_ref().filter(|steps| steps.length_ns > 0)?;
    let step_s = steps.length_ns as f64 / 1e9;
    let per_point = (POINT_S / step_s).round().max(1.0) as u64;
    let count = (load.duration_s / step_s / per_point as f64).floor() as u64;
    let rate = |sum: u64| sum as f64 / (per_point as f64 * step_s);
    let point = |index: u64| {
        let range = index * per_point..(index + 1) * per_point;
        let right = range.clone().filter_map(|step| steps.right.get(step as usize)).sum();
        let errors = steps.errors.iter().flat_map(|row| &row.at);
        let errors = errors.filter(|(step, _)| range.contains(step)).map(|(_, count)| count).sum();
        ((range.start as f64 + per_point as f64 / 2.0) * step_s, rate(right), rate(errors))
    };
    (count > 1).then(|| (0..count).map(point).collect())
}
