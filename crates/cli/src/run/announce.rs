//! What a run will be, in words, before it begins.

use pitot_lab::Prepared;
use pitot_meter::units::{counted, span};
use pitot_plan::{Measure, shortened, skips_by_reason};
use pitot_results::stderr;
use pitot_stats::MEDIAN_REPETITIONS_MIN;

/// How much will be run, and how long that takes.
pub(crate) fn extent(prepared: &Prepared) -> String {
    let cells = counted(prepared.cells.len() as u64, "cell", "cells");
    let each = if prepared.cells.len() == 1 { "" } else { " each" };
    let (times, time) = (prepared.times(), span(prepared.estimate_s()));
    if prepared.plan.is_in_guests() {
        return format!(
            "{cells}, {times}{each}, kernel by kernel: at least {time}, and the starts of guests; far longer on an emulated processor"
        );
    }
    format!("{cells}, {times}{each}, about {time}")
}

/// Prints to stderr what will be run: how much, and what there is to say of the place.
pub(crate) fn announce(prepared: &Prepared, extent: &str, about: impl IntoIterator<Item = String>) {
    let plan = &prepared.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    stderr::line(format_args!("{title}\n{extent}"));
    about.into_iter().for_each(stderr::line);
    note(prepared);
    for (reason, cells) in skips_by_reason(&prepared.skips) {
        stderr::line(format_args!("skipped: {}: {reason}", shortened(&cells)));
    }
}

/// Prints to stderr what the author of the plan has most likely overlooked.
pub(crate) fn note(prepared: &Prepared) {
    let (repetitions, ways) = (prepared.plan.repetitions, &prepared.ways);
    let in_fresh_runs = ways.cells.iter().any(|(measure, _)| *measure == Measure::Fresh);
    let for_interval = MEDIAN_REPETITIONS_MIN as u32;
    let (what, takes) = if repetitions < for_interval {
        ("for a 95% interval".to_owned(), for_interval)
    } else {
        (format!("to decide {} comparisons", ways.comparisons), ways.repetitions_least())
    };
    if in_fresh_runs && repetitions < takes {
        stderr::line(format_args!(
            "note: {} of each cell, which {} too few {what}: that takes {takes}",
            counted(repetitions.into(), "repetition", "repetitions"),
            if repetitions == 1 { "is" } else { "are" },
        ));
    }
    for name in prepared.unused_servers() {
        stderr::line(format_args!(
            "note: the plan defines the server `{name}`, and no level of the factor `server` uses it"
        ));
    }
}
