//! What differs around two runs.

use crate::number::span;
use pitot_lab::{HostChange, Run};

/// A list of facts that differ, in the order of first mention.
#[derive(Default)]
struct Changes(Vec<HostChange>);

impl Changes {
    fn note(&mut self, group: &str, name: &str, before: Option<String>, after: Option<String>) {
        if before != after {
            self.0.push(HostChange { group: group.into(), name: name.into(), before, after });
        }
    }
}

/// What differs around the runs: versions and plans first, then the machines.
pub(super) fn differences(a: &Run, b: &Run) -> Vec<HostChange> {
    let mut changes = Changes::default();
    versions(&mut changes, a, b);
    for ((name, before), (_, after)) in plan(a).into_iter().zip(plan(b)) {
        changes.note("plan", name, Some(before), Some(after));
    }
    let cpus = |run: &Run| (Some(run.info.server_cpus.clone()), Some(run.info.load_cpus.clone()));
    let ((server_a, load_a), (server_b, load_b)) = (cpus(a), cpus(b));
    changes.note("CPUs", "of the servers", server_a, server_b);
    changes.note("CPUs", "of the load generator", load_a, load_b);
    changes.0.extend(a.host_before.changes_to(&b.host_before));
    changes.0
}

fn versions(changes: &mut Changes, a: &Run, b: &Run) {
    changes.note("version", "pitot", Some(a.info.version.clone()), Some(b.info.version.clone()));
    let version = |run: &Run, name: &str| {
        run.info.server_versions.iter().find(|(n, _)| n == name).map(|(_, version)| version.clone())
    };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in a.info.server_versions.iter().chain(&b.info.server_versions) {
        if name != "pitot" && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        changes.note("version", name, version(a, name), version(b, name));
    }
}

fn plan(run: &Run) -> [(&'static str, String); 5] {
    [
        ("name", run.plan.name.clone()),
        ("repetitions", run.plan.repetitions.to_string()),
        ("warm-up", span(run.plan.warmup_s)),
        ("duration", span(run.plan.duration_s)),
        ("statistic", run.plan.statistic.to_string()),
    ]
}
