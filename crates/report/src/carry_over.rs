//! Carry-over: whether the figure of a slice depends on the server that was loaded before it.

use crate::analysis::Analysis;
use crate::number::percent;
use pitot_plan::Measure;
use pitot_record::CellRecord;
use pitot_stats::{Decision, Samples, judge};

/// Smaller carry-over does not matter, since the order of slices cancels most of it.
const CARRY_OVER_MIN: f64 = 0.05;

/// A sentence on the cell with the largest carry-over, if it exceeds 5% and the plan's tolerance.
///
/// In each generation the logarithm of a slice is taken relative to the other slices of its cell, and averaged over the slices that
/// followed the same cell. Generations are the sample; Holm corrects for the number of predecessors.
pub(crate) fn carry_over(a: &Analysis<'_>) -> Option<String> {
    let read = a.headline.in_slice?;
    let cells: Vec<&CellRecord> =
        a.run.cells.iter().chain(&a.run.controls).filter(|c| c.measure == Measure::Slices).collect();
    let mut effects: Vec<(i64, Vec<f64>)> = cells.iter().map(|c| (c.id, Vec::new())).collect();
    let generations = cells.iter().flat_map(|c| &c.repetitions).map(|r| r.block).max()?;
    for generation in 0..=generations {
        let mut after: Vec<Vec<f64>> = vec![Vec::new(); effects.len()];
        for repetition in cells.iter().flat_map(|c| &c.repetitions).filter(|r| r.block == generation) {
            let figures: Vec<(Option<i64>, f64)> = repetition
                .slices
                .iter()
                .filter_map(|s| Some((s.predecessor, read(s).filter(|v| *v > 0.0)?.ln())))
                .collect();
            let middle = figures.iter().map(|f| f.1).sum::<f64>() / figures.len().max(1) as f64;
            for (predecessor, figure) in figures {
                if let Some(index) = effects.iter().position(|(id, _)| Some(*id) == predecessor) {
                    after[index].push(figure - middle);
                }
            }
        }
        for ((_, effect), after) in effects.iter_mut().zip(after) {
            if !after.is_empty() {
                effect.push(after.iter().sum::<f64>() / after.len() as f64);
            }
        }
    }
    let family: Vec<Samples> = effects.iter().map(|(_, e)| Samples::Generations(e.clone())).collect();
    let judged = judge(&family, a.run.plan.tolerance.max(CARRY_OVER_MIN));
    let (id, worst) = effects
        .iter()
        .zip(judged)
        .filter_map(|((id, _), c)| Some((*id, c.filter(|c| c.decision.is_difference())?)))
        .max_by(|x, y| x.1.ratio.ln().abs().total_cmp(&y.1.ratio.ln().abs()))?;
    let direction = if worst.decision == Decision::Higher { "higher" } else { "lower" };
    let of = cells.iter().find(|c| c.id == id)?;
    Some(format!(
        "Slices carry over: after a slice of **{}**, the {} of other servers are {} {direction} than usual. The order of \
         slices cancels only part of this. Use longer slices (`slice` in the plan).",
        of.label(),
        a.headline.words.noun,
        percent((worst.ratio - 1.0).abs()),
    ))
}
