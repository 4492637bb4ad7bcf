//! What profiles cost, and what they lack.

use std::collections::BTreeMap;

use pitot_meter::stack::frames;
use pitot_plan::Profiled;
use pitot_stats::mean;

use super::found::LEVEL;
use crate::analysis::Analysis;
use crate::document::Block;
use crate::flames::profiles;
use crate::number::{percent, ratio};

/// From this share on the report mentions samples without names.
const NAMELESS_TOLD: f64 = 0.05;
/// What sampling costs: the CPU time of a request in slices that were sampled, as a ratio to that in slices that count.
pub(crate) fn cost(a: &Analysis<'_>) -> Option<String> {
    let mut by_generation: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for cell in a.run.cells.iter().chain(&a.run.controls) {
        for (block, profile) in profiles(cell, Profiled::Cpu).filter(|(_, profile)| profile.sees_kernel) {
            let counted = cell.repetitions.iter().find(|r| r.block == block)?.slices.iter();
            let (requests, cpu_ns) = counted.fold((0, 0), |(requests, cpu_ns), slice| {
                (requests + slice.requests, cpu_ns + slice.server_cpu_ns.unwrap_or(0))
            });
            let ratio = profile.cpu_ns as f64 / profile.requests as f64 * requests as f64 / cpu_ns as f64;
            if ratio > 0.0 && ratio.is_finite() {
                by_generation.entry(block).or_default().push(ratio.ln());
            }
        }
    }
    let logs: Vec<f64> =
        by_generation.values().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64).collect();
    let mean = mean(&logs, LEVEL)?;
    let show = |log: f64| ratio(log.exp());
    Some(format!(
        "In slices that were sampled a request took {} times [{}, {}] the CPU time that it took in those that count, which came before.",
        show(mean.value),
        show(mean.interval.low),
        show(mean.interval.high)
    ))
}

/// That the kernel's part is missing, if it is.
fn without_kernel(a: &Analysis<'_>) -> Option<String> {
    let mut all = a.run.cells.iter().flat_map(|cell| profiles(cell, Profiled::Cpu));
    all.any(|(_, profile)| !profile.sees_kernel).then(|| {
        "The time in the kernel is missing, which the user of this run may not sample: it is root's, or everybody's with `sysctl kernel.perf_event_paranoid=1`."
            .to_owned()
    })
}

/// The shares of samples whose innermost function has no name: of the kernel, and of programs.
fn without_names(a: &Analysis<'_>) -> Vec<String> {
    let of_cells = a.run.cells.iter().flat_map(|cell| profiles(cell, Profiled::Cpu));
    let (mut of_kernel, mut of_programs, mut samples) = (0, 0, 0);
    for entry in of_cells.flat_map(|(_, profile)| profile.entries) {
        samples += entry.count;
        match frames(&entry.name).next_back().filter(|frame| !frame.is_named()) {
            Some(frame) if frame.is_of_kernel() => of_kernel += entry.count,
            Some(_) => of_programs += entry.count,
            None => {}
        }
    }
    let nameless = [
        (
            of_kernel,
            "functions of the kernel, whose names this user may not see: run as root, or: sysctl kernel.kptr_restrict=0; in a container: --cap-add SYSLOG",
        ),
        (
            of_programs,
            "functions without a name: the programs or libraries have no symbols (docs/profile.md)",
        ),
    ];
    let share = |count: u64| count as f64 / samples.max(1) as f64;
    let told = nameless.into_iter().filter(|(count, _)| share(*count) >= NAMELESS_TOLD);
    told.map(|(count, of)| format!("{} of the samples are in {of}.", percent(share(count)))).collect()
}

/// What profiles lack.
pub(crate) fn missing(a: &Analysis<'_>) -> Vec<Block> {
    without_kernel(a).into_iter().chain(without_names(a)).map(Block::Paragraph).collect()
}
