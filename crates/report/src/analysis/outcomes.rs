//! Which commands end otherwise, or print something else, than the baseline.

use super::cell::{Cell, Unlike};
use pitot_plan::Replies;
use pitot_record::{CellRecord, Run};
use pitot_results::load::Executions;

/// How outcomes begin whose command exited with 0.
const PRINTED: &str = "printed ";

/// Marks the cells of commands whose executions differ from those of their baseline.
pub(super) fn mark_unlike(run: &Run, cells: &mut [Cell<'_>]) {
    if run.plan.replies == Replies::MayDiffer {
        return;
    }
    for index in 0..cells.len() {
        let own = cells[index].record;
        let Some(base) = run.baseline_of(own).filter(|base| base.id != own.id) else { continue };
        let Some(series) = cells.iter().find(|c| c.record.id == base.id).map(|c| c.series) else { continue };
        let (Some(own), Some(of_base)) = (executions(own), executions(base)) else { continue };
        cells[index].unlike = differs(&own, &of_base, series);
    }
}

/// Whether it is a command that was executed.
pub(super) fn is_executed(record: &CellRecord) -> bool {
    let mut loads = record.repetitions.iter().filter_map(|repetition| repetition.load.as_ref());
    loads.any(|load| load.executions.is_some())
}

fn executions(record: &CellRecord) -> Option<Executions> {
    let loads = record.repetitions.iter().filter_map(|repetition| repetition.load.as_ref());
    let mut all = loads.filter_map(|load| load.executions.as_ref());
    let mut sum = all.next()?.clone();
    all.for_each(|more| sum.add(more));
    Some(sum)
}

/// How the executions of a command differ from those of the baseline, of that series. What prints something else each time is compared
/// by its exit codes alone.
fn differs(own: &Executions, base: &Executions, series: usize) -> Option<Unlike> {
    let is_new = |outcome: &&String| match base.outcomes.len() {
        1 => !base.outcomes.contains_key(*outcome),
        _ => !base.outcomes.keys().any(|known| status(known) == status(outcome)),
    };
    let new = |with_other_status: bool| {
        let has_it = |outcome: &&String| base.outcomes.keys().any(|known| status(known) == status(outcome));
        own.outcomes.keys().filter(is_new).find(|outcome| has_it(outcome) != with_other_status)
    };
    let (outcome, is_status) = new(true).map(|o| (o, true)).or_else(|| Some((new(false)?, false)))?;
    let (count, all) = (own.outcomes[outcome], own.outcomes.values().sum::<u64>());
    let often = if count == all { String::new() } else { format!(" in {count} of {all} executions") };
    Some(Unlike::Outcome {
        own: format!("{outcome}{often}"),
        other: series,
        others: base.usual_outcome().unwrap_or_default().to_owned(),
        is_status,
    })
}

/// How an execution ended, without what it printed.
fn status(outcome: &str) -> &str {
    match outcome.starts_with(PRINTED) {
        true => PRINTED,
        false => {
            outcome.split([':']).next().and_then(|ended| ended.split(" and ").next()).unwrap_or_default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outcomes: &[(&str, u64)]) -> Executions {
        let outcomes = outcomes.iter().map(|(outcome, count)| ((*outcome).to_owned(), *count)).collect();
        Executions { outcomes, ..Executions::default() }
    }

    fn told(own: &[(&str, u64)], base: &[(&str, u64)]) -> Option<(String, bool)> {
        match differs(&of(own), &of(base), 0) {
            Some(Unlike::Outcome { own, is_status, .. }) => Some((own, is_status)),
            _ => None,
        }
    }

    #[test]
    fn another_output_and_another_exit_code_are_told() {
        let same = [("printed 3 bytes (CRC-32 1)", 9)];
        assert_eq!(told(&same, &same), None);
        let other = told(&[("printed 3 bytes (CRC-32 2)", 9)], &same).unwrap();
        assert_eq!((other.0.as_str(), other.1), ("printed 3 bytes (CRC-32 2)", false));
        let failed = told(&[("printed 3 bytes (CRC-32 1)", 8), ("exited with 1: no", 2)], &same).unwrap();
        assert_eq!((failed.0.as_str(), failed.1), ("exited with 1: no in 2 of 10 executions", true));
    }

    #[test]
    fn what_prints_something_else_each_time_is_compared_by_its_exit_codes() {
        let base = [("printed 3 bytes (CRC-32 1)", 1), ("printed 3 bytes (CRC-32 2)", 1)];
        assert_eq!(told(&[("printed 9 bytes (CRC-32 3)", 1)], &base), None);
        assert!(told(&[("exited with 1 and printed 0 bytes (CRC-32 0)", 1)], &base).unwrap().1);
        let failing = [("exited with 1: at 1", 1), ("exited with 1: at 2", 1)];
        assert_eq!(told(&[("exited with 1: at 3", 2)], &failing), None);
        assert!(told(&[("was ended by signal 9 and printed 0 bytes (CRC-32 0)", 2)], &failing).unwrap().1);
    }
}
