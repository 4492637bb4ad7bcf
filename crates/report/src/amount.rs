//! How much was measured, in words: generations of slices, or repetitions of fresh runs.

use crate::text::s;
use pitot_plan::Measure;
use pitot_record::{CellRecord, Run, RunState};
use pitot_stats::median;

/// The generations that sliced cells have, or of an interrupted run those that were planned.
pub(crate) fn generations(run: &Run) -> usize {
    let done = sliced(run).map(|c| c.repetitions.len()).max().unwrap_or(0);
    match run.info.state {
        _ if run.plan.until_decided_s.is_some() => done,
        RunState::Complete => done,
        _ => done.max(run.plan.generations.unwrap_or(0) as usize),
    }
}

/// The most repetitions or generations that a cell has, which its figures come from.
pub(crate) fn measured(run: &Run) -> usize {
    run.cells.iter().map(|c| c.repetitions.len()).max().unwrap_or(0)
}

/// Whether the run has less than its plan asks for. A plan with `until-decided` asks for no number.
fn is_partial(run: &Run) -> bool {
    run.plan.until_decided_s.is_none() && (run.info.state != RunState::Complete || !run.is_complete())
}

/// How many repetitions the figures come from, of how many that were planned if that is less: `6`, `7 of 30`, `3 to 4 of 8`.
fn amount<'r>(run: &'r Run, cells: impl Iterator<Item = &'r CellRecord> + Clone) -> Option<(String, usize)> {
    let done = cells.clone().map(|c| c.repetitions.len());
    let (least, most) = (done.clone().min()?, done.max()?);
    let planned = cells.map(|c| run.repetitions_of(c) as usize).max()?;
    if !is_partial(run) || least >= planned {
        return Some((most.to_string(), most));
    }
    let done = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some((format!("{done} of {planned}"), planned))
}

/// The same of all cells, with its unit: `7 of 30 generations`.
pub(crate) fn amount_words(run: &Run) -> String {
    let (words, count) = amount(run, run.cells.iter()).unwrap_or_else(|| ("0".to_owned(), 0));
    format!("{words} {}{}", unit_of_run(run), s(count))
}

/// `10 generations of 8 slices`; `7 of 10 generations of 8 slices` of a run that is not complete.
pub(crate) fn generations_words(run: &Run) -> String {
    let planned = generations(run);
    let (words, count) = amount(run, sliced(run)).unwrap_or_else(|| (planned.to_string(), planned));
    // Generations of commands end before they have all, if these take long.
    let (least, most) = slices(run);
    format!("{words} generation{} of {} slice{}", s(count), from_to(least, most), s(most))
}

/// The rounds of its generations, of two slices each: `4`; `4 to 32` of a run until decided, which chooses them.
pub(crate) fn rounds_words(run: &Run) -> String {
    let (least, most) = slices(run);
    from_to(least.div_ceil(2), most.div_ceil(2))
}

/// The fewest and the most slices of a generation.
fn slices(run: &Run) -> (usize, usize) {
    let taken =
        || sliced(run).flat_map(|c| &c.repetitions).map(|r| r.slices.len()).filter(|taken| *taken > 0);
    // Generations of commands end before they have all, if these take long.
    let most = taken().max().unwrap_or(run.plan.slices as usize);
    let least = taken().min().filter(|_| run.plan.until_decided_s.is_some());
    (least.unwrap_or(most), most)
}

fn from_to(least: usize, most: usize) -> String {
    if least < most { format!("{least} to {most}") } else { most.to_string() }
}

/// `8 repetitions`, or `7 of 8 repetitions`, of the cells that were measured in fresh runs.
pub(crate) fn repetitions_words(run: &Run) -> String {
    let planned = run.plan.repetitions as usize;
    let fresh = run.cells.iter().filter(|c| c.measure == Measure::Fresh);
    let (words, count) = match is_partial(run) {
        true => amount(run, fresh).unwrap_or_else(|| (planned.to_string(), planned)),
        false => (planned.to_string(), planned),
    };
    format!("{words} repetition{}", s(count))
}

/// The size of a run: `16 cells × 10 generations of 8 slices`, `2 cells × 8 repetitions`, or both.
pub(crate) fn size(run: &Run) -> String {
    let cells = |count: usize| format!("{count} cell{}", s(count));
    let sliced = sliced(run).count();
    let fresh = run.cells.len() - sliced;
    let mut parts = Vec::new();
    if sliced > 0 {
        parts.push(format!("{} × {}", cells(sliced), generations_words(run)));
    }
    if fresh > 0 || sliced == 0 {
        parts.push(format!("{} × {}", cells(fresh), repetitions_words(run)));
    }
    parts.join(", ")
}

/// What a repetition of `cell` is: `generation` or `repetition`.
pub(crate) fn unit(cell: &CellRecord) -> &'static str {
    match cell.measure {
        Measure::Slices => "generation",
        Measure::Fresh => "repetition",
    }
}

/// What the repetitions of two compared cells are called.
pub(crate) fn unit_of_pair(candidate: &CellRecord, baseline: &CellRecord) -> &'static str {
    match (candidate.measure, baseline.measure) {
        (Measure::Slices, Measure::Slices) => unit(candidate),
        _ => "repetition",
    }
}

/// What all the repetitions of a run are called: `generation` if no cell was measured in fresh runs.
pub(crate) fn unit_of_run(run: &Run) -> &'static str {
    let all_sliced = run.is_sliced() && run.cells.iter().all(|c| c.measure == Measure::Slices);
    if all_sliced { "generation" } else { "repetition" }
}

/// How long a generation of all sliced cells and their controls took, seconds.
pub(crate) fn generation_s(run: &Run) -> Option<f64> {
    let all = || sliced(run).chain(&run.controls).flat_map(|c| &c.repetitions);
    let last = all().map(|r| r.block).max()?;
    let total = (0..=last).map(|g| all().filter(|r| r.block == g).map(|r| r.elapsed_s).sum());
    median(&total.collect::<Vec<f64>>()).filter(|s| *s > 0.0)
}

/// The option that has a run of this plan take so many repetitions or generations.
pub(crate) fn option_for(run: &Run, count: usize) -> String {
    match (run.plan.until_decided_s, generation_s(run)) {
        (Some(_), Some(each_s)) => {
            let option =
                if run.info.command_line.contains("--until-decided") { "--at-most" } else { "--within" };
            // In steps of ten seconds, with the time before the first generation.
            let seconds = (count as f64 * each_s * 1.1 / 10.0).ceil() * 10.0;
            format!("{option} {seconds}s")
        }
        _ => format!("--repetitions {count}"),
    }
}

/// The length of a slice in the median, seconds.
pub(crate) fn slice_s(run: &Run) -> Option<f64> {
    let slices = sliced(run).flat_map(|c| &c.repetitions).flat_map(|r| &r.slices);
    median(&slices.map(|s| s.duration_ns as f64 / 1e9).collect::<Vec<_>>())
}

pub(crate) fn sliced(run: &Run) -> impl Iterator<Item = &CellRecord> + Clone {
    run.cells.iter().filter(|c| c.measure == Measure::Slices)
}
