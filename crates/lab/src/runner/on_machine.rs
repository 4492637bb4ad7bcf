//! Measures the cells of a run on a machine: those in slices, generation by generation, then those in fresh runs, block by block.

use std::time::{Instant, SystemTime};

use pitot_meter::units::counted;
use pitot_results::{Failure, rfc3339};

use super::engine::Caller;
use super::event::Step;
use super::executor::Machine;
use super::generations;
use super::ledger::Ledger;
use super::prepare::{Prepared, nominal_s};
use super::repetition::{self, GivenUp, Shared};
use super::schedule::{Turn, schedule};
use super::time_left::TimeLeft;
use crate::Order;
use crate::plan::{Cell, Measure};
use crate::record::RunState;
use crate::statistics::MEDIAN_REPETITIONS_MIN;

/// A run on a machine.
pub(super) struct OnMachine<'a, 'l> {
    pub(super) shared: Shared<'a>,
    pub(super) machine: &'a dyn Machine,
    pub(super) ledger: &'a mut Ledger<'l>,
    /// When the run began.
    pub(super) begin: Instant,
    /// All cells, controls at the end.
    pub(super) cells: Vec<Cell>,
    /// By cell, controls at the end: why it is not tried any more. Its repetitions are recorded as failed.
    pub(super) given_up: Vec<Option<GivenUp>>,
}

/// Measures what the file lacks. The run began at `begin`.
pub(super) fn carry_out(
    prepared: &mut Prepared,
    machine: &dyn Machine,
    ledger: &mut Ledger<'_>,
    begin: Instant,
    mut given_up: Vec<Option<GivenUp>>,
    caller: Caller<'_>,
) -> Result<RunState, Failure> {
    let (cpus, plan) = (prepared.cpus.clone(), prepared.plan.clone());
    let shared = Shared {
        plan: &plan,
        pitot: caller.pitot,
        cpus: &cpus,
        stop: caller.stop,
        memory_total_bytes: machine.memory_total_bytes(),
        block: 0,
    };
    // A control that cannot be started is given up with the cell whose twin it is.
    let twins = prepared.ways.controls.clone();
    given_up.extend(twins.iter().map(|&twin| given_up[twin].clone()).collect::<Vec<_>>());
    let cells =
        prepared.cells.iter().chain(twins.iter().map(|&twin| &prepared.cells[twin])).cloned().collect();
    let mut run = OnMachine { shared, machine, ledger, begin, cells, given_up };
    match generations::run(prepared, &mut run)? {
        RunState::Complete => fresh_runs(prepared, &mut run),
        ended => Ok(ended),
    }
}

/// Carries out the cells that are measured in fresh runs.
fn fresh_runs(prepared: &mut Prepared, run: &mut OnMachine<'_, '_>) -> Result<RunState, Failure> {
    let ended = fresh_blocks(prepared, run)?;
    let (Ended::InTime(blocks, block_s), Some(within_s)) = (ended, prepared.within_s) else {
        return Ok(if ended == Ended::Stopped { RunState::Interrupted } else { RunState::Complete });
    };
    prepared.plan.repetitions = blocks;
    run.ledger.update_plan(&prepared.plan)?;
    if (blocks as usize) < MEDIAN_REPETITIONS_MIN {
        let spent_s = run.begin.elapsed().as_secs_f64();
        let needed_s = spent_s + f64::from(MEDIAN_REPETITIONS_MIN as u32 - blocks) * block_s;
        run.ledger.warn(&too_slow(within_s, blocks, "repetition", MEDIAN_REPETITIONS_MIN, needed_s))?;
    }
    Ok(RunState::Complete)
}

/// That too little fitted into the time of a run to decide: a sentence.
pub(super) fn too_slow(within_s: f64, had: u32, unit: &str, least: usize, needed_s: f64) -> String {
    let had = counted(u64::from(had), unit, &format!("{unit}s"));
    format!(
        "Only {had} fitted into the {within_s:.0} s of the run, as this machine is slower than foreseen: {least} {unit}s take \
         about {needed_s:.0} s."
    )
}

/// How the fresh runs ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// All are there.
    Whole,
    /// The user stopped it.
    Stopped,
    /// Another block would not have fitted into the time: whole blocks, and seconds of one.
    InTime(u32, f64),
}

fn fresh_blocks(prepared: &Prepared, run: &mut OnMachine<'_, '_>) -> Result<Ended, Failure> {
    let plan = &prepared.plan;
    let is_fresh = |turn: &Turn| prepared.ways.cells[turn.cell].0 == Measure::Fresh;
    let all = schedule(&prepared.experiments(), plan.repetitions, plan.order, run.ledger.seed());
    let mut turns: Vec<Turn> = all.into_iter().filter(is_fresh).collect();
    // Where the time may end the run, it ends with a block of all cells.
    let within_s = prepared.within_s.filter(|_| plan.order == Order::Interleaved);
    if within_s.is_some() {
        turns.sort_by_key(|turn| turn.block);
    }
    let begin = Instant::now();
    let nominal_of = |turn: &Turn| nominal_s(plan, &prepared.cells[turn.cell]);
    let mut left = TimeLeft::of(turns.iter().filter(|t| !run.ledger.has(t.cell, t.block)).map(nominal_of));
    let first = generations::positions(prepared);
    let mut executor = run.machine.executor();
    for (position, turn) in turns.iter().enumerate() {
        if run.ledger.has(turn.cell, turn.block) {
            continue;
        }
        let is_next_block = position > 0 && turns[position - 1].block < turn.block;
        if let Some(within_s) = within_s.filter(|_| is_next_block) {
            let block_s = begin.elapsed().as_secs_f64() / f64::from(turn.block);
            if run.begin.elapsed().as_secs_f64() + block_s > within_s {
                return Ok(Ended::InTime(turn.block, block_s));
            }
        }
        let cell = &prepared.cells[turn.cell];
        let label = cell.label();
        let step = |left: &TimeLeft| Step {
            number: position + 1,
            total: turns.len(),
            label: &label,
            left_s: left.seconds(),
        };
        run.ledger.begins(step(&left));
        let started_at = rfc3339(SystemTime::now());
        let mut repetition = match &mut run.given_up[turn.cell] {
            Some(_) if (run.shared.stop)() => return Ok(Ended::Stopped),
            Some(given_up) => repetition::not_tried(given_up),
            None if let Err(reason) = run.machine.set_host(&cell.host) => {
                let given_up = run.given_up[turn.cell].insert(GivenUp { reason, output_tail: String::new() });
                repetition::not_tried(given_up)
            }
            None => {
                let Some(done) = repetition::run(
                    Shared { block: turn.block, ..run.shared },
                    &mut *executor,
                    cell,
                    first + position,
                ) else {
                    return Ok(Ended::Stopped);
                };
                if done.not_started {
                    // What was printed is recorded with this repetition.
                    let reason = done.repetition.verdict.reason.clone();
                    run.given_up[turn.cell] = Some(GivenUp { reason, output_tail: String::new() });
                }
                done.repetition
            }
        };
        repetition.block = turn.block;
        repetition.position = (first + position) as u32;
        repetition.started_at = started_at;
        left.passed(nominal_of(turn), repetition.elapsed_s);
        let done = [(turn.cell, repetition)];
        run.ledger.record(&done)?;
        run.ledger.tell(step(&left), &done);
    }
    Ok(Ended::Whole)
}
