//! A plan, as plain data.

use pitot_fault::FaultPlan;
use pitot_host::CpuSplit;
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::host::SettingSet;
use super::hosts::{self, Host};
use super::kernels::KernelUse;
use super::levels::{Factor, FactorLevel, Levels};
use super::published::{Exclusion, Published};
use super::server::{Helper, PlanFile, Program, ServerSpec};
use super::soak::SoakPlan;
use super::value::Settings;
use pitot_host::check::Subject;
use pitot_stats::Statistic;

/// A plan, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Plan {
    /// The suite's name, or the file's stem.
    pub name: String,
    /// The absolute folder of its file, for `{plan}`; none for a suite.
    pub folder: Option<String>,
    /// The headline of the report.
    pub title: String,
    /// The question that the run answers; the report opens with it.
    pub question: String,
    /// Notes on the method: what differs from the published experiment, and why.
    pub notes: Vec<String>,
    /// How cells are measured.
    pub measure: Measure,
    /// How many generations there are. None: as many as the number of comparisons needs; a run file has the number
    /// that was chosen.
    pub generations: Option<u32>,
    /// New generations start until every comparison of the metric is decided, for at most so many seconds. None: their
    /// number is fixed.
    pub until_decided_s: Option<f64>,
    /// Such a run has ended because its time was over, and not because all was decided.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub time_was_over: bool,
    /// Slices of each cell in a generation; even.
    pub slices: u32,
    /// Seconds of a slice. None: a pilot in each generation chooses.
    pub slice_s: Option<f64>,
    /// Repetitions of each cell in fresh runs, each with a fresh server process.
    pub repetitions: u32,
    /// Seconds of load before the measurement.
    pub warmup_s: f64,
    /// Seconds of measurement.
    pub duration_s: f64,
    /// Estimated seconds of a load that ends when its work is done.
    pub untimed_s: f64,
    /// The order of repetitions.
    pub order: Order,
    /// The seed of the order. None: a random one, which is recorded.
    pub seed: Option<u64>,
    /// How the repetitions of a cell are combined into one figure.
    pub statistic: Statistic,
    /// The tolerance: differences up to this share (0.02 is 2%) are not reported.
    pub tolerance: f64,
    /// The metric that answers the question.
    pub metric: String,
    /// The levels of the cells that others are compared with. Cells that agree in all other factors are compared with
    /// each other. None: there is no baseline.
    pub baseline: Option<Levels>,
    /// The levels of the cells that never change: what is compared with other runs is compared by the ratio to them. None: the baseline
    /// takes their place.
    pub reference: Option<Levels>,
    /// Whether the replies of compared cells must have the same content.
    pub replies: Replies,
    /// What is sampled in slices of their own.
    pub profile: Vec<Profiled>,
    /// What the run is known by beside others, as names and values: `commit`, `commit-time` ...
    pub labels: Vec<(String, String)>,
    /// What the machine is checked for before the run.
    pub needs: Option<Subject>,
    /// Additional metrics in the report.
    pub columns: Vec<String>,
    /// The charts of the report, in order; if empty, the report chooses.
    pub charts: Vec<String>,
    /// The factors, in the order of the file; the last one varies fastest.
    pub factors: Vec<Factor>,
    /// Levels that factors had before `--set` named others, which rules of the plan may still name.
    pub left_out: Vec<Factor>,
    /// Options of `pitot serve` that all cells share.
    pub server: Settings,
    /// Settings of all targets that have them.
    pub target: Settings,
    /// Options of `pitot load` that all cells share.
    pub load: Settings,
    /// The subcommand that runs instead of `pitot load`.
    pub program: Option<String>,
    /// Helpers: `pitot serve` processes that are started before the load, on its side.
    pub helpers: Vec<Helper>,
    /// Servers described in the plan, by the names that levels use.
    pub servers: Vec<ServerSpec>,
    /// Settings of the host, by the names that levels use.
    pub settings: Vec<SettingSet>,
    /// Kernels, by the names that levels use.
    pub kernels: Vec<KernelUse>,
    /// Files written to each server's private directory before it starts.
    pub files: Vec<PlanFile>,
    /// Combinations that the plan leaves out.
    pub exclude: Vec<Exclusion>,
    /// Published figures that the report shows with those of this run.
    pub published: Vec<Published>,
    /// Claims of publications that the run decides.
    pub claim: Vec<Claim>,
    /// Timeout until a server is ready, seconds.
    pub ready_timeout_s: f64,
    /// Timeout until a server has stopped, seconds.
    pub stop_timeout_s: f64,
    /// Faults that are made while the server is under load.
    pub faults: Vec<FaultPlan>,
    /// A resolver is started before each server, even if no DNS fault is active yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_resolver: bool,
    /// The directory in which the durability check looks for what servers acknowledged; may contain `{dir}`.
    pub durability: Option<String>,
    /// How `pitot soak` runs it.
    pub soak: SoakPlan,
    /// CPUs of the servers as a list (`0-3,8`); one half of the cores if none.
    pub server_cpus: Option<String>,
    /// CPUs of the load generator; the other half of the cores if none.
    pub load_cpus: Option<String>,
    /// Hosts other than this machine.
    pub hosts: Vec<Host>,
    /// The host of the servers; this machine if none.
    pub server_host: Option<String>,
    /// The hosts of the load, each with an equal part; this machine if none.
    pub load_hosts: Vec<String>,
}

impl Plan {
    /// Whether a cell is the reference, and nothing that is compared for its own sake.
    pub fn is_reference(&self, factors: &[FactorLevel]) -> bool {
        self.reference.as_ref().is_some_and(|levels| levels.matches(factors))
    }
}

/// What a profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profiled {
    /// Where the CPU time goes, by function.
    #[default]
    Cpu,
    /// Where threads wait, by function.
    OffCpu,
    /// What the CPU, the scheduler and the memory count.
    Counters,
    /// System calls, by name.
    Calls,
}

impl Profiled {
    /// All, and their words.
    pub const ALL: [(&'static str, Profiled); 4] = [
        ("cpu", Profiled::Cpu),
        ("off-cpu", Profiled::OffCpu),
        ("counters", Profiled::Counters),
        ("calls", Profiled::Calls),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Profiled::ALL.iter().find(|(_, what)| *what == self).map_or("", |(word, _)| word)
    }

    /// What a word stands for.
    pub fn of_word(word: &str) -> Option<Profiled> {
        Profiled::ALL.iter().find(|(of, _)| *of == word).map(|(_, what)| *what)
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            name: String::new(),
            folder: None,
            title: String::new(),
            question: String::new(),
            notes: Vec::new(),
            measure: Measure::Fresh,
            generations: None,
            until_decided_s: None,
            time_was_over: false,
            slices: 8,
            slice_s: None,
            repetitions: 8,
            warmup_s: 0.5,
            duration_s: 3.0,
            untimed_s: 0.5,
            order: Order::Interleaved,
            seed: None,
            statistic: Statistic::Median,
            tolerance: 0.02,
            metric: "throughput".into(),
            baseline: None,
            reference: None,
            replies: Replies::Alike,
            profile: Vec::new(),
            labels: Vec::new(),
            needs: None,
            columns: Vec::new(),
            charts: Vec::new(),
            factors: Vec::new(),
            left_out: Vec::new(),
            server: Settings::default(),
            target: Settings::default(),
            load: Settings::default(),
            program: None,
            helpers: Vec::new(),
            servers: Vec::new(),
            settings: Vec::new(),
            kernels: Vec::new(),
            files: Vec::new(),
            exclude: Vec::new(),
            published: Vec::new(),
            claim: Vec::new(),
            ready_timeout_s: 10.0,
            stop_timeout_s: 10.0,
            faults: Vec::new(),
            has_resolver: false,
            durability: None,
            soak: SoakPlan::default(),
            server_cpus: None,
            load_cpus: None,
            hosts: Vec::new(),
            server_host: None,
            load_hosts: Vec::new(),
        }
    }
}

impl Plan {
    /// The host of that name; none if it is this machine.
    pub fn host(&self, name: Option<&str>) -> Option<&Host> {
        self.hosts.iter().find(|host| Some(host.name.as_str()) == name)
    }

    /// A server on a system without an agent, if the plan has one.
    pub fn foreign_server(&self) -> Option<&ServerSpec> {
        let is_foreign = |s: &&ServerSpec| matches!(&s.program, Program::External(p) if p.foreign.is_some());
        self.servers.iter().find(is_foreign)
    }

    /// The hosts of the load; none if it is this machine.
    pub fn load_hosts(&self) -> impl Iterator<Item = &Host> {
        self.load_hosts.iter().filter_map(|name| self.host(Some(name)))
    }

    /// The CPUs of the load on each of its hosts.
    pub fn cpus_of_load(&self) -> Vec<Vec<usize>> {
        self.load_hosts().map(|host| host.cpus_named(self.load_cpus.as_deref())).collect()
    }

    /// The CPUs of each side on its host; `here` for a side on this machine. With several load hosts, those of the first.
    pub fn cpus(&self, here: CpuSplit) -> CpuSplit {
        let server = self.host(self.server_host.as_deref());
        CpuSplit {
            server: server.map_or(here.server, |host| host.cpus_named(self.server_cpus.as_deref())),
            load: self.cpus_of_load().into_iter().next().unwrap_or(here.load),
        }
    }

    /// The CPUs of the load on all of its hosts, numbered apart from those of the server's host by `CPUS_APART`. `here`
    /// are those on this machine.
    pub fn cpus_apart(&self, here: &[usize]) -> Vec<usize> {
        let of_hosts = self.cpus_of_load();
        let lists = if of_hosts.is_empty() { vec![here.to_vec()] } else { of_hosts };
        let apart = |(host, list): (usize, Vec<usize>)| {
            list.into_iter().map(move |cpu| cpu + (host + 1) * hosts::CPUS_APART).collect::<Vec<_>>()
        };
        lists.into_iter().enumerate().flat_map(apart).collect()
    }

    /// The side that is on this machine, if the other is on a host.
    pub fn side_here(&self) -> Option<&'static str> {
        match (&self.server_host, &self.load_hosts[..]) {
            (None, [_, ..]) => Some("server"),
            (Some(_), []) => Some("load"),
            _ => None,
        }
    }

    /// Whether server and load are on the same host.
    pub fn is_on_one_host(&self) -> bool {
        self.load_hosts.iter().map(String::as_str).eq(self.server_host.as_deref())
    }
}

/// How cells are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// One cell after the other: a fresh server, a warm-up, one measurement.
    #[default]
    Fresh,
    /// All compared cells at the same time: their servers stay up and are loaded in turn, for a slice of time each. A
    /// cell that cannot be sliced is measured in fresh runs, and the reason is recorded.
    Slices,
}

/// Whether cells with the same request must send the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// A cell whose replies differ from those of most cells is not ranked.
    #[default]
    Alike,
    /// Replies may differ, for instance to compare compression.
    MayDiffer,
}

/// The order of repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Block by block: each block has every cell once, shuffled, so that drift of the machine affects all cells alike.
    #[default]
    Interleaved,
    /// Cell by cell, in the order of the plan.
    Sequential,
}
