//! What differs around two runs.

use crate::amount::generations_words;
use crate::number::span;
use pitot_host::HostChange;
use pitot_plan::{Program, SERVER_FACTOR};
use pitot_record::{CellRecord, Run};

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
pub(crate) fn differences(a: &Run, b: &Run) -> Vec<HostChange> {
    let mut changes = Changes::default();
    versions(&mut changes, a, b);
    for ((name, before), (_, after)) in plan(a).into_iter().zip(plan(b)) {
        changes.note("plan", name, Some(before), Some(after));
    }
    commands(&mut changes, a, b);
    let cpus = |run: &Run| (Some(run.info.server_cpus.clone()), Some(run.info.load_cpus.clone()));
    let ((server_a, load_a), (server_b, load_b)) = (cpus(a), cpus(b));
    changes.note("CPUs", "of the servers", server_a, server_b);
    changes.note("CPUs", "of the load generator", load_a, load_b);
    changes.0.extend(a.host_before.changes_to(&b.host_before));
    hosts(&mut changes, a, b);
    changes.0
}

/// Hosts other than the lab's, and kernels in guests.
fn hosts(changes: &mut Changes, a: &Run, b: &Run) {
    let names = |run: &Run| {
        let names: Vec<&str> = run.hosts.iter().map(|host| host.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    changes.note("hosts", "of the run", names(a), names(b));
    for host in &a.hosts {
        let Some(other) = b.hosts.iter().find(|other| other.name == host.name) else { continue };
        let of_host =
            |change: HostChange| HostChange { group: format!("{}: {}", host.name, change.group), ..change };
        changes.0.extend(host.facts.changes_to(&other.facts).into_iter().map(of_host));
    }
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

/// How the commands of common cells differ. A difference that several cells share is listed at the first.
fn commands(changes: &mut Changes, a: &Run, b: &Run) {
    for cell in &a.cells {
        let Some(other) = b.cells.iter().find(|other| same_levels(cell, other)) else { continue };
        for (group, before, after) in [
            ("server command", &cell.server_command, &other.server_command),
            ("load command", &cell.load_command, &other.load_command),
        ] {
            let (before, after) = different_words(before, after);
            if changes.0.iter().all(|c| c.group != group || (&c.before, &c.after) != (&before, &after)) {
                changes.note(group, &format!("of {}", cell.label()), before, after);
            }
        }
    }
}

/// The words in which two commands differ, without their common beginning and end. The word
/// before stays, `-t 8` instead of `8`, unless the difference begins with an option.
fn different_words(a: &str, b: &str) -> (Option<String>, Option<String>) {
    let (a, b) = (words(a), words(b));
    let shorter = a.len().min(b.len());
    let mut head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let names_itself = |words: &[String]| words[head].starts_with('-');
    if head > 0 && head < shorter && !(names_itself(&a) && names_itself(&b)) {
        head -= 1;
    }
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count().min(shorter - head);
    let rest =
        |words: &[String]| Some(words[head..words.len() - tail].join(" ")).filter(|text| !text.is_empty());
    (rest(&a), rest(&b))
}

/// The words of a command; the path of `pitot` does not count.
fn words(command: &str) -> Vec<String> {
    let plain = |word: &str| if word.ends_with("/pitot") { "pitot".to_owned() } else { word.to_owned() };
    command.split_whitespace().map(plain).collect()
}

fn plan(run: &Run) -> [(&'static str, String); 6] {
    let generations = if run.is_sliced() { generations_words(run) } else { "none, fresh runs".to_owned() };
    [
        ("name", run.plan.name.clone()),
        ("repetitions", run.plan.repetitions.to_string()),
        ("generations", generations),
        ("warm-up", span(run.plan.warmup_s)),
        ("duration", span(run.plan.duration_s)),
        ("statistic", run.plan.statistic.to_string()),
    ]
}

/// Whether two cells have the same levels, in any order.
pub(super) fn same_levels(a: &CellRecord, b: &CellRecord) -> bool {
    a.factors.len() == b.factors.len()
        && a.factors.iter().all(|f| b.level(&f.name).is_some_and(|other| other.level == f.level))
}

/// How the version of a reference begins that is known by the content of its files.
const CONTENT: &str = "sha256 ";

/// What makes a server the same in two runs: its version and command. A server that is known by its content may be in another directory.
pub(crate) fn identity(run: &Run, cell: &CellRecord) -> String {
    let name = cell.level(SERVER_FACTOR).map(|level| level.level.clone());
    let named = run.info.server_versions.iter().find(|(server, _)| Some(server) == name.as_ref());
    let version = named.map_or_else(|| run.info.version.clone(), |(_, version)| version.clone());
    let command = match version.starts_with(CONTENT) {
        true => own_words(run, cell).unwrap_or_default(),
        // A command that is executed has no server.
        false if cell.server_command.is_empty() => words(&cell.load_command),
        false => words(&cell.server_command),
    };
    format!("{version}\n{}", command.join(" "))
}

/// The command of a server in the plan, without the directories of its files.
fn own_words(run: &Run, cell: &CellRecord) -> Option<Vec<String>> {
    let name = &cell.level(SERVER_FACTOR)?.level;
    let server = run.plan.servers.iter().find(|server| server.name == *name)?;
    let Program::External(program) = &server.program else { return None };
    let plain = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    Some(program.command.iter().map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_of_two_commands_has_the_word_before_it() {
        let of = |a, b| different_words(a, b);
        let words = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
        assert_eq!(of("srv -t 0 -p 80", "srv -t 8 -p 80"), words("-t 0", "-t 8"));
        assert_eq!(of("/a/pitot serve --cpus 0", "/b/pitot serve --cpus 1"), words("--cpus 0", "--cpus 1"));
        assert_eq!(of("srv 0 x", "srv 8 x"), words("srv 0", "srv 8"));
        assert_eq!(of("srv --fast", "srv --slow"), words("--fast", "--slow"));
        assert_eq!(of("srv", "srv --slow"), (None, Some("--slow".to_owned())));
        assert_eq!(of("srv -t 8", "srv -t 8"), (None, None));
    }
}
