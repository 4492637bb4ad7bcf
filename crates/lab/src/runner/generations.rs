//! Runs the cells that are measured in slices, generation by generation.

use std::time::Instant;

use pitot_results::Failure;

use pitot_plan::Measure;
use pitot_record::{Repetition, RunState};
use pitot_stats::{Random, control_generations_needed};

use super::decided::{slices_worth, undecided};
use super::event::Step;
use super::on_machine::{OnMachine, too_slow};
use super::prepare::Prepared;
use super::repetition::{self, GivenUp};
use super::slices::{self, Generation, Group, Neighbours, Request, neighbours_sentence};
use super::time_left::TimeLeft;
use super::under::in_order;
use super::way::groups_with_controls;

/// The fewest generations before a run may end as decided; the A/A control needs so many.
fn until_decided_min() -> u32 {
    control_generations_needed() as u32
}

/// Runs all generations that are not in the file. A cell that cannot be measured in slices is left to fresh runs.
pub(super) fn run(prepared: &mut Prepared, run: &mut OnMachine<'_, '_>) -> Result<RunState, Failure> {
    if prepared.ways.sliced() == 0 {
        return Ok(RunState::Complete);
    }
    let begin = Instant::now();
    let foreseen = prepared.plan.generations;
    let generation_s = prepared.ways.generation_s(&prepared.plan);
    let mut steps = Steps::new(prepared, generation_s);
    let mut generation = 0;
    prepared.plan.time_was_over = false;
    while is_wanted(prepared, run, generation, begin, generation_s) {
        let mut groups = groups_of(prepared);
        Random::new(run.ledger.seed().wrapping_add(u64::from(generation))).shuffle(&mut groups);
        if let Some(order) = prepared.orders.get(generation as usize) {
            groups = in_order(groups, order, prepared);
        }
        let slices = slices_of(prepared, run, generation, begin);
        for group in groups {
            steps.number += 1;
            if group.cells.iter().all(|&cell| run.ledger.has(cell, generation)) {
                steps.left.passed(steps.nominal_s, steps.nominal_s);
            } else if !one_group(prepared, run, &group, (generation, slices), &mut steps)? {
                tell_neighbours(run, &steps)?;
                return Ok(RunState::Interrupted);
            }
        }
        generation += 1;
    }
    tell_neighbours(run, &steps)?;
    if prepared.plan.until_decided_s.is_some() || Some(generation) != foreseen {
        prepared.plan.generations = Some(generation);
        prepared.plan.time_was_over = prepared.plan.until_decided_s.is_some() && !is_decided(prepared, run);
        run.ledger.update_plan(&prepared.plan)?;
    }
    let least = prepared.ways.generations_least();
    if let Some(within_s) = prepared.within_s.filter(|_| generation < least) {
        let each_s = begin.elapsed().as_secs_f64() / f64::from(generation.max(1));
        let needed_s = run.begin.elapsed().as_secs_f64() + f64::from(least - generation) * each_s;
        run.ledger.warn(&too_slow(within_s, generation, "generation", least, needed_s))?;
    }
    Ok(RunState::Complete)
}

/// Warns about other processes that used the CPUs.
fn tell_neighbours(run: &mut OnMachine<'_, '_>, steps: &Steps) -> Result<(), Failure> {
    if let Some(sentence) = neighbours_sentence(&steps.neighbours) {
        run.ledger.warn(&sentence)?;
    }
    Ok(())
}

/// The slices of each cell in a generation: those of the plan, and if servers are measured until decided, as many as tell most, or as the
/// time admits.
fn slices_of(prepared: &Prepared, run: &OnMachine<'_, '_>, generation: u32, begin: Instant) -> u32 {
    let is_chosen = generation > 0 && !prepared.ways.are_executed;
    let Some(at_most_s) = prepared.plan.until_decided_s.filter(|_| is_chosen) else {
        return prepared.plan.slices;
    };
    let left_s = match prepared.within_s {
        Some(within_s) => within_s - run.begin.elapsed().as_secs_f64(),
        None => at_most_s - begin.elapsed().as_secs_f64(),
    };
    slices_worth(prepared, run.ledger.cells(), left_s, generation >= until_decided_min())
}

/// Whether to run another generation. The first began at `begin`; the estimate for each is `generation_s`.
fn is_wanted(
    prepared: &Prepared,
    run: &OnMachine<'_, '_>,
    generation: u32,
    begin: Instant,
    generation_s: f64,
) -> bool {
    let foreseen = prepared.plan.generations.unwrap_or(0);
    let each_s = begin.elapsed().as_secs_f64() / f64::from(generation.max(1));
    match (prepared.plan.until_decided_s, prepared.within_s) {
        (None, _) => {}
        (Some(at_most_s), None) => {
            let fits = || begin.elapsed().as_secs_f64() + each_s.max(generation_s) <= at_most_s;
            return generation < until_decided_min() || (fits() && !is_decided(prepared, run));
        }
        // The time is that of the whole run, and it counts more than a decision.
        (Some(_), Some(within_s)) => {
            let fits = run.begin.elapsed().as_secs_f64() + each_s <= within_s;
            return generation == 0
                || (fits && (generation < until_decided_min() || !is_decided(prepared, run)));
        }
    }
    let Some(within_s) = prepared.within_s else { return generation < foreseen };
    if prepared.ways.sliced() == 0 || generation == 0 {
        return generation < foreseen;
    }
    // If the machine is faster than estimated, use the remaining time.
    let end_s = run.begin.elapsed().as_secs_f64() + each_s;
    let is_needed = prepared.decides_first && generation < prepared.ways.generations_least();
    generation < foreseen * 2 && (is_needed || end_s <= within_s - prepared.fresh_s(within_s))
}

/// Whether what was asked of the run is decided: its conditions if it has any, else the comparisons in the plan's metric.
fn is_decided(prepared: &Prepared, run: &OnMachine<'_, '_>) -> bool {
    let cells = run.ledger.cells();
    (run.decided)(&prepared.plan, cells).unwrap_or_else(|| undecided(prepared, cells) == 0)
}

/// Progress of the run, in generations of groups.
struct Steps {
    number: usize,
    total: usize,
    nominal_s: f64,
    left: TimeLeft,
    /// Of each generation of a group.
    neighbours: Vec<Neighbours>,
}

impl Steps {
    fn new(prepared: &Prepared, generation_s: f64) -> Steps {
        let groups = groups_of(prepared).len().max(1);
        let generations = match prepared.plan.until_decided_s {
            Some(at_most_s) => ((at_most_s / generation_s) as u32).max(until_decided_min()),
            None => prepared.plan.generations.unwrap_or(0),
        };
        let (total, nominal_s) = (groups * generations as usize, generation_s / groups as f64);
        Steps {
            number: 0,
            total,
            nominal_s,
            left: TimeLeft::of((0..total).map(|_| nominal_s)),
            neighbours: Vec::new(),
        }
    }
}

/// Runs one generation of one group and writes it into the file. False if the user stopped it.
fn one_group(
    prepared: &mut Prepared,
    run: &mut OnMachine<'_, '_>,
    group: &Group,
    (generation, slices): (u32, u32),
    steps: &mut Steps,
) -> Result<bool, Failure> {
    let label = describe(group, prepared.cells.len(), generation);
    let (number, total) = (steps.number, steps.total.max(steps.number));
    // A run until decided that has a time ends with it.
    let until =
        prepared.within_s.filter(|_| prepared.plan.until_decided_s.is_some()).unwrap_or(f64::INFINITY);
    let began = run.begin;
    let left_s = |steps: &Steps| steps.left.seconds().min(until - began.elapsed().as_secs_f64()).max(0.0);
    let step = |steps: &Steps| Step { number, total, label: &label, left_s: left_s(steps) };
    run.ledger.begins(step(steps));
    let begin = Instant::now();
    let (mut tried, mut given_up): (Vec<usize>, Vec<usize>) =
        group.cells.iter().partition(|&&cell| run.given_up[cell].is_none());
    let cells = run.cells.len();
    let mut done = Generation::default();
    // All cells of a group have the same settings.
    let host = tried.first().map_or(&[][..], |&cell| &run.cells[cell].host);
    if let Err(reason) = run.machine.set_host(host) {
        for &cell in &tried {
            run.given_up[cell] = Some(GivenUp { reason: reason.clone(), output_tail: String::new() });
        }
        given_up.append(&mut tried);
    }
    if !tried.is_empty() {
        let request = Request {
            shared: run.shared,
            machine: run.machine,
            cells: &run.cells,
            group: &Group { cells: tried },
            generation,
            slices,
            seed: run.ledger.seed(),
            number: number * (cells + 1),
        };
        match slices::run(&request) {
            Some(over) => done = over,
            None => return Ok(false),
        }
    }
    for cell in given_up {
        if let Some(reason) = &mut run.given_up[cell] {
            done.repetitions.push((cell, Repetition { block: generation, ..repetition::not_tried(reason) }));
        }
    }
    for (offset, (_, repetition)) in done.repetitions.iter_mut().enumerate() {
        repetition.position = (number * cells + offset) as u32;
    }
    note(prepared, run, &done)?;
    steps.neighbours.push(std::mem::take(&mut done.neighbours));
    for (cell, reason) in std::mem::take(&mut done.not_started) {
        run.given_up[cell] = Some(GivenUp { reason, output_tail: String::new() });
    }
    steps.left.passed(steps.nominal_s, begin.elapsed().as_secs_f64());
    run.ledger.measured(step(steps), &done.repetitions)?;
    Ok(true)
}

/// How many positions in the run's order the generations of a plan take.
pub(super) fn positions(prepared: &Prepared) -> usize {
    let cells = prepared.cells.len() + prepared.ways.controls.len();
    if prepared.ways.sliced() == 0 {
        return 0;
    }
    let foreseen = Steps::new(prepared, prepared.ways.generation_s(&prepared.plan)).total;
    // A run until decided may have taken more.
    let taken = groups_of(prepared).len() * prepared.plan.generations.unwrap_or(0) as usize;
    let generations = foreseen.max(taken);
    (generations + 1) * (cells + 1)
}

/// Records what a generation found besides its figures. This comes before the generation itself: a run that is killed
/// in between repeats the generation for the missing cells.
fn note(prepared: &mut Prepared, run: &mut OnMachine<'_, '_>, done: &Generation) -> Result<(), Failure> {
    for (cell, reason) in &done.impossible {
        // A control is measured like the cell that it repeats.
        if let Some(way) = prepared.ways.cells.get_mut(*cell) {
            *way = (Measure::Fresh, reason.clone());
        }
        run.ledger.measure_fresh(*cell, reason)?;
    }
    for sentence in &done.warnings {
        run.ledger.warn(sentence)?;
    }
    Ok(())
}

fn groups_of(prepared: &Prepared) -> Vec<Group> {
    groups_with_controls(&prepared.plan, &prepared.cells, &prepared.ways)
}

fn describe(group: &Group, cells: usize, generation: u32) -> String {
    let count = group.cells.iter().filter(|&&cell| cell < cells).count();
    let number = generation + 1;
    match count {
        0 | 1 => format!("generation {number}"),
        _ => format!("generation {number}, {count} cells side by side"),
    }
}
