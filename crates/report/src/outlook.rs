//! How many more generations would show a difference.

use crate::amount::{generation_s, generations, option_for};
use crate::analysis::{Analysis, Cell, Standing, parts, within_run};
use crate::number::{percent, span};
use crate::text::s;
use pitot_plan::Measure;
use pitot_record::{CellRecord, RunState};
use pitot_stats::{Decision, more_generations};

const DIFFERENCES: [f64; 5] = [0.05, 0.10, 0.20, 0.50, 1.0];

/// The smallest difference that a run of this length can show is preferred, seconds.
const TIME_GOOD_S: f64 = 600.0;

/// A longer run is not advised, seconds.
const TIME_MAX_S: f64 = 3600.0;

/// What more generations would show, if a comparison with the baseline is undecided: `18 more generations, about 4 minutes, would show a difference of 10%: ...`.
pub(crate) fn outlook(a: &Analysis<'_>) -> Option<String> {
    // An interrupted run should be resumed first.
    if a.run.info.state != RunState::Complete {
        return None;
    }
    let (have, each_s) = (generations(a.run), generation_s(a.run)?);
    let mut undecided = undecided(a, a.cells.iter().filter_map(|c| Some((c, a.run.baseline_of(c.record)?))));
    let mut watched = true;
    let mut size = a.against_baseline(a.headline).iter().flatten().count();
    if undecided.is_empty() {
        // Each part of a run has its own best.
        if !parts(a.run).is_empty() {
            return None;
        }
        // Every server differs from the baseline; the order of the leading servers is undecided.
        let level = a.top_level()?;
        let best = a.best_at(level, a.headline)?.record;
        let others = a.cells.iter().filter(|c| c.level == level && c.standing == Standing::Level);
        undecided = self::undecided(a, others.map(|c| (c, best)));
        // --until-decided judges only comparisons with the baseline.
        watched = false;
        size = a.cells.iter().filter(|c| !c.failed()).count().saturating_sub(a.load.levels.len());
    }
    let tolerance = a.run.plan.tolerance;
    let needed = undecided.iter().filter_map(|(c, b)| match a.compare(c, b, a.headline)?.decision {
        Decision::TooFewRepetitions { needed } => Some(needed),
        _ => None,
    });
    let noun = a.headline.words.noun;
    if let Some(needed) = needed.max() {
        return Some(format!(
            "{needed} generations, {} in all, are the fewest that can show a difference among so many comparisons: \
             {}.",
            about(needed as f64 * each_s),
            command(a, &option_for(a.run, needed))
        ));
    }
    let more = |difference: f64| {
        let each = undecided.iter().map(|(c, b)| {
            let samples = within_run(a.run, c, b, a.headline);
            more_generations(&samples, difference, size, tolerance)
        });
        each.collect::<Option<Vec<_>>>()?.into_iter().max().filter(|more| *more > 0)
    };
    let takes_s = |more: usize| (have + more) as f64 * each_s;
    let within = |max_s: f64| {
        DIFFERENCES.into_iter().find_map(|d| Some((d, more(d).filter(|m| takes_s(*m) <= max_s)?)))
    };
    let found = within(TIME_GOOD_S).or_else(|| within(TIME_MAX_S));
    if let Some((difference, more)) = found {
        let difference = percent(difference);
        let (until, between) = if a.run.plan.until_decided_s.is_some() {
            (String::new(), "")
        } else if watched {
            (
                format!(
                    ", or {}, which stops as soon as every comparison is decided",
                    command(a, "--until-decided")
                ),
                "",
            )
        } else {
            (String::new(), " between the leading servers")
        };
        return Some(format!(
            "{more} more generation{}, {}, would show a difference of {difference} in {noun}{between}: \
             {}{until}.",
            s(more),
            about(more as f64 * each_s),
            command(a, &option_for(a.run, have + more)),
        ));
    }
    let hopeless = |(c, b): &(&CellRecord, &CellRecord)| {
        let samples = within_run(a.run, c, b, a.headline);
        more_generations(&samples, DIFFERENCES[4], size, tolerance)
            .is_some_and(|more| more > 0 && takes_s(more) > TIME_MAX_S)
    };
    if undecided.iter().any(hopeless) {
        return Some(format!(
            "Even an hour of generations would not show every difference of 100% in {noun}: use a quieter machine."
        ));
    }
    None
}

/// The pairs of cells measured in slices that are compared and not decided.
fn undecided<'a, 'r: 'a>(
    a: &'a Analysis<'r>,
    pairs: impl Iterator<Item = (&'a Cell<'r>, &'a CellRecord)>,
) -> Vec<(&'a CellRecord, &'a CellRecord)> {
    let is_sliced = |(c, b): &(&Cell<'_>, &CellRecord)| {
        !c.failed()
            && !a.run.plan.is_reference(&c.record.factors)
            && c.record.measure == Measure::Slices
            && b.measure == Measure::Slices
    };
    let is_open = |c: &CellRecord, b: &CellRecord| {
        a.compare(c, b, a.headline).is_some_and(|c| !c.decision.is_decided())
    };
    pairs.filter(is_sliced).map(|(c, b)| (c.record, b)).filter(|(c, b)| is_open(c, b)).collect()
}

/// `about 3 minutes`.
fn about(seconds: f64) -> String {
    if seconds < 90.0 {
        return format!("about {}", span(seconds.max(1.0).ceil()));
    }
    format!("about {} minutes", (seconds / 60.0).round())
}

/// `pitot run quick --repetitions 9`; in words if the run was described or changed by options, or resumed.
fn command(a: &Analysis<'_>, option: &str) -> String {
    let line = &a.run.info.command_line;
    let mut words = line.split_whitespace().filter(|_| !line.contains(" --set "));
    let plan = words.find(|w| *w == "run").and(words.next()).filter(|w| !w.starts_with('-'));
    match plan {
        Some(plan) => format!("`pitot run {plan} {option}`"),
        None => format!("the command of this run with `{option}`"),
    }
}
