//! The hosts of a run: this machine, or hosts that a plan names.

mod answers;
mod link;
mod placed;
mod printed;
mod push;
mod remote;
mod samples;
mod several;
mod side;
mod wire;

use std::cell::RefCell;

use pitot_results::Failure;

use link::Link;
use placed::{Folders, Placed};
pub use push::push;
use remote::Remote;
use several::{Copies, Several};
use side::Side;
pub(super) use wire::to_reply;

use super::executor::{Executor, Machine};
use super::local::{Guardian, ThisMachine};
use super::prepare::Prepared;
use super::printed::Asked;
use pitot_host::setting::Change;
use pitot_host::{CpuSplit, memory_total_bytes, side_by_side};
use pitot_plan::{Host, Plan};
use pitot_record::HostRecord;

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
        // The CPUs of this process, which the run must not use otherwise.
        load: match prepared.plan.load_hosts.is_empty() {
            false => pitot_sys::affinity::allowed().unwrap_or_default(),
            true => cpus.load.clone(),
        },
    };
    let hosts = Hosts::reach(&prepared.plan, ThisMachine::new(guardian, &here), &cpus, pitot)?;
    run(prepared, &hosts)
}

/// This machine and the agents of other hosts.
struct Hosts<'a> {
    here: ThisMachine<'a>,
    links: Vec<Link>,
    /// The server's host; none for this machine.
    server: Option<usize>,
    /// The load's hosts with its CPUs there; empty for this machine.
    load: Vec<(usize, Vec<usize>)>,
    folders: Folders,
    copies: Copies,
    pitot: &'a str,
}

impl<'a> Hosts<'a> {
    fn reach(
        plan: &Plan,
        here: ThisMachine<'a>,
        cpus: &CpuSplit,
        pitot: &'a str,
    ) -> Result<Hosts<'a>, Failure> {
        let mut hosts = Hosts {
            here,
            links: Vec::new(),
            server: None,
            load: Vec::new(),
            folders: RefCell::default(),
            copies: RefCell::default(),
            pitot,
        };
        let both = plan.is_on_one_host();
        if let Some(host) = plan.host(plan.server_host.as_deref()) {
            let others = if both { cpus.load.clone() } else { Vec::new() };
            hosts.server = Some(hosts.link(host, [cpus.server.clone(), others])?);
        }
        for (host, own) in plan.load_hosts().zip(plan.cpus_of_load()) {
            let link = match hosts.server.filter(|_| both) {
                Some(link) => link,
                None => hosts.link(host, [own.clone(), Vec::new()])?,
            };
            hosts.load.push((link, own));
        }
        Ok(hosts)
    }

    /// Connects to a host. Returns the number of its link.
    fn link(&mut self, host: &Host, cpus: [Vec<usize>; 2]) -> Result<usize, Failure> {
        let link = Link::new(&host.name, &host.agent, host.address, cpus);
        link.connect().map_err(|why| {
            Failure::run(
                why,
                "run the command of its `agent` by hand: it should wait without output (docs/agent.md)",
            )
        })?;
        self.links.push(link);
        Ok(self.links.len() - 1)
    }

    fn side(&self, at: Option<usize>) -> Side<'_> {
        match at.map(|at| &self.links[at]) {
            Some(link) => Side { executor: Box::new(Remote::new(link, self.pitot)), link: Some(link) },
            None => Side { executor: self.here.executor(), link: None },
        }
    }

    /// The host of the load.
    fn load_side(&self) -> Side<'_> {
        match &self.load[..] {
            [] => self.side(None),
            [(only, _)] => self.side(Some(*only)),
            hosts => {
                let sides = hosts.iter().map(|(at, cpus)| (self.side(Some(*at)), cpus.clone()));
                let several = Several::new(sides.collect(), &self.copies);
                // Its times are those of the lab's clock.
                Side { executor: Box::new(several), link: None }
            }
        }
    }
}

impl Machine for Hosts<'_> {
    fn executor(&self) -> Box<dyn Executor + '_> {
        let is_on_one = match &self.load[..] {
            [] => self.server.is_none(),
            [(only, _)] => self.server == Some(*only),
            _ => false,
        };
        if is_on_one {
            return self.side(self.server).executor;
        }
        Box::new(Placed::new(self.side(self.server), self.load_side(), &self.folders))
    }

    fn set_host(&self, changes: &[Change]) -> Result<(), String> {
        match self.server {
            Some(_) if !changes.is_empty() => {
                Err("host settings can be changed only if the lab runs on the server's host".into())
            }
            Some(_) => Ok(()),
            None => self.here.set_host(changes),
        }
    }

    fn memory_total_bytes(&self) -> u64 {
        let server = self.server.and_then(|at| self.links[at].memory_total_bytes());
        server.unwrap_or_else(memory_total_bytes)
    }

    fn printed_by(&self, command: &Asked<'_>) -> Result<String, String> {
        match self.server {
            Some(at) => printed::printed_by(&mut Remote::new(&self.links[at], self.pitot), command),
            None => self.here.printed_by(command),
        }
    }

    fn hosts(&self) -> Vec<HostRecord> {
        let does = |at: usize| match (self.server == Some(at), self.load.iter().any(|(load, _)| *load == at))
        {
            (true, true) => "server and load",
            (true, false) => "server",
            (false, _) => "load",
        };
        self.links.iter().enumerate().map(|(at, link)| link.record(does(at))).collect()
    }
}

/// The largest error of a clock as a share of a measurement, far below the tolerance of any plan.
const CLOCK_ERROR_MAX: f64 = 0.001;

/// Warnings about the hosts, most serious first: clocks too uncertain for measurements as short as `shortest_s`, and facts in which
/// hosts differ from each other and from this machine, if it has a side.
///
/// The offset of a clock does not matter, since all times are converted to the lab's. Its uncertainty does: the server's CPU time is
/// read that much before or after the load that it belongs to. The table of hosts has every clock.
pub(super) fn sentences(own: Option<HostRecord>, hosts: &[HostRecord], shortest_s: f64) -> Vec<String> {
    let is_uncertain = |host: &&HostRecord| host.clock_error_ns as f64 / 1e9 > CLOCK_ERROR_MAX * shortest_s;
    let clock = |host: &HostRecord| {
        let error_s = host.clock_error_ns as f64 / 1e9;
        format!(
            "The clock of the host `{}` is known to within {:.3} ms, which is {:.1}% of a measurement of {shortest_s} s: its CPU \
             time is that uncertain. Measure for longer, or put the hosts nearer to each other.",
            host.name,
            error_s * 1e3,
            100.0 * error_s / shortest_s
        )
    };
    let mut all: Vec<String> = hosts.iter().filter(is_uncertain).map(clock).collect();
    let mut compared = own.iter().chain(hosts);
    if let (false, Some(first)) = (hosts.is_empty(), compared.next()) {
        all.extend(compared.filter_map(|other| difference(first, other)));
    }
    all
}

/// How a host differs from the first, in a sentence; the report has a table of all such facts.
fn difference(first: &HostRecord, other: &HostRecord) -> Option<String> {
    let rows = side_by_side(&[&first.facts, &other.facts]);
    let both = match first.is_own {
        true => format!("This machine and the host `{}`", other.name),
        false => format!("The hosts `{}` and `{}`", first.name, other.name),
    };
    match &rows[..] {
        [] => None,
        [one] => Some(format!("{both} differ in one fact: {} {}.", one.group, one.name)),
        [one, ..] => {
            Some(format!("{both} differ in {} facts, such as {} {}.", rows.len(), one.group, one.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use pitot_host::Fingerprint;

    use super::*;

    #[test]
    fn hosts_are_compared_with_the_labs_machine_where_that_has_a_side() {
        let print = |governor: &str| {
            let mut print = Fingerprint::default();
            print.push("cpu", "governor", governor);
            print
        };
        let host = |name: &str, governor: &str| HostRecord {
            name: name.into(),
            facts: print(governor),
            ..HostRecord::default()
        };
        let hosts = [host("b", "performance"), host("c", "powersave")];
        let own = HostRecord::own("server", &print("performance"));
        let of_lab = "This machine and the host `c` differ in one fact: cpu governor.";
        assert_eq!(sentences(Some(own.clone()), &hosts, 1.0), [of_lab]);
        let of_both = "The hosts `b` and `c` differ in one fact: cpu governor.";
        assert_eq!(sentences(None, &hosts, 1.0), [of_both]);
        assert!(sentences(Some(own), &[], 1.0).is_empty() && sentences(None, &hosts[..1], 1.0).is_empty());
    }

    #[test]
    fn a_clock_is_named_first_and_only_where_its_error_can_change_a_result() {
        let print = |governor: &str| {
            let mut print = Fingerprint::default();
            print.push("cpu", "governor", governor);
            print
        };
        let host = |name: &str, governor: &str, offset_ns: i64, error_ns: u64| HostRecord {
            name: name.into(),
            facts: print(governor),
            clock_offset_ns: offset_ns,
            clock_error_ns: error_ns,
            ..HostRecord::default()
        };
        // A microsecond of error, and an hour of offset, are nothing to a slice of 30 ms; a millisecond is.
        let alike = [host("b", "a", 1_000, 1_000), host("c", "a", 3_600_000_000_000, 1_000)];
        assert_eq!(sentences(None, &alike, 0.03), [""; 0]);
        let far = [host("b", "a", 0, 1_000_000), host("c", "b", 0, 1_000)];
        let said = sentences(None, &far, 0.03);
        assert!(said[0].contains("`b` is known to within 1.000 ms, which is 3.3% of"), "{said:?}");
        assert!(said.len() == 2 && said[1].contains("differ in one fact"), "{said:?}");
        assert_eq!(sentences(None, &far, 10.0).len(), 1);
    }
}
