//! The factor on the x axis of the charts.

use super::factor::{factor_title, level_words};
use pitot_plan::Levels;
use pitot_record::{CellRecord, Run};
use std::cmp::Ordering;

/// If several factors vary, the first of these is on the x axis.
const PREFERRED: &[&str] =
    &["load.connections", "load.rate", "load.idle", "load.size", "load.requests-per-connection"];

/// The factor on the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadAxis {
    /// The factor's name; none if nothing but the servers varies.
    pub factor: Option<String>,
    /// Its name for readers: `connections`.
    pub title: String,
    /// Its levels, rising: as written in the plan, and as numbers.
    pub levels: Vec<(String, Option<f64>)>,
}

impl LoadAxis {
    pub(super) fn of(run: &Run) -> LoadAxis {
        let is_numeric = |name: &&str| {
            let levels = levels(run, name);
            levels.len() > 1 && levels.iter().all(|(_, number)| number.is_some())
        };
        let names: Vec<&str> = run
            .cells
            .first()
            .map(|c| c.factors.iter().map(|f| f.name.as_str()).collect())
            .unwrap_or_default();
        let preferred = PREFERRED.iter().copied().filter(|f| names.contains(f)).find(is_numeric);
        match preferred.or_else(|| names.iter().copied().find(is_numeric)) {
            Some(name) => {
                let mut levels = levels(run, name);
                levels.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal));
                LoadAxis { factor: Some(name.to_owned()), title: factor_title(name).to_owned(), levels }
            }
            None => LoadAxis { factor: None, title: String::new(), levels: vec![(String::new(), None)] },
        }
    }

    /// The level of a cell: an index into `levels`.
    pub(super) fn level_of(&self, record: &CellRecord) -> usize {
        let level = self.factor.as_deref().and_then(|name| record.level(name));
        level.and_then(|l| self.levels.iter().position(|(text, _)| *text == l.level)).unwrap_or(0)
    }

    pub(super) fn is_named_by(&self, levels: &Levels) -> bool {
        levels.0.iter().any(|(name, _)| Some(name) == self.factor.as_ref())
    }

    /// A level in words: `1000 connections`; empty if the load does not vary.
    pub(super) fn words(&self, level: usize) -> String {
        self.factor.as_ref().map_or_else(String::new, |factor| level_words(factor, &self.levels[level].0))
    }
}

/// The levels of a factor, as written in the plan and as numbers, in the order of the cells.
fn levels(run: &Run, factor: &str) -> Vec<(String, Option<f64>)> {
    let mut levels: Vec<(String, Option<f64>)> = Vec::new();
    for level in run.cells.iter().filter_map(|c| c.level(factor)) {
        if levels.iter().all(|(text, _)| *text != level.level) {
            levels.push((level.level.clone(), level.number));
        }
    }
    levels
}
