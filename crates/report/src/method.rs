//! How the figures were made, in sentences; and the facts at the head of a report.

use crate::analysis::{Analysis, factor_title};
use crate::number::{percent, span};
use crate::text::s;
use pitot_lab::Order;
use pitot_lab::statistics::{MEDIAN_REPETITIONS_MIN, Statistic, repetitions_needed};

/// The facts at the head of a report: what, where, when.
pub(crate) fn facts(a: &Analysis<'_>) -> Vec<(&'static str, String)> {
    let run = a.run;
    let mut facts = vec![("measured", date(&run.info.started_at))];
    let machine =
        [("CPU", "cpu", "model name"), ("kernel", "system", "kernel"), ("on", "system", "virtualisation")];
    for (title, group, name) in machine {
        facts.extend(run.host_before.get(group, name).map(|value| (title, value.to_owned())));
    }
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
    let mut sentences = vec![
        format!(
            "Each of the {} repetitions of a cell started a **fresh server process**, warmed it up for {} and measured \
             for {}.",
            plan.repetitions,
            span(plan.warmup_s),
            span(plan.duration_s)
        ),
        order(a),
        "Response times count **from the intended start** of a request to the last byte of its reply, even if the load \
         generator was late. Histograms of repetitions are merged; percentiles are never averaged."
            .into(),
        figures(a),
        "A ratio between two cells is the Hodges-Lehmann estimate of the ratios of the blocks, with the interval of the \
         Wilcoxon signed-rank test. With fewer than six blocks, or where many comparisons need finer p-values, it is the \
         Mann-Whitney test."
            .into(),
        format!(
            "A **difference is declared** only if the test rejects, at 5% after Holm's correction for all comparisons of \
             the metric, that it is no larger than the tolerance of {}. Otherwise the difference is reported as not \
             significant, or the cells as equivalent if the whole interval lies within the tolerance.",
            percent(plan.tolerance)
        ),
    ];
    sentences.extend(too_few_repetitions(a));
    sentences.push(
        "**valid**: the figures describe the server. **client-bound**: the load generator was the bottleneck, so \
         throughput is a lower bound (≥). **network-bound**: packets were retransmitted or dropped. **rate-missed**: more \
         than 1% of the requests that were due could not be sent, and no percentile has them. **noisy**: other \
         processes used the CPUs, or the hypervisor took CPU time away (steal). **failed**: the server or the load \
         generator exited early, hung, or sent wrong replies."
            .into(),
    );
    sentences.extend(baseline(a));
    sentences.push(format!("The run was started by `{}`.", a.run.info.command_line));
    sentences
}

/// What a cell's figure is, and how sure its interval is.
fn figures(a: &Analysis<'_>) -> String {
    let interval = match a.run.plan.statistic {
        Statistic::Median => format!(
            "the interval between two of its order statistics (David and Nagaraja 2003), which assumes nothing of their \
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
        "A cell's figure is the {} of its repetitions, with {interval}. Fewer than {MEDIAN_REPETITIONS_MIN} repetitions \
         have no 95% interval; their range is shown in parentheses.",
        a.run.plan.statistic
    )
}

/// The exact coverage of the medians' intervals, `96.9%`; none where there are no such intervals.
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

/// Says so if no difference could have been declared, however large.
fn too_few_repetitions(a: &Analysis<'_>) -> Option<String> {
    let comparisons = a.family_size_max(a.headline);
    let (have, needed) = (a.run.plan.repetitions as usize, repetitions_needed(comparisons, true));
    (comparisons > 0 && have < needed).then(|| {
        format!(
            "With {comparisons} comparison{}, {needed} repetitions would be needed to declare any difference; this run \
             has {have}.",
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
