//! The parts of a run: cells of different parts have different work to do, and are not compared.
//!
//! A file of 1 KiB costs less than one of 1 MiB on any server. If the load has more factors than the one on the x axis, each
//! combination of their levels is a part with its own answer, ranking and correction for several comparisons. The same holds if the
//! plan's baseline names something other than servers, such as kernels: each server is then compared with itself on each kernel.
//! Trust and method are reported once for the whole run.

use super::factor::level_words;
use super::load_axis::LoadAxis;
use pitot_record::{CellRecord, Run};

/// Factors that say what is asked of the servers begin with this.
const LOAD: &str = "load.";

/// A part of a run.
#[derive(Clone, Debug)]
pub struct SubRun {
    /// What is asked, in words: `/1k, 1 request per connection`.
    pub title: String,
    /// The run with no other cells than those of the part.
    pub run: Run,
}

/// The parts of a run, in the order of its cells; none if there is only one.
pub fn parts(run: &Run) -> Vec<SubRun> {
    let factors = dividing(run);
    let of_each = part_of_each(run);
    let count = of_each.iter().max().map_or(0, |last| last + 1);
    let load = LoadAxis::of(run);
    let part = |index| part(run, &factors, &load, |cell| of_each[cell] == index);
    if count < 2 { Vec::new() } else { (0..count).map(part).collect() }
}

/// The index of each cell's part, in the order of the cells: all 0 if there is only one.
pub(super) fn part_of_each(run: &Run) -> Vec<usize> {
    let factors = dividing(run);
    let mut keys: Vec<Vec<&str>> = Vec::new();
    let mut index = |cell| {
        let key = key(&factors, cell);
        keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        })
    };
    run.cells.iter().map(&mut index).collect()
}

fn part(whole: &Run, factors: &[&str], load: &LoadAxis, is_of: impl Fn(usize) -> bool) -> SubRun {
    let mut run = whole.clone();
    run.cells =
        (0..whole.cells.len()).filter(|index| is_of(*index)).map(|i| whole.cells[i].clone()).collect();
    let is_kept = |id: i64| run.cells.iter().any(|cell| cell.id == id);
    run.controls.retain(|control| control.control_of.is_some_and(is_kept));
    let asked = run.cells.first().map(|cell| key(factors, cell)).unwrap_or_default();
    let mut words: Vec<String> =
        factors.iter().zip(asked).map(|(factor, level)| level_words(factor, level)).collect();
    // A part with a single level of the x axis has no axis to show it.
    let levels = |name: &str| {
        let mut levels: Vec<&str> =
            run.cells.iter().filter_map(|c| c.level(name)).map(|l| l.level.as_str()).collect();
        levels.dedup();
        levels
    };
    if let Some(axis) = &load.factor
        && let [only] = levels(axis)[..]
    {
        words.push(level_words(axis, only));
    }
    SubRun { title: words.join(", "), run }
}

/// The factors that divide a run: varying factors of the load, except the one on the x axis and those that the baseline names. If
/// the baseline names a factor that is not of the load, all other varying factors divide the run too. If nothing else varies, the run
/// is not divided.
fn dividing(run: &Run) -> Vec<&str> {
    let load = LoadAxis::of(run);
    let first = run.cells.first();
    let varies = |name: &str| {
        let level = |cell: &CellRecord| cell.level(name).map(|l| l.level.clone());
        run.cells.iter().any(|cell| level(cell) != first.and_then(level))
    };
    let is_named =
        |name: &str| run.plan.baseline.as_ref().is_some_and(|b| b.0.iter().any(|(n, _)| n == name));
    let varying: Vec<&str> = first
        .into_iter()
        .flat_map(|cell| &cell.factors)
        .map(|f| f.name.as_str())
        .filter(|n| varies(n))
        .collect();
    let asks_for = |name: &&&str| !name.starts_with(LOAD) && is_named(name);
    let is_asked = varying.iter().any(|name| asks_for(&name));
    let is_compared = |name: &&str| is_named(name) || (!name.starts_with(LOAD) && !is_asked);
    if !varying.iter().any(is_compared) {
        return Vec::new();
    }
    let is_axis = |name: &str| load.factor.as_deref() == Some(name);
    varying.into_iter().filter(|name| !is_compared(name) && !is_axis(name)).collect()
}

/// A cell's levels of the factors that divide the run.
fn key<'c>(factors: &[&str], cell: &'c CellRecord) -> Vec<&'c str> {
    factors.iter().map(|name| cell.level(name).map_or("", |l| l.level.as_str())).collect()
}
