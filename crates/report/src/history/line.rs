//! One cell over several runs, and where its level changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use pitot_host::HostChange;
use pitot_record::{Better, Metric};
use pitot_stats::{ALPHA, Interval, false_discovery, level_changes};

use super::figures::{CellFigure, Ratio, RunFigures};
use crate::tone::Tone;

/// The label with the time of a run's commit, by which runs are in order where all have one.
pub const COMMIT_TIME: &str = "commit-time";
/// The label with the commit of what was measured.
pub const COMMIT: &str = "commit";

/// A cell over the runs of a plan: of one machine, or as ratios to a reference that all runs hold.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name of the plan.
    pub plan: String,
    /// The cell.
    pub cell: String,
    /// The metric.
    pub metric: &'static Metric,
    /// The reference of the ratios; none if figures are compared as they are.
    pub reference: Option<String>,
    /// The machine; none if the runs come from several, which only ratios may.
    pub machine: Option<String>,
    /// The runs, in order.
    pub points: Vec<Point>,
    /// The changes of the level, in order.
    pub changes: Vec<Change>,
}

/// A run in a line.
#[derive(Clone, Debug)]
pub struct Point {
    /// The run, without its cells.
    pub run: Arc<RunFigures>,
    /// The figure.
    pub value: f64,
    /// Its 95% interval within the run.
    pub interval: Option<[f64; 2]>,
    /// Its ratio to the reference of the run.
    pub ratio: Option<Ratio>,
}

/// A lasting change of the level of a line.
#[derive(Clone, Debug)]
pub struct Change {
    /// The first point after it.
    pub at: usize,
    /// The level after it to that before.
    pub ratio: f64,
    /// The 95% interval of the ratio.
    pub interval: Interval,
    /// The probability of so clear a change in a line without one, corrected for the number of lines.
    pub p: f64,
    /// What else differs between the two runs around it.
    pub also_changed: Vec<HostChange>,
}

impl Line {
    /// What is compared from run to run: the ratio to the reference, or the figure.
    pub fn figure(&self, point: &Point) -> f64 {
        let ratio = point.ratio.as_ref().filter(|_| self.reference.is_some());
        ratio.map_or(point.value, |ratio| ratio.value)
    }

    /// Its 95% interval within the run.
    pub fn interval(&self, point: &Point) -> Option<[f64; 2]> {
        match (&self.reference, &point.ratio) {
            (Some(_), Some(ratio)) => ratio.interval,
            _ => point.interval,
        }
    }

    /// Whether a change is for the better or the worse.
    pub fn tone(&self, change: &Change) -> Tone {
        let is_higher = change.ratio > 1.0;
        if is_higher == (self.metric.better == Better::Higher) { Tone::Good } else { Tone::Bad }
    }

    /// The points between changes: each has the index of its first point.
    pub(super) fn levels(&self) -> Vec<(usize, &[Point])> {
        let starts = || std::iter::once(0).chain(self.changes.iter().map(|change| change.at));
        let ends = starts().skip(1).chain([self.points.len()]);
        starts().zip(ends).map(|(from, to)| (from, &self.points[from..to])).collect()
    }
}

impl Point {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.run.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }

    /// What a reader knows the run by: its commit or its file, and when it began.
    pub fn name(&self) -> String {
        let run = &self.run;
        let began = run.started_at.get(..16).unwrap_or(&run.started_at).replace('T', " ");
        match self.label(COMMIT) {
            Some(commit) => format!("{} ({began})", shortened(commit)),
            None => format!("{} ({began})", run.file.file_name().unwrap_or_default().to_string_lossy()),
        }
    }
}

/// A commit as people write it.
pub fn shortened(commit: &str) -> &str {
    let is_hash = commit.len() >= 40 && commit.as_bytes()[..40].iter().all(u8::is_ascii_hexdigit);
    if is_hash { &commit[..10] } else { commit }
}

/// The lines of runs, in the order of the plans and cells of the first run that has them, with their changes.
///
/// A plan and cell is one line if all its runs hold the same reference, and else a line for each machine. Only the last `newest` runs
/// of a line count.
pub(super) fn lines(
    runs: &[RunFigures],
    newest: Option<usize>,
    find: impl Fn(&str) -> Option<&'static Metric>,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut keys: Vec<(&str, &str, &str)> = Vec::new();
    for run in runs {
        for cell in &run.cells {
            let key = (run.plan.as_str(), cell.cell.as_str(), run.metric.as_str());
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
    }
    keys.sort_by_key(|(plan, ..)| runs.iter().position(|run| run.plan == *plan));
    let bare: Vec<Arc<RunFigures>> =
        runs.iter().map(|run| Arc::new(RunFigures { cells: Vec::new(), ..run.clone() })).collect();
    for (plan, cell, metric) in keys {
        let Some(metric) = find(metric) else { continue };
        let of = runs.iter().zip(&bare).filter(|(run, _)| run.plan == plan && run.metric == metric.name);
        let own: Vec<(&Arc<RunFigures>, &CellFigure)> =
            of.filter_map(|(run, bare)| Some((bare, run.cells.iter().find(|c| c.cell == cell)?))).collect();
        let machines: BTreeSet<&str> = own.iter().map(|(run, _)| run.machine.as_str()).collect();
        let line = |machine: Option<&str>, reference: Option<String>| {
            let on = own.iter().filter(|(run, _)| machine.is_none_or(|machine| run.machine == machine));
            Line {
                plan: plan.to_owned(),
                cell: cell.to_owned(),
                metric,
                reference,
                machine: machine.map(str::to_owned),
                points: newest_of(in_order(on.map(|(run, cell)| point(run, cell)).collect()), newest),
                changes: Vec::new(),
            }
        };
        let only = machines.first().copied().filter(|_| machines.len() == 1);
        match common_reference(&own) {
            Some(reference) => lines.push(line(only, Some(reference))),
            None => lines.extend(machines.iter().map(|machine| line(Some(machine), None))),
        }
    }
    find_changes(&mut lines);
    lines
}

fn point(run: &Arc<RunFigures>, cell: &CellFigure) -> Point {
    Point { run: Arc::clone(run), value: cell.value, interval: cell.interval, ratio: cell.ratio.clone() }
}

/// By the times of commits if all have one, else by when the runs began.
fn in_order(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.run.started_at.cmp(&b.run.started_at));
    if points.iter().all(|point| point.label(COMMIT_TIME).is_some()) {
        // Stable, so that several runs of a commit stay in their order.
        points.sort_by(|a, b| a.label(COMMIT_TIME).cmp(&b.label(COMMIT_TIME)));
    }
    points
}

fn newest_of(mut points: Vec<Point>, newest: Option<usize>) -> Vec<Point> {
    points.drain(..points.len().saturating_sub(newest.unwrap_or(usize::MAX)));
    points
}

/// The reference that all runs hold.
fn common_reference(own: &[(&Arc<RunFigures>, &CellFigure)]) -> Option<String> {
    let first = own.first()?.1.ratio.as_ref()?;
    let is_same = |(_, cell): &(&Arc<RunFigures>, &CellFigure)| {
        cell.ratio.as_ref().is_some_and(|ratio| ratio.identity == first.identity)
    };
    own.iter().all(is_same).then(|| first.reference.clone())
}

/// The changes of all lines together: of those that are shown, one in twenty is false on average at most.
fn find_changes(lines: &mut [Line]) {
    let found: Vec<_> = lines
        .iter()
        .map(|line| level_changes(&line.points.iter().map(|p| line.figure(p)).collect::<Vec<_>>()))
        .collect();
    let p: Vec<f64> = found.iter().flatten().map(|change| change.p).collect();
    let mut corrected = false_discovery(&p, lines.len()).into_iter();
    for (line, found) in lines.iter_mut().zip(found) {
        for (change, p) in found.into_iter().zip(&mut corrected) {
            if p <= ALPHA {
                let also_changed = Vec::new();
                let (ratio, interval) = (change.ratio, change.interval);
                line.changes.push(Change { at: change.at, ratio, interval, p, also_changed });
            }
        }
    }
}
