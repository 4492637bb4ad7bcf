//! A run, analysed.

use super::cell::{Cell, Standing, samples};
use super::factor::levels_words;
use super::load_axis::LoadAxis;
use super::series::Series;
use pitot_lab::metric::{named, recorded};
use pitot_lab::statistics::{Comparison, Decision, Estimate, Samples, judge};
use pitot_lab::{CellRecord, Metric, Run};

/// The metric of a plan whose own is unknown to this version: a newer one may have written the run file.
const FALLBACK: &Metric = named("throughput");

/// A run, analysed.
#[derive(Debug)]
pub struct Analysis<'r> {
    /// The run itself.
    pub run: &'r Run,
    /// The plan's metric, which answers its question.
    pub headline: &'static Metric,
    /// The lines of the charts: combinations of all factors but the one on the x axis.
    pub series: Vec<Series>,
    /// The x axis.
    pub load: LoadAxis,
    /// The cells, by load level and then by series.
    pub cells: Vec<Cell<'r>>,
}

/// The metric that answers the question of a run's plan.
pub(crate) fn headline(run: &Run) -> &'static Metric {
    recorded(&run.plan.metric).unwrap_or(FALLBACK)
}

impl<'r> Analysis<'r> {
    /// Analyses a run.
    pub fn of(run: &'r Run) -> Analysis<'r> {
        let headline = headline(run);
        let load = LoadAxis::of(run);
        let mut series: Vec<Series> = Vec::new();
        let mut cells: Vec<Cell<'r>> = Vec::with_capacity(run.cells.len());
        for record in &run.cells {
            let own = Series::of(run, record, &load);
            let index = series.iter().position(|s| s.name == own.name).unwrap_or_else(|| {
                series.push(own);
                series.len() - 1
            });
            cells.push(Cell::of(run, record, index, load.level_of(record), headline));
        }
        cells.sort_by_key(|c| (c.level, c.series));
        let mut analysis = Analysis { run, headline, series, load, cells };
        analysis.rank();
        analysis
    }

    /// The cell of a series at a load level.
    pub fn cell(&self, series: usize, level: usize) -> Option<&Cell<'r>> {
        self.cells.iter().find(|c| c.series == series && c.level == level)
    }

    /// The cells of a load level that have a figure of `metric`.
    pub fn at_level<'a, 'm>(
        &'a self,
        level: usize,
        metric: &'m Metric,
    ) -> impl Iterator<Item = (&'a Cell<'r>, &'a Estimate)> + use<'a, 'm, 'r> {
        self.cells
            .iter()
            .filter(move |c| c.level == level && !c.failed())
            .filter_map(move |c| Some((c, c.estimate(metric)?)))
    }

    /// The best cell of a load level; of equals the first.
    pub fn best_at(&self, level: usize, metric: &Metric) -> Option<&Cell<'r>> {
        let best = self.at_level(level, metric).reduce(|leader, next| {
            if metric.is_better(next.1.value, leader.1.value) { next } else { leader }
        });
        best.map(|(cell, _)| cell)
    }

    /// The worst cell of a load level; of equals the first.
    pub(crate) fn worst_at(&self, level: usize, metric: &Metric) -> Option<&Cell<'r>> {
        let worst = self
            .at_level(level, metric)
            .reduce(|last, next| if metric.is_better(last.1.value, next.1.value) { next } else { last });
        worst.map(|(cell, _)| cell)
    }

    /// The highest load level at which at least two cells have a figure of the plan's metric; else the highest with one.
    pub fn top_level(&self) -> Option<usize> {
        let with = |count: usize| {
            (0..self.load.levels.len())
                .rev()
                .find(|level| self.at_level(*level, self.headline).count() >= count)
        };
        with(2).or_else(|| with(1))
    }

    /// Each cell against its baseline in one metric: one family, in the order of the cells.
    pub fn against_baseline(&self, metric: &Metric) -> Vec<Option<Comparison>> {
        self.family(metric, |cell| self.run.baseline_of(cell.record))
    }

    /// The baseline in words, `thread` or `0 idle connections`; none if the plan has no baseline.
    pub fn baseline_words(&self) -> Option<String> {
        self.run.plan.baseline.as_ref().map(levels_words)
    }

    /// The comparison of two cells alone.
    pub fn compare(
        &self,
        candidate: &CellRecord,
        baseline: &CellRecord,
        metric: &Metric,
    ) -> Option<Comparison> {
        judge(&[samples(candidate, baseline, metric)], self.run.plan.tolerance).remove(0)
    }

    /// The name of a cell's series.
    pub fn series_of(&self, cell: &Cell<'_>) -> &str {
        &self.series[cell.series].name
    }

    /// A cell's name in a list: its series and its load.
    pub fn name_of(&self, cell: &Cell<'_>) -> String {
        format!("{}{}", self.series_of(cell), self.at_load(cell.level))
    }

    /// A load level in a sentence: ` at 1000 connections`, with its space; empty if the load does not vary.
    pub fn at_load(&self, level: usize) -> String {
        match self.load.words(level) {
            words if words.is_empty() => words,
            words => format!(" at {words}"),
        }
    }

    /// A load level with its name: `1000 connections`, `1 connection`; empty if the load does not vary.
    pub fn load_words(&self, level: usize) -> String {
        self.load.words(level)
    }

    /// Compares cells with the partners that `partner` names, as one family.
    fn family(
        &self,
        metric: &Metric,
        partner: impl Fn(&Cell<'r>) -> Option<&'r CellRecord>,
    ) -> Vec<Option<Comparison>> {
        let family: Vec<Samples> = self
            .cells
            .iter()
            .map(|cell| match partner(cell) {
                Some(other) if other.id != cell.record.id && !cell.failed() => {
                    samples(cell.record, other, metric)
                }
                _ => Samples::Paired(Vec::new()),
            })
            .collect();
        judge(&family, self.run.plan.tolerance)
    }

    /// Ranks the cells of each load level: all comparisons with the best of the level are one family.
    fn rank(&mut self) {
        let leaders: Vec<Option<&'r CellRecord>> = (0..self.load.levels.len())
            .map(|level| self.best_at(level, self.headline).map(|c| c.record))
            .collect();
        let comparisons = self.family(self.headline, |cell| leaders[cell.level]);
        let alone: Vec<bool> =
            (0..leaders.len()).map(|level| self.at_level(level, self.headline).count() < 2).collect();
        for (cell, comparison) in self.cells.iter_mut().zip(comparisons) {
            let is_leader = leaders[cell.level].is_some_and(|l| l.id == cell.record.id);
            cell.standing = match comparison.map(|c| c.decision) {
                _ if alone[cell.level] || cell.failed() => Standing::Unknown,
                _ if is_leader => Standing::Best,
                Some(Decision::Higher | Decision::Lower) => Standing::Behind,
                Some(Decision::Alike | Decision::NoDifferenceSeen | Decision::Suggested) => Standing::Level,
                Some(Decision::TooFewRepetitions { .. }) | None => Standing::Unknown,
            };
        }
    }
}
