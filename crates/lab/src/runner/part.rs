//! A part of a run: what one machine can carry out alone, as a message.
//!
//! A part is one block, or one generation, of cells that are compared with each other, so that what is paired stays on one
//! machine. It is a plan of its own, with one repetition; whoever carries it out writes a run file of its own, whose
//! repetitions take their place in the file of the whole run.

use std::path::Path;

use pitot_results::Failure;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::plan::{Cell, FactorLevel, Measure, Plan, label};
use crate::statistics::Random;

use super::carry_out::{Outcome, Progress, Setting};
use super::hosts;
use super::local::Guardian;
use super::prepare::{Prepared, prepare};
use super::slices::{Member, families};
use super::way::Ways;

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// Its name within the run: `f2-b7`, the eighth block of the third family of cells.
    pub name: String,
    /// The whole plan, but for its numbers of repetitions and generations, which are 1.
    pub plan: Plan,
    /// What of the plan is to be carried out.
    pub cells: Vec<PartCell>,
    /// Which of `cells` have a twin as a control.
    pub controls: Vec<usize>,
}

/// A cell of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartCell {
    /// Its levels.
    pub factors: Vec<FactorLevel>,
    /// How it is measured.
    pub measure: Measure,
    /// Why in a fresh run, if the plan asks for slices.
    pub fresh_reason: String,
}

/// Where the repetitions of a part belong in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Belongs {
    pub(super) block: u32,
    /// The run's cell for each of the part's, controls of both at the end.
    pub(super) cells: Vec<usize>,
}

/// All parts of a run, with where they belong. `has` says whether a repetition of a cell is in the file already.
pub(super) fn parts(
    prepared: &Prepared,
    seed: u64,
    has: &dyn Fn(usize, u32) -> bool,
) -> Vec<(Part, Belongs)> {
    let plan = &prepared.plan;
    let members: Vec<Member<'_>> =
        prepared.cells.iter().map(|cell| Member { cell, measure: Measure::Slices }).collect();
    let families = families(&members, plan.baseline.as_ref());
    let times = |cell: usize| match prepared.ways.cells[cell].0 {
        Measure::Fresh => plan.repetitions,
        Measure::Slices => plan.generations.unwrap_or(1),
    };
    let blocks = (0..prepared.cells.len()).map(times).max().unwrap_or(0);
    let mut all = Vec::new();
    for block in 0..blocks {
        for (number, family) in families.iter().enumerate() {
            let cells: Vec<usize> = family
                .cells
                .iter()
                .copied()
                .filter(|&cell| block < times(cell) && !has(cell, block))
                .collect();
            if cells.is_empty() {
                continue;
            }
            let name = format!("f{number}-b{block}");
            all.push(part(prepared, name, block, cells, seed));
        }
    }
    all
}

fn part(prepared: &Prepared, name: String, block: u32, cells: Vec<usize>, seed: u64) -> (Part, Belongs) {
    let ways = &prepared.ways;
    let twin = |(number, twin): (usize, &usize)| {
        let at = cells.iter().position(|cell| cell == twin)?;
        Some((at, prepared.cells.len() + number))
    };
    let (controls, of_run): (Vec<usize>, Vec<usize>) =
        ways.controls.iter().enumerate().filter_map(twin).unzip();
    let cell = |&cell: &usize| PartCell {
        factors: prepared.cells[cell].factors.clone(),
        measure: ways.cells[cell].0,
        fresh_reason: ways.cells[cell].1.clone(),
    };
    let plan = Plan {
        repetitions: 1,
        generations: Some(1),
        // Each part has an order of its own, which a repeated part keeps. A positive signed number, as every seed.
        seed: Some(Random::new(seed ^ hash(&name)).next_u64() >> 1),
        ..prepared.plan.clone()
    };
    let part = Part { name, plan, cells: cells.iter().map(cell).collect(), controls };
    (part, Belongs { block, cells: cells.into_iter().chain(of_run).collect() })
}

/// Whether these are the levels of one cell. Their numbers may differ in the last digit after a journey as text.
pub(super) fn is_same(one: &[FactorLevel], other: &[FactorLevel]) -> bool {
    let names = |levels: &[FactorLevel]| -> Vec<(String, String)> {
        levels.iter().map(|f| (f.name.clone(), f.level.clone())).collect()
    };
    names(one) == names(other)
}

/// FNV-1a: the same in every version, unlike those of the standard library.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// Carries out a part on this machine, into a new file.
///
/// # Errors
/// If the machine cannot carry it out, or the file cannot be written. A repetition that fails is no error but a verdict.
pub fn run_part(
    part: &Part,
    output: &Path,
    catalog: &Catalog,
    setting: Setting<'_>,
    guardian: Guardian,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Outcome, Failure> {
    let mut prepared = prepare(part.plan.clone(), String::new(), catalog)?;
    prepared.check_needs()?;
    for (index, wanted) in part.cells.iter().enumerate() {
        let is_wanted = |cell: &Cell| is_same(&cell.factors, &wanted.factors);
        let Some(at) = prepared.cells.iter().position(is_wanted).filter(|at| *at >= index) else {
            let skip = prepared.skips.iter().find(|s| is_same(&s.factors, &wanted.factors));
            let reason = skip.map_or("it is no cell of the plan", |s| s.reason.as_str());
            return Err(Failure::misuse(
                format!("the cell `{}` cannot be run here: {reason}", label(&wanted.factors)),
                "install what it needs on this host, or take it out of the plan",
            ));
        };
        prepared.cells.swap(index, at);
    }
    prepared.cells.truncate(part.cells.len());
    if part.controls.iter().any(|&twin| twin >= part.cells.len()) {
        return Err(Failure::misuse(
            "a control of the part has no twin",
            "use the same version on all hosts",
        ));
    }
    prepared.ways = Ways {
        cells: part.cells.iter().map(|c| (c.measure, c.fresh_reason.clone())).collect(),
        controls: part.controls.clone(),
        slow_starts_s: prepared.ways.slow_starts_s,
    };
    // Whoever drives the whole run has no other place to learn at once that a server does not start.
    let setting = Setting { trial: false, ..setting };
    hosts::with_machine(prepared, guardian, setting.pitot, |prepared, machine| {
        prepared.run_on(machine, output, setting, progress)
    })
}
