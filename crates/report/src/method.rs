//! What was done and how the figures were made, in sentences; and the facts that stand at the head of a report.

use crate::analysis::{Analysis, factor_title};
use crate::number::{percent, span};
use pitot_lab::Order;
use pitot_lab::statistics::repetitions_needed;

/// The facts at the head of a report: what, where, when.
pub(crate) fn facts(a: &Analysis<'_>) -> Vec<(&'static str, String)> {
    let run = a.run;
    let mut facts = vec![("measured", date(&run.info.started_at))];
    let machine =
        [("CPU", "cpu", "model name"), ("kernel", "system", "kernel"), ("on", "system", "virtualisation")];
    for (title, group, name) in machine {
        facts.extend(run.host_before.get(group, name).map(|value| (title, value.to_owned())));
    }
    let s = |n: usize| if n == 1 { "" } else { "s" };
    let (cells, repetitions) = (run.cells.len(), run.plan.repetitions as usize);
    facts.push(("size", format!("{cells} cell{} × {repetitions} repetition{}", s(cells), s(repetitions))));
    facts
}

/// An RFC 3339 time to the minute.
fn date(rfc3339: &str) -> String {
    let minute = rfc3339.get(..16).unwrap_or(rfc3339).replace('T', " ");
    if rfc3339.ends_with('Z') { format!("{minute} UTC") } else { minute }
}

/// The method, sentence by sentence.
pub(crate) fn method_sentences(a: &Analysis<'_>) -> Vec<String> {
    let plan = &a.run.plan;
    let mut told = Vec::new();
    told.push(format!(
        "Each of the {} repetitions of a cell started a **fresh server process**, warmed it up for {} and measured for {}.",
        plan.repetitions,
        span(plan.warmup_s),
        span(plan.duration_s)
    ));
    told.push(match plan.order {
        Order::Interleaved => format!(
            "Repetitions ran in **randomised blocks**: each block held every cell once, shuffled (seed {}), so that a \
             drift of the machine hit all cells alike.",
            a.run.info.seed
        ),
        Order::Sequential => "Repetitions ran cell by cell, as the plan asks: a drift of the machine looks like a \
                              difference between cells."
            .to_owned(),
    });
    told.push(
        "Response times count **from the intended start** of a request to the last byte of its reply, also where the \
         load generator was late; histograms of repetitions are merged, percentiles are never averaged."
            .into(),
    );
    told.push(format!(
        "A cell's figure is the {} of its repetitions, with a 95% percentile bootstrap interval (Efron 1979); fewer than \
         six repetitions have none, and their range is shown in round brackets.",
        plan.statistic
    ));
    told.push(
        "A ratio between two cells is the Hodges-Lehmann estimate of the ratios of the blocks, with the interval of \
         Wilcoxon's signed-rank test; below six blocks, or where many comparisons need finer p-values, it is Mann and \
         Whitney's test."
            .into(),
    );
    told.push(format!(
        "A **difference is declared** only if the test rejects, at 5% after Holm's correction over all comparisons of \
         the figure, that it is no larger than the tolerance of {}. Otherwise the report says \"no difference seen\", \
         or \"alike\" where the whole interval lies within the tolerance.",
        percent(plan.tolerance)
    ));
    let family = a.cells.len().saturating_sub(a.load.levels.len());
    if family > 0 && (plan.repetitions as usize) < repetitions_needed(family, true) {
        told.push(format!(
            "With {family} comparisons {} repetitions would be needed to declare any difference; this run has {}.",
            repetitions_needed(family, true),
            plan.repetitions
        ));
    }
    told.push(
        "**valid**: the figures tell of the server. **client-bound**: the load generator was the bottleneck, so \
         throughput is a lower bound (≥). **network-bound**: retransmits or drops. **noisy**: something else used the \
         CPUs, or the host withheld them. **failed**: the server or the load generator died, hung or answered wrongly."
            .into(),
    );
    if let Some(baseline) = &plan.baseline {
        let levels: Vec<String> = baseline
            .0
            .iter()
            .map(|(name, wanted)| format!("{} {}", factor_title(name), wanted.join(" or ")))
            .collect();
        told.push(format!("The baseline is {}.", levels.join(", ")));
    }
    told.push(format!("The run was started by `{}`.", a.run.info.command_line));
    told
}
