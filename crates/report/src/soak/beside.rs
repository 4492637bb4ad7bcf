//! What shows how busy the machine was, beside the figures of a server.

use pitot_record::metric::Meaning;
use pitot_stats::drift::{Question, Series as Asked, common, drift, theil_sen};

use super::series::Series;

/// What shows how busy the machine was has a trend already at this level: to miss it would be a false alarm.
const LEVEL: f64 = 0.2;

/// What is seen beside a server: figures of the control and of the machine.
#[derive(Default)]
pub(super) struct Beside<'a> {
    pub(super) control: &'a [Series],
    pub(super) machine: &'a [Series],
}

impl Beside<'_> {
    /// What shows how busy the machine was, for a figure.
    pub(super) fn of(&self, series: &Series) -> Vec<(f64, f64)> {
        match series.figure.meaning {
            Meaning::Time | Meaning::Cost => {
                let same = self.control.iter().find(|own| own.figure.name == series.figure.name);
                same.map(|own| own.points.clone()).unwrap_or_default()
            }
            Meaning::Pace => self.left(),
            Meaning::Leak | Meaning::Drift | Meaning::Context => Vec::new(),
        }
    }

    /// Its trend at the times of a figure, as a share of it an hour; 0 without one.
    pub(super) fn trend(&self, series: &Series) -> f64 {
        let points: Vec<(f64, f64)> = common(&series.points, &self.of(series))
            .into_iter()
            .map(|((at_s, _), value)| (at_s, value))
            .collect();
        let asked = Asked { figure: series.figure.title, points: &points };
        let Ok(drift) = drift(&asked, &Question { level: LEVEL, ..Question::default() }) else {
            return 0.0;
        };
        let hours: Vec<f64> = points.iter().map(|point| point.0 / 3600.0).collect();
        let values: Vec<f64> = points.iter().map(|point| point.1).collect();
        // A step is one to a figure that follows more slowly.
        let slope = match drift.changes.is_empty() {
            true => drift.slope_per_hour,
            false => theil_sen(&hours, &values),
        };
        let is_trend = drift.p < LEVEL || !drift.changes.is_empty();
        if is_trend && drift.median > 0.0 { slope / drift.median } else { 0.0 }
    }

    /// The CPU time that other programs leave, percent.
    fn left(&self) -> Vec<(f64, f64)> {
        let of = |name: &str| self.machine.iter().find(|series| series.figure.name == name);
        let Some(neighbours) = of("neighbours") else { return Vec::new() };
        let steal = of("steal").map_or(&[][..], |series| &series.points);
        let at = |at_s: f64| steal.iter().find(|point| point.0 == at_s).map_or(0.0, |point| point.1);
        neighbours.points.iter().map(|(at_s, used)| (*at_s, (100.0 - used - at(*at_s)).max(1.0))).collect()
    }
}
