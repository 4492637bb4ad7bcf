//! A plan made ready on this machine: the name is resolved, the limit on descriptors raised, and what the kernel must
//! offer is probed.

use std::net::SocketAddr;

use pitot_client::HttpVersion;
use pitot_meter::{Nanos, units};
use pitot_sys::connect::Peer;
use pitot_sys::{affinity, limits};
use serde_json::{Value, json};

use crate::parts;
use crate::plan::{LoadPlan, PROCESSES_MAX};
use pitot_drive::engine::{Route, Sources};
use pitot_drive::pace::{Pace, STEPS_MAX};
use pitot_drive::share::Share;
use pitot_drive::workload::Usage;
use pitot_results::Failure;

/// Descriptors that are not for connections: standard streams, the engine's own, pipes of several processes.
pub(crate) const DESCRIPTORS_RESERVED: u64 = 64;

/// A run that can start.
#[derive(Debug)]
pub struct PreparedRun {
    pub(crate) plan: LoadPlan,
    pub(crate) address: Peer,
    pub(crate) processes: u64,
    /// Threads of each process.
    pub(crate) threads: u64,
}

impl LoadPlan {
    /// Prepares the run on this machine. The target's name is resolved; if it has one address only, nothing is sent to
    /// it.
    ///
    /// # Errors
    /// [`Failure`], if the name does not resolve or this machine cannot do what the plan asks for.
    pub fn prepare(self) -> Result<PreparedRun, Failure> {
        (self.engine.available)().map_err(|e| Failure::misuse(e.to_string(), e.fix.clone()))?;
        let address = self.reach.find(&self.url.host, self.port, self.timeout)?;
        if self.sources.is_some() && matches!(address, Peer::Unix(_)) {
            return Err(Failure::misuse(
                "--source needs TCP, and cannot be combined with --unix",
                "leave --source out",
            ));
        }
        if self.sources.is_some() && matches!(address, Peer::Tcp(SocketAddr::V6(_))) {
            return Err(Failure::misuse(
                "--source takes IPv4 addresses, and the target is IPv6",
                "name the target by its IPv4 address",
            ));
        }
        check_cpus(&self.cpus)?;
        self.check_owners()?;
        let connections = self.connections();
        if matches!(address, Peer::Tcp(_)) {
            check_ports(connections, self.sources)?;
        }
        let processes = processes(self.processes, connections)?;
        // A thread without a connection would have a share of the rate that nobody sends.
        let to_share = self.active().map_or(connections, |group| group.part(self.share) / group.unit);
        parts::check_connections(to_share, self.connections_of_all(), self.share)?;
        let needed = needed_processes(connections, limits::descriptors());
        if to_share < needed {
            return Err(Failure::misuse(
                format!(
                    "{connections} connections need {needed} processes, and only {to_share} of them are active"
                ),
                format!("use -c {needed} or more, so that each process has one, or -c 0"),
            ));
        }
        let processes = processes.min(to_share);
        if processes > 1 && self.requests_from_stdin {
            return Err(Failure::misuse(
                format!("only one process can read the requests from standard input, not {processes}"),
                "name a file with --requests FILE, or ask for --processes 1 and fewer connections",
            ));
        }
        if processes > 1 || self.share != Share::WHOLE {
            self.protocol.shares_server();
        }
        // More processes than were asked for share the threads that were.
        let threads = if self.processes.is_none() { self.threads.div_ceil(processes) } else { self.threads };
        let threads = threads.min(to_share / processes).max(1);
        Ok(PreparedRun { plan: self, address, processes, threads })
    }
}

impl PreparedRun {
    /// Where one thread's connections go to and come from.
    pub(crate) fn route(&self, share: Share) -> Route {
        let start = |sources: Sources| Sources { next: share.index as u32, ..sources };
        let owners = self.plan.source_per_user.then(|| self.plan.owners(share));
        let lookup = self.plan.reach.lookup().cloned();
        Route { target: self.address.clone(), lookup, sources: self.plan.sources.map(start), owners }
    }

    /// The target as it may be shown: without name and password.
    pub fn target(&self) -> &str {
        &self.plan.target
    }

    /// What is asked of the server, as the result will say it.
    pub fn asked(&self) -> &Value {
        &self.plan.asked
    }

    /// Where the requests come from, as the result will say it; null if the command line names them.
    pub fn requests_from(&self) -> &Value {
        &self.plan.requests_from
    }

    /// Whether the target is on this machine for certain.
    pub fn is_local(&self) -> bool {
        match &self.address {
            Peer::Tcp(address) => address.ip().is_loopback(),
            Peer::Unix(_) => true,
        }
    }

    /// What a search should say before it starts: how many runs it makes at most, and how long these take. `None` if this
    /// run is no search.
    pub fn search_notice(&self) -> Option<String> {
        let Pace::Search(search) = &self.plan.pace else { return None };
        let each = self.plan.length()?.as_secs_f64();
        let runs = STEPS_MAX as f64;
        Some(format!(
            "searching from {:.0} rps: at most {STEPS_MAX} runs of {each:.1} s, {}; usually less than half of that. \
             Ctrl-C ends it with what is found by then",
            search.first_rate(),
            units::span(each * runs)
        ))
    }

    /// The options as they took effect, for the result.
    pub(crate) fn describe(&self) -> Value {
        let plan = &self.plan;
        let groups = || plan.groups.iter().map(|(_, group)| group);
        let idle = groups().filter(|g| matches!(g.lifecycle.usage, Usage::Idle { .. }));
        json!({
            "workload": plan.groups.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "connections": plan.connections_of_all(),
            "users": groups().find(|g| matches!(g.lifecycle.usage, Usage::Pages { .. })).map(|g| g.connections / g.unit),
            "idle": idle.map(|g| g.connections).sum::<u64>(),
            "requests_per_connection": groups().map(|g| g.lifecycle.requests_max).find(|&n| n != u64::MAX),
            "churn_per_s": groups().map(|g| g.lifecycle.churn_rate).find(|&r| r > 0.0),
            "pace": plan.pace_name,
            "http": plan.http.map(HttpVersion::name),
            "pipeline": plan.pipeline,
            "streams": plan.streams(),
            "threads": self.threads,
            "processes": self.processes,
            "cpus": plan.cpus,
            "duration_s": plan.duration.map(Nanos::as_secs_f64),
            "requests": plan.requests,
            "warmup_s": plan.warmup.as_secs_f64(),
            "timeout_s": plan.timeout.as_secs_f64(),
            "engine": plan.engine.name,
            "address": self.address.to_string(),
            "seed": plan.seed,
            "requests_from": plan.requests_from,
            "asked": plan.asked,
        })
    }
}

/// Checks that the CPUs that threads are to be pinned to may be used.
///
/// # Errors
/// One of them may not.
pub fn check_cpus(cpus: &[usize]) -> Result<(), Failure> {
    if cpus.is_empty() {
        return Ok(());
    }
    let allowed = affinity::allowed().unwrap_or_default();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => Err(Failure::misuse(
            format!("CPU {cpu} is not available to this process"),
            format!("--cpus may name {allowed:?}"),
        )),
        None => Ok(()),
    }
}

/// The number of processes for `connections`; the limit on descriptors is raised as far as it goes.
fn processes(asked: Option<u64>, connections: u64) -> Result<u64, Failure> {
    let limit = limits::raise_descriptors().unwrap_or_else(|_| limits::descriptors());
    let needed = needed_processes(connections, limit);
    match asked {
        Some(n) if n < needed => Err(Failure::misuse(
            format!(
                "{connections} connections do not fit in {} with {limit} descriptors each",
                units::counted(n, "process", "processes")
            ),
            format!("use --processes auto or at least {needed}, or raise the limit with ulimit -n"),
        )),
        None if needed > PROCESSES_MAX => Err(Failure::misuse(
            format!("{connections} connections need {needed} processes with {limit} descriptors each"),
            "raise the limit with ulimit -n, or ask for fewer connections",
        )),
        asked => Ok(asked.unwrap_or(needed)),
    }
}

/// Processes without which there are not enough descriptors for `connections`.
fn needed_processes(connections: u64, descriptors: u64) -> u64 {
    connections.div_ceil(descriptors.saturating_sub(DESCRIPTORS_RESERVED).max(1)).max(1)
}

/// Checks that there are enough local ports: the kernel assigns each port of its range once per pair of addresses.
fn check_ports(connections: u64, sources: Option<Sources>) -> Result<(), Failure> {
    let Some(range) = pitot_sys::local_ports() else { return Ok(()) };
    let ports = range.len() as u64;
    let addresses = sources.map_or(1, |s| u64::from(s.count));
    if connections <= ports * addresses {
        return Ok(());
    }
    Err(Failure::misuse(
        format!(
            "{connections} connections need more local ports than the {ports} of each of {}",
            units::counted(addresses, "address", "addresses")
        ),
        format!(
            "connect from more addresses, on loopback with --source 127.0.0.0/{}",
            32 - (connections.div_ceil(ports) + 2).next_power_of_two().ilog2()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    fn prepared(change: impl FnOnce(&mut Options)) -> Result<PreparedRun, Failure> {
        let mut options = Options::new("http://127.0.0.1:1/");
        change(&mut options);
        LoadPlan::new(&options).unwrap().prepare()
    }

    #[test]
    fn what_this_machine_cannot_do_is_named_with_a_fix() {
        let refused = |change: fn(&mut Options), word: &str| {
            let misuse = prepared(change).unwrap_err();
            let text = misuse.to_string();
            assert!(!misuse.fix.is_empty() && !text.contains('\n') && text.contains(word), "{text}");
        };
        refused(|o| o.url = "http://host.invalid/".into(), "resolved");
        refused(|o| o.cpus = vec![9999], "9999");
        refused(|o| o.workload.connections = 2_000_000, "connections");
        refused(
            |o| (o.url, o.source) = ("http://[::1]:1/".into(), Some("127.0.0.0/28".into())),
            "the target is IPv6",
        );
    }

    #[test]
    fn more_connections_than_descriptors_make_more_processes() {
        let limit = limits::raise_descriptors().unwrap();
        assert_eq!(processes(None, 10).unwrap(), 1);
        assert_eq!(processes(None, limit * 2).unwrap(), 3);
        assert!(processes(Some(1), limit).is_err());
    }

    #[test]
    fn threads_are_those_of_all_processes_that_the_limit_on_descriptors_makes() {
        let limit = limits::raise_descriptors().unwrap();
        let with = |processes: Option<u64>| {
            prepared(|o| {
                (o.threads, o.workload.connections, o.processes) = (Some(2), limit * 5, processes);
                o.source = Some("127.0.0.0/8".into());
            })
            .unwrap()
        };
        let auto = with(None);
        assert_eq!((auto.processes, auto.threads), (6, 1));
        assert_eq!(with(Some(6)).threads, 2);
    }

    #[test]
    fn idle_connections_for_more_processes_than_there_are_active_ones_are_refused() {
        let limit = limits::raise_descriptors().unwrap();
        let with = |active: u64| {
            prepared(|o| {
                (o.workload.connections, o.workload.idle) = (active, limit * 2);
                o.source = Some("127.0.0.0/8".into());
            })
        };
        assert!(with(2).unwrap_err().fix.contains("-c 3 or more"));
        assert_eq!(with(3).unwrap().processes, 3);
        assert_eq!(with(0).unwrap().processes, 3);
    }

    #[test]
    fn too_few_ports_are_reported_before_the_run() {
        let fix = check_ports(10_000_000, None).unwrap_err().fix;
        let advised = fix.split_ascii_whitespace().last().unwrap();
        assert!(check_ports(10_000_000, Some(Sources::parse(advised).unwrap())).is_ok(), "{fix}");
    }

    #[test]
    fn a_search_says_how_long_it_takes_at_most() {
        let run = prepared(|o| o.pacing.search = Some("p99 < 5ms".into())).unwrap();
        let notice = run.search_notice().unwrap();
        assert!(notice.contains("at most 40 runs of 10.0 s, 6 min 40 s"), "{notice}");
        assert_eq!(prepared(|_| ()).unwrap().search_notice(), None);
    }

    #[test]
    fn no_thread_is_without_a_connection() {
        let run = prepared(|o| (o.threads, o.workload.connections) = (Some(8), 3)).unwrap();
        assert_eq!(run.threads, 3);
    }
}
