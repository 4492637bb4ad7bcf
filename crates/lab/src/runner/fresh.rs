//! Runs the cells that are measured in fresh runs, block by block.

use std::time::{Instant, SystemTime};

use pitot_results::{Failure, rfc3339};

use super::estimate::nominal_s;
use super::event::Step;
use super::generations::positions;
use super::on_machine::{OnMachine, too_slow};
use super::prepare::Prepared;
use super::repetition::{self, GivenUp, Shared};
use super::schedule::{Turn, schedule};
use super::time_left::TimeLeft;
use pitot_plan::Measure;
use pitot_plan::Order;
use pitot_record::RunState;

/// Runs all repetitions that are not in the file.
pub(super) fn run(prepared: &mut Prepared, run: &mut OnMachine<'_, '_>) -> Result<RunState, Failure> {
    let ended = fresh_blocks(prepared, run)?;
    let (Ended::InTime(blocks, block_s), Some(within_s)) = (ended, prepared.within_s) else {
        return Ok(if ended == Ended::Stopped { RunState::Interrupted } else { RunState::Complete });
    };
    prepared.plan.repetitions = blocks;
    run.ledger.update_plan(&prepared.plan)?;
    let least = prepared.ways.repetitions_least();
    if blocks < least {
        let spent_s = run.begin.elapsed().as_secs_f64();
        let needed_s = spent_s + f64::from(least - blocks) * block_s;
        run.ledger.warn(&too_slow(within_s, blocks, "repetition", least, needed_s))?;
    }
    Ok(RunState::Complete)
}

/// How the fresh runs ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// All repetitions are recorded.
    Whole,
    /// The user stopped it.
    Stopped,
    /// Another block would not fit into the time: number of whole blocks, and seconds of one.
    InTime(u32, f64),
}

fn fresh_blocks(prepared: &Prepared, run: &mut OnMachine<'_, '_>) -> Result<Ended, Failure> {
    let plan = &prepared.plan;
    let is_fresh = |turn: &Turn| prepared.ways.cells[turn.cell].0 == Measure::Fresh;
    let all = schedule(&prepared.experiments(), plan.repetitions, plan.order, run.ledger.seed());
    let mut turns: Vec<Turn> = all.into_iter().filter(is_fresh).collect();
    // If time ends the run, it ends after a whole block.
    let within_s = prepared.within_s.filter(|_| plan.order == Order::Interleaved);
    if within_s.is_some() {
        turns.sort_by_key(|turn| turn.block);
    }
    let begin = Instant::now();
    let nominal_of = |turn: &Turn| nominal_s(plan, &prepared.cells[turn.cell]);
    let mut left = TimeLeft::of(turns.iter().filter(|t| !run.ledger.has(t.cell, t.block)).map(nominal_of));
    let first = positions(prepared);
    let mut executor = run.machine.executor();
    for (position, turn) in turns.iter().enumerate() {
        if run.ledger.has(turn.cell, turn.block) {
            continue;
        }
        let is_next_block = position > 0 && turns[position - 1].block < turn.block;
        let may_end = !prepared.decides_first || turn.block >= prepared.ways.repetitions_least();
        if let Some(within_s) = within_s.filter(|_| is_next_block && may_end) {
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
                    // Its output is recorded with this repetition.
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
        run.ledger.measured(step(&left), &done)?;
    }
    Ok(Ended::Whole)
}
