//! What a run will be, in words, before it begins.

use pitot_lab::statistics::MEDIAN_REPETITIONS_MIN;
use pitot_lab::{FactorLevel, Measure, Prepared, SkipRecord};
use pitot_results::stderr;

use pitot_meter::units::{counted, minutes};

/// How much will be run, and how long that takes.
pub(super) fn extent(prepared: &Prepared) -> String {
    let cells = counted(prepared.cells.len() as u64, "cell", "cells");
    let each = if prepared.cells.len() == 1 { "" } else { " each" };
    let (times, time) = (prepared.times(), minutes(prepared.estimate_s()));
    if prepared.plan.is_in_guests() {
        return format!(
            "{cells}, {times}{each}, kernel by kernel: at least {time}, and the starts of guests; far longer on an emulated processor"
        );
    }
    format!("{cells}, {times}{each}, about {time}")
}

/// Prints to stderr what will be run: how much, and what there is to say of the place.
pub(super) fn announce(prepared: &Prepared, extent: &str, about: impl IntoIterator<Item = String>) {
    let plan = &prepared.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    stderr::line(format_args!("{title}\n{extent}"));
    about.into_iter().for_each(stderr::line);
    note(prepared);
    for (reason, cells) in by_reason(&prepared.skips, shown) {
        stderr::line(format_args!("skipped: {cells}: {reason}"));
    }
}

/// Prints to stderr what the author of the plan has most likely overlooked.
pub(super) fn note(prepared: &Prepared) {
    let repetitions = prepared.plan.repetitions as usize;
    let in_fresh_runs = prepared.ways.cells.iter().any(|(measure, _)| *measure == Measure::Fresh);
    if in_fresh_runs && repetitions < MEDIAN_REPETITIONS_MIN {
        stderr::line(format_args!(
            "note: {} of each cell, which {} too few for a 95% interval: that takes {MEDIAN_REPETITIONS_MIN}",
            counted(repetitions as u64, "repetition", "repetitions"),
            if repetitions == 1 { "is" } else { "are" },
        ));
    }
    for name in prepared.unused_servers() {
        stderr::line(format_args!(
            "note: the plan defines the server `{name}`, and no level of the factor `server` uses it"
        ));
    }
}

/// The combinations that are skipped for the same reason together, as `shown` shows them.
pub(super) fn by_reason(
    skips: &[SkipRecord],
    shown: impl Fn(&[&SkipRecord]) -> String,
) -> Vec<(&str, String)> {
    let mut groups: Vec<(&str, Vec<&SkipRecord>)> = Vec::new();
    for skip in skips {
        match groups.iter_mut().find(|(reason, _)| *reason == skip.reason) {
            Some((_, group)) => group.push(skip),
            None => groups.push((&skip.reason, vec![skip])),
        }
    }
    groups.into_iter().map(|(reason, group)| (reason, shown(&group))).collect()
}

/// The first of the combinations, and how many more.
pub(super) fn shown(skips: &[&SkipRecord]) -> String {
    shortened(&skips.iter().map(|skip| levels(&skip.factors)).collect::<Vec<_>>())
}

/// The labels, or the first of them and how many more.
pub(super) fn shortened(labels: &[String]) -> String {
    match labels.len() {
        0..=3 => labels.join("; "),
        n => format!("{}; and {} more", labels[..2].join("; "), n - 2),
    }
}

/// The levels of a cell.
pub(super) fn levels(factors: &[FactorLevel]) -> String {
    factors.iter().map(|f| f.level.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_skipped_for_one_reason_is_listed_once() {
        let skip = |level: u32, reason: &str| SkipRecord {
            factors: vec![FactorLevel::new("replicate", &level.to_string())],
            reason: reason.into(),
            kind: pitot_lab::SkipKind::Other,
        };
        let mut skips: Vec<SkipRecord> = (1..=5).map(|level| skip(level, "enough")).collect();
        skips.push(skip(9, "impossible"));
        let groups = by_reason(&skips, shown);
        assert_eq!(groups, [("enough", "1; 2; and 3 more".to_owned()), ("impossible", "9".to_owned())]);
    }
}
