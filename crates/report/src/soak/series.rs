//! A figure over time, and its values as people read them.

use pitot_record::Unit as ShownUnit;
use pitot_soak::figure::Unit;

use crate::number::{figure, percent};

/// A figure over time: (seconds since the soak began, value).
pub(super) struct Series {
    pub(super) figure: &'static pitot_soak::figure::Figure,
    /// The load, where a server has several; empty otherwise.
    pub(super) of: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Series {
    pub(super) fn first(&self) -> Option<f64> {
        self.points.first().map(|point| point.1)
    }

    /// The interval of a point, which is its middle.
    pub(super) fn stretch_s(&self, index: usize) -> (f64, f64) {
        let at = |index: usize| self.points.get(index).map(|point| point.0);
        let at_s = at(index).unwrap_or_default();
        let before = index.checked_sub(1).and_then(at).map(|before| at_s - before);
        let after = at(index + 1).map(|after| after - at_s);
        // A gap beside it makes it no longer.
        let half_s = before.into_iter().chain(after).fold(f64::INFINITY, f64::min) / 2.0;
        (at_s - half_s, at_s + half_s)
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.points.last().map(|point| point.1)
    }
}

/// A value of that unit.
pub(super) fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => figure(value, ShownUnit::Bytes),
        Unit::Count => figure(value, ShownUnit::Count),
        Unit::Nanoseconds => figure(value, ShownUnit::Nanoseconds),
        Unit::PerSecond => figure(value, ShownUnit::PerSecond),
        Unit::Share => percent(value),
    }
}
