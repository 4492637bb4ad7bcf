//! Carries out the cells of a plan that are measured in slices, generation by generation.

use pitot_results::{Failure, VerdictKind};

use crate::plan::Measure;
use crate::record::{Repetition, RunState};
use crate::statistics::Random;

use super::carry_out::{Finished, Progress, TimeLeft, UnderWay};
use super::prepare::Prepared;
use super::repetition::{self, GivenUp};
use super::schedule::Turn;
use super::slices::{self, Generation, Group, Request};
use super::way::groups_with_controls;

/// Runs all generations of all groups that are not in the file. A cell that turns out to be impossible to measure in
/// slices is left to fresh runs.
pub(super) fn run(prepared: &mut Prepared, run: &mut UnderWay<'_>) -> Result<RunState, Failure> {
    let mut cells = prepared.cells.clone();
    cells.extend(prepared.ways.controls.iter().map(|&twin| prepared.cells[twin].clone()));
    let generations = prepared.plan.generations.unwrap_or(0);
    let total = groups_of(prepared).len() * generations as usize;
    let nominal_s = prepared.ways.generation_s(&prepared.plan) / groups_of(prepared).len().max(1) as f64;
    let mut left = TimeLeft::of((0..total).map(|_| nominal_s));
    let mut number = 0;
    for generation in 0..generations {
        let mut groups = groups_of(prepared);
        Random::new(run.seed.wrapping_add(u64::from(generation))).shuffle(&mut groups);
        for group in groups {
            number += 1;
            if is_done(&group, generation, &run.done) {
                left.passed(nominal_s, nominal_s);
                continue;
            }
            let label = describe(&group, prepared.cells.len(), generation);
            let mut news = Progress {
                trial: false,
                number,
                total,
                label: &label,
                finished: None,
                left_s: left.seconds(),
            };
            (run.progress)(&news);
            let begin = std::time::Instant::now();
            let is_tried = |cell: &usize| run.given_up[*cell].is_none();
            let (tried, given_up): (Vec<usize>, Vec<usize>) = group.cells.iter().partition(|c| is_tried(c));
            let request = Request {
                shared: run.shared,
                machine: run.machine,
                cells: &cells,
                group: &Group { cells: tried },
                generation,
                seed: run.seed,
                number: number * (cells.len() + 1),
            };
            let done = if request.group.cells.is_empty() {
                Some(Generation::default())
            } else {
                slices::run(&request)
            };
            let Some(mut done) = done else { return Ok(RunState::Interrupted) };
            for cell in given_up {
                if let Some(reason) = &mut run.given_up[cell] {
                    let missed = Repetition { block: generation, ..repetition::not_tried(reason) };
                    done.repetitions.push((cell, missed));
                }
            }
            record(prepared, run, &mut done, number * cells.len())?;
            for (cell, reason) in std::mem::take(&mut done.not_started) {
                run.given_up[cell] = Some(GivenUp { reason, output_tail: String::new() });
            }
            left.passed(nominal_s, begin.elapsed().as_secs_f64());
            news.left_s = left.seconds();
            news.finished = Some(Finished::Generation(&done.repetitions));
            (run.progress)(&news);
        }
    }
    Ok(RunState::Complete)
}

/// How many positions in the order of the run the generations of a plan take.
pub(super) fn positions(prepared: &Prepared) -> usize {
    let cells = prepared.cells.len() + prepared.ways.controls.len();
    if prepared.ways.sliced() == 0 {
        return 0;
    }
    let generations = groups_of(prepared).len() * prepared.plan.generations.unwrap_or(0) as usize;
    (generations + 1) * (cells + 1)
}

/// Writes a generation into the file.
fn record(
    prepared: &mut Prepared,
    run: &mut UnderWay<'_>,
    done: &mut Generation,
    first_position: usize,
) -> Result<(), Failure> {
    for (offset, (_, repetition)) in done.repetitions.iter_mut().enumerate() {
        repetition.position = (first_position + offset) as u32;
        run.failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
    }
    run.writer.record_together(done.repetitions.iter().map(|(cell, repetition)| (*cell, repetition)))?;
    for (cell, reason) in &done.impossible {
        // What holds of a cell holds of its twin, which is not measured by itself.
        if let Some(way) = prepared.ways.cells.get_mut(*cell) {
            *way = (Measure::Fresh, reason.clone());
        }
        run.writer.measure_fresh(*cell, reason)?;
    }
    Ok(())
}

fn groups_of(prepared: &Prepared) -> Vec<Group> {
    groups_with_controls(&prepared.plan, &prepared.cells, &prepared.ways)
}

fn is_done(group: &Group, generation: u32, done: &[Turn]) -> bool {
    group.cells.iter().all(|&cell| done.contains(&Turn { cell, block: generation }))
}

fn describe(group: &Group, cells: usize, generation: u32) -> String {
    let count = group.cells.iter().filter(|&&cell| cell < cells).count();
    let number = generation + 1;
    match count {
        1 => format!("generation {number}"),
        _ => format!("generation {number}, {count} cells side by side"),
    }
}
