//! Figures over time.

use pitot_record::metric::{Followed, Meaning};
use pitot_record::{METRICS, Metric, Unit};

/// A metric that soaks follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) title: &'static str,
    pub(super) meaning: Meaning,
}

impl Figure {
    pub(super) fn all() -> impl Iterator<Item = Figure> {
        METRICS.iter().filter_map(Figure::of)
    }

    fn of(metric: &'static Metric) -> Option<Figure> {
        let Followed { title, meaning } = metric.in_soak?;
        Some(Figure { name: metric.name, unit: metric.unit, title, meaning })
    }

    pub(super) fn find(name: &str) -> Option<Figure> {
        pitot_record::metric::find(name).and_then(Figure::of)
    }
}

/// A figure over time: (seconds since the soak began, value).
pub(super) struct Series {
    pub(super) figure: Figure,
    /// The load, where a server has several; empty otherwise.
    pub(super) of: String,
    pub(super) points: Vec<(f64, f64)>,
}

impl Series {
    pub(super) fn first(&self) -> Option<f64> {
        self.points.first().map(|point| point.1)
    }

    /// The interval around a point.
    pub(super) fn stretch_s(&self, index: usize) -> (f64, f64) {
        let at = |index: usize| self.points.get(index).map(|point| point.0);
        let at_s = at(index).unwrap_or_default();
        let before = index.checked_sub(1).and_then(at).map(|before| at_s - before);
        let after = at(index + 1).map(|after| after - at_s);
        // A gap does not make it longer.
        let half_s = before.into_iter().chain(after).fold(f64::INFINITY, f64::min) / 2.0;
        (at_s - half_s, at_s + half_s)
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.points.last().map(|point| point.1)
    }
}
