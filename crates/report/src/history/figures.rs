//! What a history needs of a run: the figures of its cells in one metric.

use std::path::PathBuf;

use pitot_host::Fingerprint;
use pitot_record::metric::of_plan;
use pitot_record::{CellRecord, Metric, Run};
use pitot_stats::judge;
use serde::{Deserialize, Serialize};

use crate::analysis::within_run;
use crate::compare::{estimate, identity, reference_in};

/// The figures of a run in one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// The file.
    pub file: PathBuf,
    /// The identity of the run.
    pub id: String,
    /// The name of its plan.
    pub plan: String,
    /// The metric's name.
    pub metric: String,
    /// The version of Pitot.
    pub version: String,
    /// RFC 3339.
    pub started_at: String,
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// What runs on one machine have in common, in words.
    pub machine: String,
    /// The cells that have a figure.
    pub cells: Vec<CellFigure>,
}

/// The figure of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellFigure {
    /// Its levels, joined.
    pub cell: String,
    /// The figure, in the metric's unit.
    pub value: f64,
    /// Its 95% interval, if there are enough repetitions.
    pub interval: Option<[f64; 2]>,
    /// The ratio to the reference of the run, if it has one and is not that itself.
    pub ratio: Option<Ratio>,
}

/// A ratio to the reference of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The reference by its version and command, by which it is known in other runs.
    pub identity: String,
    /// The reference, for readers.
    pub reference: String,
    /// The ratio.
    pub value: f64,
    /// Its 95% interval within the run, if there are enough repetitions.
    pub interval: Option<[f64; 2]>,
}

impl RunFigures {
    /// The figures of a run in a metric, or else in that of its plan.
    pub fn of(run: &Run, metric: Option<&'static Metric>) -> RunFigures {
        let metric = metric.unwrap_or_else(|| of_plan(&run.plan));
        let figure = |cell: &CellRecord| {
            let figure = estimate(run, cell, metric).filter(|figure| figure.value > 0.0)?;
            Some(CellFigure {
                cell: cell.label(),
                value: figure.value,
                interval: figure.interval.map(|i| [i.low, i.high]),
                ratio: ratio(run, cell, metric),
            })
        };
        RunFigures {
            file: run.path.clone(),
            id: run.info.id.clone(),
            plan: run.plan.name.clone(),
            metric: metric.name.to_owned(),
            version: run.info.version.clone(),
            started_at: run.info.started_at.clone(),
            labels: run.plan.labels.clone(),
            machine: machine_of(run),
            cells: run.cells.iter().filter_map(figure).collect(),
        }
    }
}

/// The ratio of a cell to the reference of its run.
fn ratio(run: &Run, cell: &CellRecord, metric: &Metric) -> Option<Ratio> {
    let reference = reference_in(run, cell)?;
    let compared = judge(&[within_run(run, cell, reference, metric)], run.plan.tolerance).remove(0)?;
    Some(Ratio {
        identity: identity(run, reference),
        reference: reference.label(),
        value: compared.ratio,
        interval: compared.interval.map(|i| [i.low, i.high]),
    })
}

/// The machine of the servers: its processor and how many of them, and the names of hosts.
///
/// Neither the name of the host nor its kernel counts: a virtual machine that is made anew for each run has another name, and a kernel
/// is what may have changed.
pub(super) fn machine_of(run: &Run) -> String {
    let hosts: Vec<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
    let server = run.hosts.iter().find(|host| host.does.contains("server")).map(|host| &host.facts);
    let words = machine_words(server.unwrap_or(&run.host_before));
    if hosts.is_empty() { words } else { format!("{words} (hosts {})", hosts.join(", ")) }
}

/// A machine in words: `AMD EPYC 7763, model 1, 4 CPUs`.
pub(super) fn machine_words(facts: &Fingerprint) -> String {
    let cpu = |name: &str| facts.get("cpu", name);
    let name = cpu("model name").or_else(|| facts.get("kernel", "architecture")).unwrap_or("unknown");
    let model = cpu("model").map(|model| format!(", model {model}")).unwrap_or_default();
    let count = cpu("online").map(count_of).filter(|count| *count > 0);
    let count = count.map(|n| format!(", {n} CPU{}", crate::text::s(n))).unwrap_or_default();
    format!("{name}{model}{count}")
}

/// How many CPUs are in a list such as `0-3,8`.
fn count_of(list: &str) -> usize {
    let parts = list.split(',').map(|part| match part.trim().split_once('-') {
        Some((first, last)) => match (first.parse::<usize>(), last.parse::<usize>()) {
            (Ok(first), Ok(last)) if last >= first => last - first + 1,
            _ => 0,
        },
        None => usize::from(part.trim().parse::<usize>().is_ok()),
    });
    parts.fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_its_processor_and_how_many_and_not_its_name_or_kernel() {
        let mut facts = Fingerprint::default();
        facts.push("cpu", "model name", "Fast 9000");
        facts.push("cpu", "online", "0-3,8");
        facts.push("system", "host name", "a");
        assert_eq!(machine_words(&facts), "Fast 9000, 5 CPUs");
        facts.push("cpu", "model", "7");
        assert_eq!(machine_words(&facts), "Fast 9000, model 7, 5 CPUs");
        assert_eq!((count_of("0"), count_of("x-y"), count_of("3-1")), (1, 0, 0));
    }
}
