//! The method of a run, in sentences, and the facts at the head of a report.

use crate::amount::{
    generations, generations_words, repetitions_words, rounds_words, size, slice_s, unit_of_run,
};
use crate::analysis::{Analysis, factor_title};
use crate::number::{percent, span};
use crate::text::s;
use pitot_host::Fingerprint;
use pitot_plan::{Measure, Order};
use pitot_stats::{
    MEDIAN_REPETITIONS_MIN, Statistic, disturbed_share, generations_needed, repetitions_needed,
};

pub(crate) fn facts(a: &Analysis<'_>) -> Vec<(&'static str, String)> {
    facts_of(&a.run.info.started_at, &a.run.host_before, size(a.run))
}

pub(crate) fn facts_of(started_at: &str, machine: &Fingerprint, size: String) -> Vec<(&'static str, String)> {
    let mut facts = vec![("measured", date(started_at))];
    let of_machine =
        [("CPU", "cpu", "model name"), ("kernel", "system", "kernel"), ("on", "system", "virtualisation")];
    for (title, group, name) in of_machine {
        facts.extend(machine.get(group, name).map(|value| (title, value.to_owned())));
    }
    facts.push(("size", size));
    facts
}

/// An RFC 3339 time to the minute.
fn date(rfc3339: &str) -> String {
    let minute = rfc3339.get(..16).unwrap_or(rfc3339).replace('T', " ");
    if rfc3339.ends_with('Z') { format!("{minute} UTC") } else { minute }
}

pub(crate) fn method_sentences(a: &Analysis<'_>) -> Vec<String> {
    let plan = &a.run.plan;
    let is_sliced = a.run.is_sliced();
    let mut sentences = if is_sliced { of_slices(a) } else { Vec::new() };
    if a.run.cells.iter().any(|c| c.measure == Measure::Fresh) {
        sentences.extend(of_fresh_runs(a));
    }
    sentences.push(
        "Response times count **from the intended start** of a request to the last byte of its reply, even if the load \
         generator was late. Histograms of repetitions are merged; percentiles are never averaged."
            .into(),
    );
    sentences.push(figures(a));
    sentences.extend(ratios(a));
    sentences.push(format!(
        "A **difference is declared** only if the test rejects, at 5% after Holm's correction for all comparisons of the \
         metric, that it is no larger than the tolerance of {}. Otherwise the difference is reported as not \
         shown to exceed it, or the cells as equivalent if the whole interval lies within the tolerance.",
        percent(plan.tolerance)
    ));
    sentences.extend(too_few_repetitions(a));
    let noisy_slices = if is_sliced {
        "; for slices only that they began late, since other noise affects all cells alike"
    } else {
        ""
    };
    sentences.push(format!(
        "**valid**: the figures describe the server. **client-bound**: the load generator was the bottleneck, so \
         throughput is a lower bound (≥). **network-bound**: packets were \
         retransmitted or dropped, or neither side was busy while replies were under way. **rate-missed**: more \
         than 1% of the requests that were due could not be sent; percentiles do not include them. **noisy**: other \
         processes used the CPUs, or the hypervisor took CPU time away (steal){noisy_slices}. **failed**: the server or \
         the load generator exited early, hung, or sent wrong replies."
    ));
    sentences.extend(crate::warm_up::sentences(a.run));
    sentences.extend(baseline(a));
    sentences.push(format!("The run was started by `{}`.", a.run.info.command_line));
    sentences
}

/// How cells are measured in slices, with the numbers of this run.
fn of_slices(a: &Analysis<'_>) -> Vec<String> {
    let plan = &a.run.plan;
    let rounds = rounds_words(a.run);
    let slice = slice_s(a.run).map_or_else(String::new, |s| format!(" of {}", span(s)));
    let mut sentences = vec![
        format!(
            "The servers that are compared **ran side by side and were loaded in turn**, for a slice of time each: {}{slice} \
             for each server. A slice ends when its last request is answered; then the CPU time is read. Noise of \
             the machine lasts longer than a slice, so it affects neighbours alike, and no slice is excluded because of it.",
            generations_words(a.run)
        ),
        format!(
            "Each of the {rounds} rounds of a generation loads every server once and then all of them backwards, in an \
             order drawn at random (seed {}) in which every server follows every other equally often. This cancels drift, \
             position, and the effect of one server on the next.",
            a.run.info.seed
        ),
        format!(
            "Each generation started **fresh server processes** and warmed them up for {}. Slices of one generation share \
             their processes, so a generation counts as one value: the trimmed mean of the log ratios of its rounds.",
            span(plan.warmup_s)
        ),
    ];
    if !a.run.controls.is_empty() {
        sentences.push(
            "The **control** is a second copy of the baseline, measured like any other server. Its ratio to the first \
             should be 1. If the test rejects that at 1%, the run finds differences where there are none."
                .into(),
        );
    }
    sentences
}

/// How the ratios of this run are estimated and tested.
fn ratios(a: &Analysis<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    if a.run.is_sliced() {
        let test = match a.run.plan.until_decided_s {
            None => "the Wilcoxon signed-rank test over generations",
            Some(_) if a.run.plan.time_was_over => {
                "an e-process over generations, which stays valid although the run was judged after each of them, and of the \
                 Wilcoxon signed-rank test when its time was over, each at 97.5%"
            }
            Some(_) => {
                "an e-process over generations, which stays valid although the run was judged after each of them"
            }
        };
        sentences.push(format!(
            "A ratio between two cells is the Hodges-Lehmann estimate of the ratios of the generations, with the interval of {test}."
        ));
        let slices = a.run.cells.iter().flat_map(|c| &c.repetitions).flat_map(|r| &r.slices);
        let paces = slices.filter_map(|slice| slice.pace_ns).map(|ns| ns as f64).collect();
        if let Some(share) = disturbed_share(paces).filter(|share| *share >= 0.005) {
            sentences.push(format!(
                "In {} of the slices the servers' CPUs were more than 5% slower than in the quickest tenth of them, as where a core is \
                 shared with another machine. What met one side of a ratio more is taken out of it; the figures of each cell are as measured.",
                percent(share)
            ));
        }
    }
    if a.run.cells.iter().any(|c| c.measure == Measure::Fresh) {
        let what = if a.run.is_sliced() {
            "For cells measured in fresh runs it"
        } else {
            "A ratio between two cells"
        };
        sentences.push(format!(
            "{what} is the Hodges-Lehmann estimate of the ratios of the blocks, with the interval of the Wilcoxon \
             signed-rank test. With fewer than six blocks, or if many comparisons need finer p-values, the test is \
             Mann-Whitney."
        ));
    }
    sentences
}

fn of_fresh_runs(a: &Analysis<'_>) -> [String; 2] {
    let plan = &a.run.plan;
    let cells = || a.run.cells.iter().filter(|cell| cell.measure == Measure::Fresh);
    // Only programs that end after a time have the plan's times in their command.
    let take = |option: &str| cells().any(|cell| cell.load_command.split(' ').any(|word| word == option));
    let has_servers = cells().any(|cell| !cell.server_command.is_empty());
    let process = if has_servers { "fresh server process" } else { "fresh process" };
    let measured = match (take("--duration"), take("--warmup")) {
        (true, true) => {
            format!(", warmed it up for {} and measured for {}", span(plan.warmup_s), span(plan.duration_s))
        }
        (true, false) => format!(" and measured for {}", span(plan.duration_s)),
        (false, _) if has_servers => " and measured until the load had done its work".to_owned(),
        (false, _) => " and measured until it had done its work".to_owned(),
    };
    let of_which = if a.run.is_sliced() { " that is measured in fresh runs" } else { "" };
    let repetitions = repetitions_words(a.run);
    [format!("Each of the {repetitions} of a cell{of_which} started a **{process}**{measured}."), order(a)]
}

/// What a cell's figure and its interval are.
fn figures(a: &Analysis<'_>) -> String {
    let unit = unit_of_run(a.run);
    let interval = match a.run.plan.statistic {
        Statistic::Median => format!(
            "the interval between two of its order statistics (David and Nagaraja 2003), which assumes nothing about their \
             distribution{}",
            coverage(a)
                .map_or_else(String::new, |words| format!(" and covers the true median in {words} of runs"))
        ),
        Statistic::TrimmedMean(_) => {
            "a nominal 95% percentile bootstrap interval (Efron 1979), which with few \
                                      repetitions covers the true value somewhat less often"
                .to_owned()
        }
    };
    format!(
        "A cell's figure is the {} of its {unit}s, with {interval}. Fewer than {MEDIAN_REPETITIONS_MIN} {unit}s have no \
         95% interval; their range is shown in parentheses.{}",
        a.run.plan.statistic,
        if a.run.is_sliced() {
            " It includes the noise of the machine, so its interval is wider than that of a ratio: compare ratios."
        } else {
            ""
        }
    )
}

/// The exact coverage of the medians' intervals, `96.9%`, if there are any.
pub(crate) fn coverage(a: &Analysis<'_>) -> Option<String> {
    let intervals = a.cells.iter().filter_map(|c| c.estimate(a.headline)?.interval);
    let lowest = intervals.map(|i| i.coverage).reduce(f64::min)?;
    (a.run.plan.statistic == Statistic::Median).then(|| format!("{:.1}%", lowest * 100.0))
}

fn order(a: &Analysis<'_>) -> String {
    match a.run.plan.order {
        Order::Interleaved => format!(
            "Repetitions ran in **randomised blocks**: each block held every cell once, shuffled (seed {}), so that a \
             drift of the machine affected all cells alike.",
            a.run.info.seed
        ),
        Order::Sequential => {
            "Repetitions ran cell by cell, as the plan asks: a drift of the machine looks like a \
                              difference between cells."
                .to_owned()
        }
    }
}

/// Reports that no difference could have been declared, however large.
fn too_few_repetitions(a: &Analysis<'_>) -> Option<String> {
    let against = a.against_baseline(a.headline).iter().flatten().count();
    let (comparisons, have, needed, unit) = if a.run.is_sliced() {
        (
            against,
            generations(a.run),
            generations_needed(against, a.run.plan.until_decided_s.is_some()),
            "generations",
        )
    } else {
        let comparisons = a.family_size_max(a.headline);
        let have = a.run.plan.repetitions as usize;
        (comparisons, have, repetitions_needed(comparisons, true), "repetitions")
    };
    (comparisons > 0 && have < needed).then(|| {
        format!(
            "With {comparisons} comparison{}, {needed} {unit} would be needed to declare any difference; this run has \
             {have}.",
            s(comparisons)
        )
    })
}

fn baseline(a: &Analysis<'_>) -> Option<String> {
    let baseline = a.run.plan.baseline.as_ref()?;
    let levels: Vec<String> = baseline
        .0
        .iter()
        .map(|(name, wanted)| format!("{} {}", factor_title(name), wanted.join(" or ")))
        .collect();
    Some(format!("The baseline is {}.", levels.join(", ")))
}
