//! A job: a part of a run that one machine can run alone, as a message.
//!
//! A job is one block or generation of cells that are compared with each other, so that pairs stay on one machine; or, if kernels
//! are compared, one block of the cells of one guest. It is a plan with one repetition; its result is a run file, whose repetitions
//! are merged into the file of the whole run.

use serde::{Deserialize, Serialize};

use pitot_plan::Catalog;
use pitot_plan::{Cell, FactorLevel, KERNEL_FACTOR, Measure, Plan, REPLICATE_FACTOR, changes_host, expand};
use pitot_stats::Random;

use super::prepare::{Prepared, limits};
use super::slices::{Group, Member, families};

/// Maximum number of cells in one guest: if it dies, their repetitions of a block are lost.
const GUEST_CELLS_MAX: usize = 8;

/// A part of a run for one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Job {
    /// Its name within the run: `f2-b7` is the eighth block of the third family of cells.
    pub name: String,
    /// The version of Pitot that created it; only the same version runs it.
    pub version: String,
    /// The whole plan, with one repetition and generation.
    pub plan: Plan,
    /// The cells of the plan to run.
    pub cells: Vec<JobCell>,
    /// Which of `cells` have an A/A control.
    pub controls: Vec<usize>,
}

/// A cell of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JobCell {
    /// Its levels.
    pub factors: Vec<FactorLevel>,
    /// How it is measured.
    pub measure: Measure,
    /// Why it is measured in fresh runs, if the plan asks for slices.
    pub fresh_reason: String,
}

/// Where the repetitions of a job belong in the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Belongs {
    pub(super) block: u32,
    /// The run's cell for each of the job's, controls of both at the end.
    pub(super) cells: Vec<usize>,
}

/// All jobs of a run that are not done. `has` says whether a repetition of a cell is in the file.
pub(super) fn jobs(prepared: &Prepared, seed: u64, has: &dyn Fn(usize, u32) -> bool) -> Vec<(Job, Belongs)> {
    let plan = &prepared.plan;
    let groups = if plan.is_in_guests() { guests(&prepared.cells) } else { compared(prepared) };
    let times = |cell: usize| match prepared.ways.cells[cell].0 {
        Measure::Fresh => plan.repetitions,
        Measure::Slices => plan.generations.unwrap_or(1),
    };
    let blocks = (0..prepared.cells.len()).map(times).max().unwrap_or(0);
    let mut all = Vec::new();
    for block in 0..blocks {
        for (number, group) in groups.iter().enumerate() {
            let cells: Vec<usize> = group
                .cells
                .iter()
                .copied()
                .filter(|&cell| block < times(cell) && !has(cell, block))
                .collect();
            if cells.is_empty() {
                continue;
            }
            let name = format!("f{number}-b{block}");
            // Each job has its own order, which a repeated job keeps. Guests of one block share it, so that a server
            // runs equally early after the start of each kernel.
            let order = match plan.is_in_guests() {
                true => format!("g{}-b{block}", group.number),
                false => name.clone(),
            };
            all.push(job(prepared, name, block, cells, seed ^ hash(&order)));
        }
    }
    all
}

/// Cells that one machine runs together.
struct Together {
    cells: Vec<usize>,
    /// The same number for groups that differ only in the kernel.
    number: usize,
}

/// Cells that are compared with each other.
fn compared(prepared: &Prepared) -> Vec<Together> {
    let members: Vec<Member<'_>> =
        prepared.cells.iter().map(|cell| Member { cell, measure: Measure::Slices }).collect();
    let families = families(&members, prepared.plan.baseline.as_ref());
    let together = |(number, family): (usize, Group)| Together { cells: family.cells, number };
    families.into_iter().enumerate().map(together).collect()
}

/// Cells that are measured one after the other in one guest: those of one kernel, since starting a guest takes longer
/// than measuring. Replicates are separate by design, and host settings would outlast their cells.
fn guests(cells: &[Cell]) -> Vec<Together> {
    let is_apart = |name: &str| [KERNEL_FACTOR, REPLICATE_FACTOR].contains(&name) || changes_host(name);
    let levels = |cell: &Cell| -> Vec<FactorLevel> {
        cell.factors.iter().filter(|f| is_apart(&f.name)).cloned().collect()
    };
    let mut guests: Vec<(Vec<FactorLevel>, Vec<usize>)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let levels = levels(cell);
        match guests.iter_mut().find(|(known, _)| *known == levels) {
            Some((_, guest)) => guest.push(index),
            None => guests.push((levels, vec![index])),
        }
    }
    let pieces = |(_, cells): &(Vec<FactorLevel>, Vec<usize>)| -> Vec<Together> {
        let pieces = cells.chunks(GUEST_CELLS_MAX).enumerate();
        pieces.map(|(number, cells)| Together { cells: cells.to_vec(), number }).collect()
    };
    guests.iter().flat_map(pieces).collect()
}

fn job(prepared: &Prepared, name: String, block: u32, cells: Vec<usize>, seed: u64) -> (Job, Belongs) {
    let ways = &prepared.ways;
    let twin = |(number, twin): (usize, &usize)| {
        let at = cells.iter().position(|cell| cell == twin)?;
        Some((at, prepared.cells.len() + number))
    };
    let (controls, of_run): (Vec<usize>, Vec<usize>) =
        ways.controls.iter().enumerate().filter_map(twin).unzip();
    let cell = |&cell: &usize| JobCell {
        factors: prepared.cells[cell].factors.clone(),
        measure: ways.cells[cell].0,
        fresh_reason: ways.cells[cell].1.clone(),
    };
    let plan = Plan {
        repetitions: 1,
        generations: Some(1),
        // It fits into a signed number, like every seed.
        seed: Some(Random::new(seed).next_u64() >> 1),
        ..prepared.plan.clone()
    };
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let job = Job { name, version, plan, cells: cells.iter().map(cell).collect(), controls };
    (job, Belongs { block, cells: cells.into_iter().chain(of_run).collect() })
}

/// Whether these are the levels of one cell. Numbers that went through text may differ in the last digit.
pub(super) fn is_same(one: &[FactorLevel], other: &[FactorLevel]) -> bool {
    let names = |levels: &[FactorLevel]| -> Vec<(String, String)> {
        levels.iter().map(|f| (f.name.clone(), f.level.clone())).collect()
    };
    names(one) == names(other)
}

/// FNV-1a: stable across versions, unlike the hashes of the standard library.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// The cells of a job that cannot be run on this machine, by index, and why.
pub fn check_job(job: &Job, catalog: &Catalog) -> Vec<(usize, String)> {
    let (cells, skips) = expand(&job.plan, catalog, &limits(&job.plan, true));
    let why_not = |(index, wanted): (usize, &JobCell)| {
        if cells.iter().any(|cell| is_same(&cell.factors, &wanted.factors)) {
            return None;
        }
        let skip = skips.iter().find(|skip| is_same(&skip.factors, &wanted.factors));
        Some((
            index,
            skip.map_or_else(|| "it is not a cell of the plan".to_owned(), |skip| skip.reason.clone()),
        ))
    };
    job.cells.iter().enumerate().filter_map(why_not).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::tests::{catalog, parse};
    use crate::runner::{Where, prepare};

    fn jobs_of(more: &str, factors: &str) -> Vec<(Job, Belongs)> {
        let text = format!(
            "repetitions = 2\n{more}[server]\nprotocol = \"busy\"\n[load]\nconnections = 2\n[factors]\n{factors}"
        );
        let prepared = prepare(parse(&text), String::new(), &catalog(), Where::Elsewhere).unwrap();
        jobs(&prepared, 7, &|_, _| false)
    }

    #[test]
    fn a_guest_has_all_servers_of_its_kernel_in_an_order_that_the_kernels_of_a_block_share() {
        let jobs = jobs_of(
            "baseline = { kernel = \"6.1\" }\n",
            "kernel = [\"6.1\", \"6.12\"]\nserver.model = [\"good\", \"hang\", \"refuse\"]\n",
        );
        let kernel = |job: &Job| job.cells[0].factors[0].level.clone();
        let shown: Vec<_> = jobs.iter().map(|(job, at)| (kernel(job), at.block, job.cells.len())).collect();
        let block = |number| [("6.1".to_owned(), number, 3), ("6.12".to_owned(), number, 3)];
        assert_eq!(shown, [block(0), block(1)].concat());
        for (job, _) in &jobs {
            assert!(job.cells.iter().all(|cell| cell.factors[0] == job.cells[0].factors[0]));
        }
        let seeds: Vec<_> = jobs.iter().map(|(job, _)| job.plan.seed).collect();
        assert!(seeds[0] == seeds[1] && seeds[2] == seeds[3] && seeds[0] != seeds[2], "{seeds:?}");
        let names: std::collections::BTreeSet<_> = jobs.iter().map(|(job, _)| &job.name).collect();
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn replicates_are_in_guests_of_their_own_and_a_guest_has_few_cells() {
        let jobs = jobs_of(
            "",
            "kernel = [\"6.1\"]\nreplicate = [\"a\", \"b\"]\nload.connections = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n",
        );
        let sizes: Vec<usize> = jobs.iter().map(|(job, _)| job.cells.len()).collect();
        assert_eq!(sizes, [8, 1, 8, 1, 8, 1, 8, 1]);
        let replicate = |cell: &JobCell| cell.factors[1].level.clone();
        assert!(jobs.iter().all(|(p, _)| p.cells.iter().all(|c| replicate(c) == replicate(&p.cells[0]))));
    }
}
