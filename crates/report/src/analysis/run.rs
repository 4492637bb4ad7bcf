//! A run, analysed.

use super::cell::{Cell, Standing};
use super::claimed::{Pair, Terms};
use super::comparisons::Comparisons;
use super::factor::{factor_title, levels_words};
use super::groups::groups;
use super::load_axis::LoadAxis;
use super::outcomes;
use super::parts::part_of_each;
use super::replies::mark_unlike;
use super::series::Series;
use pitot_plan::SERVER_FACTOR;
use pitot_record::metric::{find, of_plan};
use pitot_record::{Better, CellRecord, METRICS, Metric, Run};
use pitot_stats::{Comparison, Decision, Estimate};
use std::cell::OnceCell;

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
    /// The comparisons in each metric, in the order of [`METRICS`]; made when they are first asked for.
    comparisons: Vec<OnceCell<Comparisons>>,
}

impl<'r> Analysis<'r> {
    /// Analyses a run.
    pub fn of(run: &'r Run) -> Analysis<'r> {
        let headline = of_plan(&run.plan);
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
        mark_unlike(run, &mut cells);
        outcomes::mark_unlike(run, &mut cells);
        let is_left_out = |c: &Cell<'_>| c.unlike.is_some() || run.plan.is_reference(&c.record.factors);
        cells.iter_mut().filter(|c| is_left_out(c)).for_each(|c| c.is_ranked = false);
        // If all cells of a level are excluded, they are ranked nevertheless; if their replies differ, none is the best.
        for level in 0..load.levels.len() {
            let at_level = |c: &&mut Cell<'r>| c.level == level && !c.failed();
            if !cells.iter_mut().filter(at_level).any(|c| c.is_ranked) {
                cells.iter_mut().filter(at_level).for_each(|c| c.is_ranked = true);
            }
        }
        let comparisons = METRICS.iter().map(|_| OnceCell::new()).collect();
        let mut analysis = Analysis { run, headline, series, load, cells, comparisons };
        analysis.rank();
        analysis
    }

    /// The cell of a series at a load level.
    pub fn cell(&self, series: usize, level: usize) -> Option<&Cell<'r>> {
        self.cells.iter().find(|c| c.series == series && c.level == level)
    }

    /// The cells of a load level that have a figure of `metric` and are ranked.
    pub fn at_level<'a, 'm>(
        &'a self,
        level: usize,
        metric: &'m Metric,
    ) -> impl Iterator<Item = (&'a Cell<'r>, &'a Estimate)> + use<'a, 'm, 'r> {
        self.cells
            .iter()
            .filter(move |c| c.level == level && !c.failed() && c.is_ranked)
            .filter_map(move |c| Some((c, c.estimate(metric)?)))
    }

    /// The best cell of a load level, the first of equals; none if the replies differ.
    pub fn best_at(&self, level: usize, metric: &Metric) -> Option<&Cell<'r>> {
        if self.are_unlike(level) {
            return None;
        }
        let best = self.at_level(level, metric).reduce(|leader, next| {
            if metric.is_better(next.1.value, leader.1.value) { next } else { leader }
        });
        best.map(|(cell, _)| cell)
    }

    /// Whether the replies of a load level differ, so that none of its cells can be the best.
    pub(crate) fn are_unlike(&self, level: usize) -> bool {
        self.cells.iter().any(|c| c.level == level && c.is_ranked && c.unlike.is_some())
    }

    /// The worst cell of a load level, the first of equals.
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

    /// Each cell against its baseline in one metric, in the order of the cells.
    pub fn against_baseline(&self, metric: &Metric) -> Vec<Option<Comparison>> {
        let compared = |cell: &Cell<'r>| {
            self.compare(cell.record, self.run.baseline_of(cell.record).filter(|_| !cell.failed())?, metric)
        };
        self.cells.iter().map(compared).collect()
    }

    /// The baseline in words, `thread` or `0 idle connections`; none if the plan has no baseline.
    pub fn baseline_words(&self) -> Option<String> {
        self.run.plan.baseline.as_ref().map(levels_words)
    }

    /// The comparison of two cells; none if no question asks for it (`families`).
    pub fn compare(
        &self,
        candidate: &CellRecord,
        baseline: &CellRecord,
        metric: &Metric,
    ) -> Option<Comparison> {
        self.comparisons(metric)?.between(candidate, baseline)
    }

    /// The comparisons in the largest family of a metric.
    pub(crate) fn family_size_max(&self, metric: &Metric) -> usize {
        self.comparisons(metric).map_or(0, Comparisons::family_size_max)
    }

    /// The cell of a series with the best figure of the plan's metric up to a load level, and the one at that level.
    pub(crate) fn peak(&self, series: usize, level: usize) -> Option<(&Cell<'r>, &Cell<'r>)> {
        let value =
            |cell: &Cell<'_>| cell.estimate(self.headline).filter(|_| !cell.failed()).map(|e| e.value);
        let last = self.cell(series, level).filter(|c| value(c).is_some())?;
        let until =
            self.cells.iter().filter(|c| c.series == series && c.level <= level && value(c).is_some());
        let peak = until.reduce(|x, y| if value(y) > value(x) { y } else { x })?;
        Some((peak, last))
    }

    /// What the series are: `server`, `command`, or the only factor that varies, such as `kernel` or the `engine` of a program, or `cell`.
    pub(crate) fn subject(&self) -> &str {
        let varies = |name: &str| {
            let level = |c: &'r CellRecord| c.level(name).map(|f| &f.level);
            self.run.cells.iter().any(|c| level(c) != self.run.cells.first().and_then(level))
        };
        let factors = self.run.cells.first().map_or(&[][..], |c| &c.factors);
        let mut others = factors
            .iter()
            .map(|f| f.name.as_str())
            .filter(|name| Some(*name) != self.load.factor.as_deref() && varies(name));
        match (others.next(), others.next()) {
            (Some(only), None) if only != SERVER_FACTOR && !varies(SERVER_FACTOR) => factor_title(only),
            _ if self.run.cells.iter().any(outcomes::is_executed) => "command",
            _ if factors.iter().any(|f| f.name == SERVER_FACTOR) => "server",
            _ if self.run.plan.program.is_none() => "server",
            (Some(only), None) => factor_title(only),
            _ => "cell",
        }
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

    /// A load level: `1000 connections`, `1 connection`; empty if the load does not vary.
    pub fn load_words(&self, level: usize) -> String {
        self.load.words(level)
    }

    fn comparisons(&self, metric: &Metric) -> Option<&Comparisons> {
        let index = METRICS.iter().position(|m| m.name == metric.name)?;
        let make = || Comparisons::of(&self.families(metric), metric, self.run);
        Some(self.comparisons[index].get_or_init(make))
    }

    /// The questions in a metric, each a family of pairs: every cell against its baseline, against the best of its load level, and
    /// against the cell of a publication; the pairs of claims; every server at the highest load against its own peak; in slices, every event loop
    /// against every server with a process or thread per connection.
    fn families(&self, metric: &Metric) -> Vec<Vec<Pair<'r>>> {
        let usable = || self.cells.iter().filter(|c| !c.failed());
        let baseline =
            self.by_part(usable().filter_map(|c| Some((c.record, self.run.baseline_of(c.record)?))));
        let best: Vec<Option<&'r CellRecord>> =
            (0..self.load.levels.len()).map(|level| self.best_at(level, metric).map(|c| c.record)).collect();
        let best = usable().filter_map(|c| Some((c.record, best[c.level]?))).collect();
        let has_peaks = metric.name == self.headline.name && metric.better == Better::Higher;
        let top = self.top_level().filter(|_| has_peaks);
        let falls = top.map_or_else(Vec::new, |top| {
            let peaks = (0..self.series.len()).filter_map(|series| self.peak(series, top));
            peaks.map(|(peak, last)| (last.record, peak.record)).collect()
        });
        let is_of = |name: &str| find(name).is_some_and(|m| m.name == metric.name);
        let published = self.run.plan.published.iter().filter(|p| is_of(&p.metric));
        let published = published
            .filter_map(|p| p.ratio_to.as_ref())
            .flat_map(|levels| {
                usable().filter_map(|c| Some((c.record, self.run.counterpart(c.record, levels)?)))
            })
            .collect();
        let levels = (0..self.load.levels.len()).filter(|_| self.run.is_sliced());
        let between_groups = levels.filter_map(|level| {
            let groups = groups(self.at_level(level, metric).map(|(cell, _)| cell))?;
            let with_each = |one: &&Cell<'r>| -> Vec<Pair<'r>> {
                groups.per_connection.iter().map(|other| (one.record, other.record)).collect()
            };
            Some(groups.loops.iter().flat_map(with_each).collect())
        });
        let claims = self.run.plan.claim.iter().filter(|claim| is_of(&claim.metric));
        let claimed = claims
            .filter_map(|claim| Terms::of(self.run, claim, metric).ok())
            .flat_map(|terms| terms.pairs().collect::<Vec<_>>())
            .collect();
        let asked = [best, falls, published, claimed];
        baseline.into_iter().chain(asked).chain(between_groups).collect()
    }

    /// The pairs of each part, so that the whole run makes the same comparisons as its parts.
    fn by_part(&self, pairs: impl Iterator<Item = Pair<'r>>) -> Vec<Vec<Pair<'r>>> {
        let parts = part_of_each(self.run);
        let mut families = vec![Vec::new(); parts.iter().max().map_or(0, |last| last + 1)];
        for pair in pairs {
            if let Some(cell) = self.run.cells.iter().position(|c| c.id == pair.0.id) {
                families[parts[cell]].push(pair);
            }
        }
        families
    }

    fn rank(&mut self) {
        let standings: Vec<Standing> = self.cells.iter().map(|cell| self.standing(cell)).collect();
        for (cell, standing) in self.cells.iter_mut().zip(standings) {
            cell.standing = standing;
        }
    }

    fn standing(&self, cell: &Cell<'r>) -> Standing {
        let Some(leader) = self.best_at(cell.level, self.headline) else { return Standing::Unknown };
        if cell.failed() || !cell.is_ranked || self.at_level(cell.level, self.headline).count() < 2 {
            return Standing::Unknown;
        }
        if leader.record.id == cell.record.id {
            return Standing::Best;
        }
        match self.compare(cell.record, leader.record, self.headline).map(|c| c.decision) {
            Some(Decision::Higher | Decision::Lower) => Standing::Behind,
            Some(Decision::Alike | Decision::NoDifferenceSeen | Decision::Suggested) => Standing::Level,
            Some(Decision::TooFewRepetitions { .. } | Decision::NoReference) | None => Standing::Unknown,
        }
    }
}
