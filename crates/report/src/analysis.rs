//! A run as a report sees it: servers against load levels, with figures, comparisons and verdicts.
//!
//! Everything that a format shows is computed here once; the formats only arrange it.

use pitot_lab::statistics::{Comparison, Decision, Estimate, Samples, Spread, judge};
use pitot_lab::{Better, CellRecord, METRICS, Metric, Run, Verdict, VerdictKind, metric};

/// The factor that makes the x axis, if there are several to choose from: the first of these that varies.
const LOAD_FACTORS: &[&str] =
    &["load.connections", "load.rate", "load.idle", "load.size", "load.requests-per-connection"];

/// A run, analysed.
#[derive(Debug)]
pub struct Analysis<'r> {
    /// The run itself.
    pub run: &'r Run,
    /// The figure that answers the plan's question.
    pub headline: &'static Metric,
    /// The lines of the charts: combinations of all factors but the one on the x axis.
    pub series: Vec<Series>,
    /// The x axis.
    pub load: LoadAxis,
    /// The cells, by load level and then by series.
    pub cells: Vec<Cell<'r>>,
}

/// A line of the charts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Its levels joined.
    pub name: String,
    /// Whether it is the plan's baseline.
    pub is_baseline: bool,
}

/// The factor on the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadAxis {
    /// The factor's name; none if nothing but the servers varies.
    pub factor: Option<String>,
    /// Its name for readers: `connections`.
    pub title: String,
    /// Its levels, rising: as spelt, and as numbers.
    pub levels: Vec<(String, Option<f64>)>,
}

/// A cell with its figures.
#[derive(Debug)]
pub struct Cell<'r> {
    /// The cell in the run file.
    pub record: &'r CellRecord,
    /// Index into [`Analysis::series`].
    pub series: usize,
    /// Index into [`LoadAxis::levels`].
    pub level: usize,
    /// Whether its measurement can be trusted.
    pub verdict: Verdict,
    /// Its figures, in the order of [`METRICS`].
    pub estimates: Vec<Option<Estimate>>,
    /// How far its repetitions lie apart in the headline's figure.
    pub spread: Option<Spread>,
    /// Its rank among the cells of its load level.
    pub standing: Standing,
}

/// The rank of a cell among the cells of its load level, by the headline's figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The best figure.
    Best,
    /// No difference from the best was declared.
    Level,
    /// Worse than the best.
    Behind,
    /// It has no figure, or too few repetitions to tell, or nothing to compare with.
    Unknown,
}

impl Cell<'_> {
    /// The figure of a metric.
    pub fn estimate(&self, metric: &Metric) -> Option<&Estimate> {
        let index = METRICS.iter().position(|m| m.name == metric.name)?;
        self.estimates[index].as_ref()
    }

    /// Whether its figures may be read at all.
    pub fn failed(&self) -> bool {
        self.verdict.kind == VerdictKind::Failed
    }
}

/// The metric of a name that is known to exist.
pub(crate) fn known(name: &str) -> &'static Metric {
    metric::find(name).unwrap_or(&METRICS[0])
}

impl<'r> Analysis<'r> {
    /// Analyses a run.
    pub fn of(run: &'r Run) -> Analysis<'r> {
        let headline = known(&run.plan.metric);
        let load = load_axis(run);
        let mut series: Vec<Series> = Vec::new();
        let mut cells: Vec<Cell<'r>> = run
            .cells
            .iter()
            .map(|record| {
                let name = series_name(run, record, load.factor.as_deref());
                let index = series.iter().position(|s| s.name == name).unwrap_or_else(|| {
                    series.push(Series { name, is_baseline: is_baseline_series(run, record, &load) });
                    series.len() - 1
                });
                Cell {
                    record,
                    series: index,
                    level: level_of(&load, record),
                    verdict: record.verdict(),
                    estimates: METRICS.iter().map(|m| estimate(run, record, m)).collect(),
                    spread: Spread::of(&values(record, headline)),
                    standing: Standing::Unknown,
                }
            })
            .collect();
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
    pub fn at_level<'a>(
        &'a self,
        level: usize,
        metric: &'a Metric,
    ) -> impl Iterator<Item = (&'a Cell<'r>, &'a Estimate)> {
        self.cells
            .iter()
            .filter(move |c| c.level == level && !c.failed())
            .filter_map(move |c| Some((c, c.estimate(metric)?)))
    }

    /// The best cell of a load level.
    pub fn best_at(&self, level: usize, metric: &Metric) -> Option<&Cell<'r>> {
        let better = |a: f64, b: f64| if metric.better == Better::Higher { a > b } else { a < b };
        let mut best: Option<(&Cell<'r>, f64)> = None;
        for cell in self.cells.iter().filter(|c| c.level == level && !c.failed()) {
            let Some(value) = cell.estimate(metric).map(|e| e.value) else { continue };
            if best.is_none_or(|(_, leader)| better(value, leader)) {
                best = Some((cell, value));
            }
        }
        best.map(|(cell, _)| cell)
    }

    /// The highest load level at which at least two cells have a figure of the headline; else the highest with one.
    pub fn top_level(&self) -> Option<usize> {
        let with = |count: usize| {
            (0..self.load.levels.len())
                .rev()
                .find(|level| self.at_level(*level, self.headline).count() >= count)
        };
        with(2).or_else(|| with(1))
    }

    /// Each cell against its baseline in one figure: one family, in the order of the cells.
    pub fn against_baseline(&self, metric: &Metric) -> Vec<Option<Comparison>> {
        self.family(metric, |cell| self.run.baseline_of(cell.record))
    }

    /// The baseline in words, `thread` or `0 idle`; none if the plan has no baseline.
    pub fn baseline_words(&self) -> Option<String> {
        let levels = self.run.plan.baseline.as_ref()?;
        let words = levels.0.iter().map(|(name, wanted)| {
            let wanted = wanted.join(" or ");
            level_words(name, &wanted)
        });
        Some(words.collect::<Vec<_>>().join(", "))
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

    /// A load level in a sentence: `at 1000 connections`; empty if the load does not vary.
    pub fn at_load(&self, level: usize) -> String {
        match &self.load.factor {
            Some(_) => format!(" at {}", self.load_words(level)),
            None => String::new(),
        }
    }

    /// A load level with its name: `1000 connections`, `1 connection`; empty if the load does not vary.
    pub fn load_words(&self, level: usize) -> String {
        if self.load.factor.is_none() {
            return String::new();
        }
        counted(&self.load.levels[level].0, &self.load.title)
    }

    /// Whether lower is better or higher, in words.
    pub fn hint(metric: &Metric) -> &'static str {
        if metric.better == Better::Higher { "higher is better" } else { "lower is better" }
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
        let lonely: Vec<bool> =
            (0..leaders.len()).map(|level| self.at_level(level, self.headline).count() < 2).collect();
        for (cell, comparison) in self.cells.iter_mut().zip(comparisons) {
            let is_leader = leaders[cell.level].is_some_and(|l| l.id == cell.record.id);
            cell.standing = match comparison.map(|c| c.decision) {
                _ if lonely[cell.level] || cell.verdict.kind == VerdictKind::Failed => Standing::Unknown,
                _ if is_leader => Standing::Best,
                Some(Decision::Higher | Decision::Lower) => Standing::Behind,
                Some(Decision::Alike | Decision::NoDifferenceSeen | Decision::Suggested) => Standing::Level,
                Some(Decision::TooFewRepetitions { .. }) | None => Standing::Unknown,
            };
        }
    }
}

/// The figures of two cells, paired by block.
pub(crate) fn samples(candidate: &CellRecord, baseline: &CellRecord, metric: &Metric) -> Samples {
    Samples::by_block(&candidate.figures(metric), &baseline.figures(metric))
}

/// The figures of a cell without their blocks.
pub(crate) fn values(record: &CellRecord, metric: &Metric) -> Vec<f64> {
    record.figures(metric).into_iter().map(|(_, value)| value).collect()
}

/// The figure of a cell by the plan's statistic. The resampling follows the run's seed and the cell's own number.
fn estimate(run: &Run, record: &CellRecord, metric: &Metric) -> Option<Estimate> {
    let seed = run.info.seed ^ (record.id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Estimate::of(&values(record, metric), run.plan.statistic, seed)
}

/// A factor's name for readers: the option without the program that it belongs to.
pub(crate) fn factor_title(name: &str) -> &str {
    match name {
        "load.idle" => "idle connections",
        "load.rate" => "requests a second offered",
        _ => name.rsplit('.').next().unwrap_or(name),
    }
}

/// A level in words: `1000 connections` for a number, the word itself for a word.
pub(crate) fn level_words(factor: &str, level: &str) -> String {
    let number = level.starts_with(|c: char| c.is_ascii_digit());
    match level {
        "true" | "false" => format!("{} {level}", factor_title(factor)),
        _ if number => counted(level, factor_title(factor)),
        _ => level.to_owned(),
    }
}

/// `1 connection`, `2 connections`; but `size 4KiB`, `depth 16`, which are no counts.
fn counted(number: &str, things: &str) -> String {
    if ["size", "sizes", "block", "depth"].contains(&things) {
        return format!("{} {number}", things.strip_suffix("zes").map_or(things, |_| "size"));
    }
    let things = if number == "1" { things.strip_suffix('s').unwrap_or(things) } else { things };
    format!("{number} {things}")
}

/// Whether a series is what others are compared with. A baseline that names a load is none: then each series is
/// compared with itself at that load.
fn is_baseline_series(run: &Run, record: &CellRecord, load: &LoadAxis) -> bool {
    let names_load = |b: &pitot_lab::Levels| b.0.iter().any(|(name, _)| Some(name) == load.factor.as_ref());
    run.plan.baseline.as_ref().is_some_and(|b| !names_load(b) && b.matches(&record.factors))
}

fn load_axis(run: &Run) -> LoadAxis {
    let levels_of = |name: &str| -> Vec<(String, Option<f64>)> {
        let mut levels: Vec<(String, Option<f64>)> = Vec::new();
        for level in run.cells.iter().filter_map(|c| c.level(name)) {
            if levels.iter().all(|(text, _)| *text != level.level) {
                levels.push((level.level.clone(), level.number));
            }
        }
        levels
    };
    let numeric = |name: &&str| {
        let levels = levels_of(name);
        levels.len() > 1 && levels.iter().all(|(_, number)| number.is_some())
    };
    let names: Vec<&str> =
        run.cells.first().map(|c| c.factors.iter().map(|f| f.name.as_str()).collect()).unwrap_or_default();
    let known = LOAD_FACTORS.iter().copied().filter(|f| names.contains(f)).find(numeric);
    match known.or_else(|| names.iter().copied().find(numeric)) {
        Some(name) => {
            let mut levels = levels_of(name);
            levels.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal));
            LoadAxis { factor: Some(name.to_owned()), title: factor_title(name).to_owned(), levels }
        }
        None => LoadAxis { factor: None, title: String::new(), levels: vec![(String::new(), None)] },
    }
}

fn level_of(load: &LoadAxis, record: &CellRecord) -> usize {
    let level = load.factor.as_deref().and_then(|name| record.level(name));
    level.and_then(|l| load.levels.iter().position(|(text, _)| *text == l.level)).unwrap_or(0)
}

/// The levels of all factors that vary, but the one on the x axis; with the option's name where the level alone would
/// say nothing.
fn series_name(run: &Run, record: &CellRecord, load_factor: Option<&str>) -> String {
    let varies = |name: &str| {
        let first = run.cells.first().and_then(|c| c.level(name)).map(|f| &f.level);
        run.cells.iter().any(|c| c.level(name).map(|f| &f.level) != first)
    };
    let words: Vec<String> = record
        .factors
        .iter()
        .filter(|f| Some(f.name.as_str()) != load_factor && varies(&f.name))
        .map(|f| {
            let bare = f.number.is_none() && f.level != "true" && f.level != "false";
            if bare { f.level.clone() } else { format!("{} {}", factor_title(&f.name), f.level) }
        })
        .collect();
    if words.is_empty() {
        let named = record.level(pitot_lab::SERVER_FACTOR);
        let other = || record.factors.iter().find(|f| Some(f.name.as_str()) != load_factor);
        let program = || run.plan.program.clone().unwrap_or_else(|| run.plan.name.clone());
        return named.or_else(other).map_or_else(program, |f| f.level.clone());
    }
    words.join(", ")
}
