//! The faults of a soak, and when they are made.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;

use pitot_fault::{Aim, Fault, FaultPlan, Moment, can_be_filled, find, schedule_of_soak};
use pitot_lab::{Prepared, Where, prepare};
use pitot_meter::units;
use pitot_plan::{Catalog, Plan, toml_string};
use pitot_results::Failure;
use pitot_soak::run::{SubjectOrder, Watch};
use pitot_sys::processes::ProcessTable;
use rustix::process::{Pid, test_kill_process};

use crate::words;

/// Gives each server the faults that are to be made to it in `asked_s` seconds: all alike, but those that `is_due` leaves out as
/// they were made before the soak was resumed. It takes the number of a server, from 1.
pub(super) fn plan(
    plan: &Plan,
    asked_s: f64,
    is_due: &dyn Fn(i64, &Moment) -> bool,
    orders: &mut [SubjectOrder<'_>],
) {
    let all = schedule_of_soak(&plan.faults, plan.seed.unwrap_or_default(), asked_s);
    for (subject, order) in (1..).zip(orders) {
        order.faults = all.iter().filter(|moment| is_due(subject, moment)).copied().collect();
    }
}

/// A plan that lacks nothing but faults.
const PLAN: &str = "[server]\nprotocol = \"http\"\n[load]\n[factors]\nserver = [\"loop\"]\n[soak]\n";

/// The option that says where a server keeps its files that somebody else has started.
const DIR: &str = "dir";

/// The faults that the command line asks for; `of_running` if the server is one that somebody else has started.
pub(super) fn asked(
    lines: &[String],
    catalog: &Catalog,
    of_running: bool,
) -> Result<Vec<FaultPlan>, Failure> {
    let mut faults = Vec::new();
    for line in lines {
        let wrong = |what: String, fix: String| Failure::misuse(format!("--fault '{line}': {what}"), fix);
        let mut words = words::split(line, &[]).map_err(|flaw| {
            wrong(flaw.to_string(), "close the quotes, or write \\ before a literal character".into())
        })?;
        let dir = if of_running { take_dir(&mut words) } else { None };
        // Read as a plan is, so that both say the same of a mistake.
        let text = format!(
            "{PLAN}{}",
            table(&words).map_err(|word| {
                wrong(
                    format!("`{word}` is not an option with a value"),
                    "write a fault and options such as --for 1s".into(),
                )
            })?
        );
        let plan = Plan::parse("--fault", &text, catalog).map_err(|e| wrong(e.what, e.fix))?;
        let with_dir = |mut fault: FaultPlan| {
            fault.options.extend(dir.iter().map(|dir| (DIR.to_owned(), dir.clone())));
            fault
        };
        faults.extend(plan.faults.into_iter().map(with_dir));
    }
    Ok(faults)
}

/// Takes `--dir DIR` out of the words of a fault.
fn take_dir(words: &mut Vec<String>) -> Option<String> {
    let position = words.iter().position(|word| word == "--dir" || word.starts_with("--dir="))?;
    let word = words.remove(position);
    match word.split_once('=') {
        Some((_, dir)) => Some(dir.to_owned()),
        None if position < words.len() => Some(words.remove(position)),
        None => {
            words.push(word);
            None
        }
    }
}

/// A plan with these faults for a server that somebody else has started, which is asked at `url`.
pub(super) fn of_running(
    lines: &[String],
    seed: Option<u64>,
    url: &str,
    catalog: &Catalog,
) -> Result<Prepared, Failure> {
    let kind = |line: &str| line.split_whitespace().next().and_then(find);
    for line in lines {
        let (what, fix) = match kind(line).map(|fault| fault.aim) {
            Some(Aim::Server) => (
                "a server can only be restarted by what started it, and this one is running",
                "let its supervisor restart it (and give --unit), or let the soak start it: --server",
            ),
            Some(Aim::Names) => (
                "it affects users of the resolver of a plan, and this server was started without that",
                "write a plan in which the server or its load asks {resolver} (docs/faults.md)",
            ),
            _ => continue,
        };
        return Err(Failure::misuse(format!("--fault '{line}': {what}"), fix));
    }
    let mut plan = Plan::parse("--fault", PLAN, catalog)?;
    plan.faults = asked(lines, catalog, true)?;
    plan.seed = seed;
    let mut prepared = prepare(plan, PLAN.to_owned(), catalog, Where::Here)?;
    prepared.cells.truncate(1);
    prepared.cells.iter_mut().for_each(|cell| url.clone_into(&mut cell.url));
    Ok(prepared)
}

/// Refuses faults of the command line that would never be made, as the soak is over before.
pub(super) fn check_times(faults: &[FaultPlan], lines: &[String], asked_s: f64) -> Result<(), Failure> {
    let made = schedule_of_soak(faults, 0, asked_s);
    let own = faults.len().saturating_sub(lines.len());
    let is_made =
        |number: &usize| made.iter().any(|moment| moment.number == *number && moment.at_s < asked_s);
    match (own..faults.len()).find(|number| !is_made(number)) {
        None => Ok(()),
        Some(number) => Err(Failure::misuse(
            format!(
                "--fault '{}' would never be made: the soak ends after {}",
                lines[number - own],
                units::span(asked_s)
            ),
            "use an earlier --at, or a longer --for of the soak",
        )),
    }
}

/// A server that somebody else has started, for which faults are checked.
pub(super) struct Running<'a> {
    pub(super) url: &'a str,
    /// Where it listens.
    pub(super) address: SocketAddr,
    pub(super) watch: Option<&'a Watch>,
    /// Its processes are those of a unit, which a supervisor starts again.
    pub(super) is_unit: bool,
}

/// Refuses what cannot be done to a server that somebody else has started.
pub(super) fn check_running(
    faults: &[FaultPlan],
    lines: &[String],
    server: &Running<'_>,
) -> Result<(), Failure> {
    for (plan, line) in faults.iter().zip(lines) {
        let Some(fault) = find(&plan.kind) else { continue };
        server
            .check(fault, plan)
            .map_err(|(what, fix)| Failure::misuse(format!("--fault '{line}': {what}"), fix))?;
    }
    Ok(())
}

impl Running<'_> {
    /// What speaks against a fault, and what to do about it.
    fn check(&self, fault: &Fault, plan: &FaultPlan) -> Result<(), (String, String)> {
        let refused = |what: &str, fix: &str| Err((what.to_owned(), fix.to_owned()));
        (fault.probe)().map_err(|missing| (missing.cause, missing.fix))?;
        let dir = plan.options.iter().find(|(name, _)| name == DIR).map(|(_, dir)| dir);
        if dir.is_some() && fault.aim != Aim::Directory {
            return refused("--dir does not apply to this fault", "omit --dir");
        }
        match fault.aim {
            Aim::Process | Aim::Cpus => self.check_processes(fault),
            Aim::Address => self.check_address(fault),
            Aim::Directory => match dir {
                None => refused(
                    "where the server keeps its files is not known",
                    "name it: --fault 'disk-full --dir /mnt/data'",
                ),
                Some(dir) => can_be_filled(Path::new(dir)).map_err(|why| {
                    (why, "name a directory on a small file system of the server's own".to_owned())
                }),
            },
            Aim::Server | Aim::Names | Aim::Path | Aim::Nothing => Ok(()),
        }
    }

    fn check_processes(&self, fault: &Fault) -> Result<(), (String, String)> {
        let refused = |what: String, fix: &str| Err((what, fix.to_owned()));
        let Some(first) = self.watch.and_then(Watch::first) else {
            return refused(
                "the processes of the server are not known".into(),
                "give its first one with --pid, or its unit with --unit",
            );
        };
        // Nothing takes back what is over as soon as it is made.
        if fault.is_moment && fault.may_end_server && !self.is_unit {
            return refused(
                format!("nothing is known to restart process {first}"),
                "give its unit with --unit; or choose stop, which can be undone",
            );
        }
        let table = ProcessTable::read();
        let processes = table.of(first);
        if processes.iter().any(|process| process.pid == std::process::id()) {
            return refused(
                format!("the soak itself is among the processes of {first}"),
                "give only the first process of the server with --pid",
            );
        }
        let is_refused = |pid: u32| {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::PERM))
        };
        match processes.iter().find(|process| is_refused(process.pid)) {
            Some(process) if fault.aim == Aim::Process => refused(
                format!("process {} ({}) belongs to another user", process.pid, process.name),
                "run the soak as that user, or as root",
            ),
            _ => Ok(()),
        }
    }

    fn check_address(&self, fault: &Fault) -> Result<(), (String, String)> {
        let refused = |what: String, fix: &str| Err((what, fix.to_owned()));
        if fault.speaks_http && !self.url.starts_with("http://") {
            return refused(
                format!("its clients speak HTTP without TLS, and {} does not", self.url),
                "omit the fault",
            );
        }
        // Only an address of this machine can be bound.
        if fault.takes.contains(&"share") && UdpSocket::bind((self.address.ip(), 0)).is_err() {
            return refused(
                format!(
                    "{} is on another machine, and only packets that arrive here can be dropped",
                    self.address.ip()
                ),
                "run the soak on the server's machine; or choose latency or black-hole",
            );
        }
        Ok(())
    }
}

/// A table of `faults` with the words of a command line. The error is the word that is none of an option.
fn table(words: &[String]) -> Result<String, String> {
    let (kind, mut rest) = words.split_first().ok_or("")?;
    let mut table = format!("[[faults]]\nkind = {}\n", toml_string(kind));
    let mut has_time = false;
    while let [word, following @ ..] = rest {
        let option =
            word.strip_prefix("--").filter(|option| !option.is_empty()).ok_or_else(|| word.clone())?;
        let (name, value, left) = match (option.split_once('='), following) {
            (Some((name, value)), left) => (name, value, left),
            (None, [value, left @ ..]) => (option, value.as_str(), left),
            (None, []) => return Err(word.clone()),
        };
        table.push_str(&line(name, value));
        has_time |= name == "at";
        rest = left;
    }
    if !has_time {
        table.push_str(&line("at", "random"));
    }
    Ok(table)
}

fn line(name: &str, value: &str) -> String {
    format!("{} = {}\n", toml_string(name), toml_string(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<String, String> {
        table(&words::split(line, &[]).map_err(|flaw| flaw.to_string())?)
    }

    #[test]
    fn options_become_a_table_and_a_fault_without_a_time_comes_at_random() {
        let table = of("stop --for 1s --every=10m").unwrap();
        assert_eq!(
            table,
            "[[faults]]\nkind = \"stop\"\n\"for\" = \"1s\"\n\"every\" = \"10m\"\n\"at\" = \"random\"\n"
        );
        assert!(!of("kill --at 30m").unwrap().contains("random"));
        assert_eq!(of("stop now"), Err("now".into()));
        assert_eq!(of("stop --for"), Err("--for".into()));
        assert_eq!(of(""), Err(String::new()));
    }
}
