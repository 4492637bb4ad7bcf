//! Changes in words.

use super::line::{Change, Line, Point};
use crate::number;

/// Ratios in this range are written as a difference in percent, others as a multiple.
const PERCENT: std::ops::Range<f64> = 0.67..1.5;

pub(super) fn is_percent(ratio: f64) -> bool {
    PERCENT.contains(&ratio)
}

pub(super) fn around<'l>(line: &'l Line, change: &Change) -> [&'l Point; 2] {
    [&line.points[change.at - 1], &line.points[change.at]]
}

/// A change in a sentence, without a full stop.
pub(super) fn sentence_of(line: &Line, change: &Change) -> String {
    let [before, after] = around(line, change).map(Point::name);
    format!(
        "**{}**{}: {} {}, {}, since {after}; {before} was before it",
        line.cell,
        of_machine(line),
        line.metric.words.noun,
        size(change),
        line.tone(change).change()
    )
}

/// ` on MACHINE`, where figures of several machines have lines of their own.
pub(super) fn of_machine(line: &Line) -> String {
    match (&line.machine, &line.reference) {
        (Some(machine), None) => format!(" on {machine}"),
        _ => String::new(),
    }
}

/// `+5.1% [+4.2%, +6.0%]`; `2.3 times [2.1, 2.5]`.
pub(super) fn size(change: &Change) -> String {
    let (low, high) = (change.interval.low, change.interval.high);
    if !is_percent(change.ratio) {
        return format!(
            "{} times [{}, {}]",
            number::ratio(change.ratio),
            number::ratio(low),
            number::ratio(high)
        );
    }
    format!("{} [{}, {}]", signed(change.ratio), signed(low), signed(high))
}

pub(super) fn signed(ratio: f64) -> String {
    let sign = if ratio >= 1.0 { "+" } else { "−" };
    format!("{sign}{}", number::percent((ratio - 1.0).abs()))
}
