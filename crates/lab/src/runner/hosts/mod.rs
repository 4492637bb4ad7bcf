//! Where the programs of a run are: on this machine, or on hosts that a plan names.

mod link;
mod placed;
mod remote;
mod wire;

use std::cell::RefCell;

use pitot_results::Failure;

use link::Link;
use placed::{Folders, Placed, Side};
use remote::Remote;
pub(super) use wire::to_reply;

use super::executor::{Executor, Machine};
use super::local::{Guardian, ThisMachine};
use super::prepare::Prepared;
use crate::plan::Plan;
use crate::record::HostRecord;
use pitot_host::setting::Change;
use pitot_host::{ALL_CPUS, CpuSplit, memory_total_bytes, parse_cpu_list};

/// The CPUs of a plan's hosts, in place of those of this machine where a side is on another.
pub(super) fn cpus(plan: &Plan, here: CpuSplit) -> CpuSplit {
    let of = |host: &Option<String>, named: &Option<String>, here: Vec<usize>| match plan.host(host) {
        Some(host) => {
            // All of a host are those that the plan names for it.
            let named = named.as_ref().filter(|list| *list != ALL_CPUS);
            parse_cpu_list(named.unwrap_or(&host.cpus)).unwrap_or_default()
        }
        None => here,
    };
    CpuSplit {
        server: of(&plan.server_host, &plan.server_cpus, here.server),
        load: of(&plan.load_host, &plan.load_cpus, here.load),
    }
}

/// Calls `run` with the machine or machines of a plan.
pub(super) fn with_machine<T>(
    prepared: Prepared,
    guardian: Guardian,
    pitot: &str,
    run: impl FnOnce(Prepared, &dyn Machine) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let cpus = prepared.cpus.clone();
    if prepared.plan.hosts.is_empty() {
        return run(prepared, &ThisMachine::new(guardian, &cpus));
    }
    let here = CpuSplit {
        server: cpus.server.clone(),
        // What this process itself runs on, where nothing else of the run may be.
        load: match prepared.plan.load_host {
            Some(_) => pitot_sys::affinity::allowed().unwrap_or_default(),
            None => cpus.load.clone(),
        },
    };
    let hosts = Hosts::reach(&prepared.plan, ThisMachine::new(guardian, &here), &cpus, pitot)?;
    run(prepared, &hosts)
}

/// This machine and the agents of others.
struct Hosts<'a> {
    here: ThisMachine<'a>,
    links: Vec<Link>,
    /// Of the server and of the load; none is here.
    at: [Option<usize>; 2],
    folders: Folders,
    pitot: &'a str,
}

impl<'a> Hosts<'a> {
    fn reach(
        plan: &Plan,
        here: ThisMachine<'a>,
        cpus: &CpuSplit,
        pitot: &'a str,
    ) -> Result<Hosts<'a>, Failure> {
        let mut links: Vec<Link> = Vec::new();
        let mut at = [None, None];
        let both = plan.server_host == plan.load_host;
        let sides = [(&plan.server_host, &cpus.server), (&plan.load_host, &cpus.load)];
        for (side, (name, own)) in sides.into_iter().enumerate() {
            let Some(host) = plan.host(name) else { continue };
            if side == 1 && both {
                at[1] = at[0];
                continue;
            }
            let others = if both { cpus.load.clone() } else { Vec::new() };
            let link = Link::new(&host.name, &host.agent, host.address, [own.clone(), others]);
            link.connect().map_err(|why| {
                Failure::run(
                    why,
                    "try the command of its `agent` by hand: it waits in silence (docs/agent.md)",
                )
            })?;
            at[side] = Some(links.len());
            links.push(link);
        }
        Ok(Hosts { here, links, at, folders: RefCell::default(), pitot })
    }

    fn side(&self, at: Option<usize>) -> Side<'_> {
        match at.map(|at| &self.links[at]) {
            Some(link) => Side { executor: Box::new(Remote::new(link, self.pitot)), link: Some(link) },
            None => Side { executor: self.here.executor(), link: None },
        }
    }
}

impl Machine for Hosts<'_> {
    fn executor(&self) -> Box<dyn Executor + '_> {
        let [server, load] = self.at;
        if server == load {
            return self.side(server).executor;
        }
        Box::new(Placed::new(self.side(server), self.side(load), &self.folders))
    }

    fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        match self.at[0] {
            Some(_) if !changes.is_empty() => {
                Err("settings of a host are changed only where the lab itself runs beside the server".into())
            }
            Some(_) => Ok(()),
            None => self.here.set_host(changes),
        }
    }

    fn memory_total_bytes(&self) -> u64 {
        let server = self.at[0].and_then(|at| self.links[at].memory_total_bytes());
        server.unwrap_or_else(memory_total_bytes)
    }

    fn hosts(&self) -> Vec<HostRecord> {
        let does = |at: usize| match self.at.map(|side| side == Some(at)) {
            [true, true] => "server and load",
            [true, false] => "server",
            _ => "load",
        };
        self.links.iter().enumerate().map(|(at, link)| link.record(does(at))).collect()
    }
}

/// The run file has them all.
const DIFFERENCES_SHOWN: usize = 12;

/// Whether a fact says which machine it is, or belongs to one of its network interfaces by name: it differs between any two.
fn is_of_one_host(name: &str) -> bool {
    let interface =
        [".conf.", ".neigh."].iter().find_map(|table| name.split_once(table)).map(|(_, rest)| rest);
    ["host name", "kernel command line"].contains(&name)
        || interface.is_some_and(|rest| !rest.starts_with("all.") && !rest.starts_with("default."))
}

/// What the reader of a report should know of the hosts: their clocks, and in what they differ.
pub(super) fn sentences(hosts: &[HostRecord]) -> Vec<String> {
    let one = |host: &HostRecord| {
        format!(
            "The {} ran on the host `{}`. Its clock was {:+.3} ms from the lab's, to within {:.3} ms, and a question to \
             its agent took {:.3} ms.",
            host.does,
            host.name,
            host.clock_offset_ns as f64 / 1e6,
            host.clock_error_ns as f64 / 1e6,
            host.round_trip_ns as f64 / 1e6,
        )
    };
    let mut all: Vec<String> = hosts.iter().map(one).collect();
    if let [first, second] = hosts {
        let differences: Vec<String> = first
            .facts
            .changes_to(&second.facts)
            .iter()
            .filter(|change| !is_of_one_host(&change.name))
            .map(|change| {
                let of = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
                format!("{} {}: {} and {}", change.group, change.name, of(&change.before), of(&change.after))
            })
            .collect();
        all.push(match differences.is_empty() {
            true => format!("The hosts `{}` and `{}` are set alike.", first.name, second.name),
            false => {
                let more = differences.len().saturating_sub(DIFFERENCES_SHOWN);
                let more = if more == 0 { String::new() } else { format!("; and {more} facts more") };
                let shown = &differences[..differences.len().min(DIFFERENCES_SHOWN)];
                format!(
                    "The hosts `{}` and `{}` differ in {}{more}.",
                    first.name,
                    second.name,
                    shown.join("; ")
                )
            }
        });
    }
    all
}
