//! A plan, as plain data.

use pitot_fault::FaultPlan;
use pitot_host::CpuSplit;
use serde::{Deserialize, Serialize};

use super::host::SettingSet;
use super::hosts::{self, Host};
use super::kernels::KernelUse;
use super::levels::{Factor, Levels};
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
    /// A short name: the suite's, or the file's stem.
    pub name: String,
    /// The folder of its file, absolute, which `{plan}` stands for; none for a suite.
    pub folder: Option<String>,
    /// The headline of the report.
    pub title: String,
    /// The question that the run is to answer, in a sentence or two; the report opens with it.
    pub question: String,
    /// What a reader should know of the method: what differs from the published experiment, and why.
    pub notes: Vec<String>,
    /// How cells are measured.
    pub measure: Measure,
    /// How often the cells that are measured in slices get fresh servers. None: as often as the number of comparisons
    /// needs; a run file names the number that was chosen.
    pub generations: Option<u32>,
    /// Generations follow one another until every comparison of the metric is decided, for at most so many seconds. None:
    /// their number is fixed.
    pub until_decided_s: Option<f64>,
    /// Slices of each cell in a generation: an even number.
    pub slices: u32,
    /// Seconds of a slice. None: a pilot chooses, in each generation.
    pub slice_s: Option<f64>,
    /// How often each cell that is measured in fresh runs is repeated, each time with a fresh server process.
    pub repetitions: u32,
    /// Seconds of load before the measurement.
    pub warmup_s: f64,
    /// Seconds of measurement.
    pub duration_s: f64,
    /// In which order repetitions run.
    pub order: Order,
    /// The seed of the order; drawn anew where the plan names none, and recorded either way.
    pub seed: Option<u64>,
    /// How the repetitions of a cell become one figure.
    pub statistic: Statistic,
    /// Differences up to this share (0.02 is 2%) do not count, however significant.
    pub tolerance: f64,
    /// The figure that answers the question: a name in `METRICS` of the record.
    pub metric: String,
    /// The cell or cells that others are compared with: levels of some factors. Cells that agree in all other
    /// factors are compared with each other. None: no cell is special.
    pub baseline: Option<Levels>,
    /// Whether what is compared has to answer alike.
    pub replies: Replies,
    /// What the machine is checked for before anything runs.
    pub needs: Option<Subject>,
    /// Metrics that the report shows besides those that it always shows.
    pub columns: Vec<String>,
    /// The charts wanted, in order; empty leaves the choice to the report.
    pub charts: Vec<String>,
    /// The factors, in the order of the file; the last one varies fastest.
    pub factors: Vec<Factor>,
    /// Options of `pitot serve` that all cells share.
    pub server: Settings,
    /// Settings that all targets share that have them.
    pub target: Settings,
    /// Options of `pitot load` that all cells share.
    pub load: Settings,
    /// The subcommand that runs in place of `pitot load`.
    pub program: Option<String>,
    /// Helpers of the load that are started before it, on its side: `pitot serve` by name.
    #[serde(alias = "beside")] // Its name up to layout 2 of the run file.
    pub helpers: Vec<Helper>,
    /// Servers described in the plan, by the names that levels use.
    pub servers: Vec<ServerSpec>,
    /// Settings of the host, by the names that levels use.
    pub settings: Vec<SettingSet>,
    /// Kernels, by the names that levels use.
    pub kernels: Vec<KernelUse>,
    /// Files written to each server's private directory before it starts.
    pub files: Vec<PlanFile>,
    /// Combinations that are left out on purpose.
    pub exclude: Vec<Exclusion>,
    /// Figures published by others, to be shown with those of this run.
    pub published: Vec<Published>,
    /// Seconds that a server may take until it is ready.
    pub ready_timeout_s: f64,
    /// Seconds that a server may take to stop.
    pub stop_timeout_s: f64,
    /// What is done to the server while it is under load.
    pub faults: Vec<FaultPlan>,
    /// A resolver of names stands before each server is started, also where no fault is made there yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_resolver: bool,
    /// The directory in which servers keep what they acknowledge, where that is looked for; may name `{dir}`.
    pub keeps: Option<String>,
    /// How `pitot soak` runs it.
    pub soak: SoakPlan,
    /// CPUs of the servers as a list (`0-3,8`); one half of the cores if none.
    pub server_cpus: Option<String>,
    /// CPUs of the load generator; the other half if none.
    pub load_cpus: Option<String>,
    /// Hosts other than the lab's own.
    pub hosts: Vec<Host>,
    /// Where the servers are, by the name of a host; here if none.
    pub server_host: Option<String>,
    /// Where the load is: on several hosts each does an equal part. Here if none.
    #[serde(alias = "load-host", deserialize_with = "hosts::one_or_many")] // Once it was one at most.
    pub load_hosts: Vec<String>,
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
            slices: 8,
            slice_s: None,
            repetitions: 8,
            warmup_s: 0.5,
            duration_s: 3.0,
            order: Order::Interleaved,
            seed: None,
            statistic: Statistic::Median,
            tolerance: 0.02,
            metric: "throughput".into(),
            baseline: None,
            replies: Replies::Alike,
            needs: None,
            columns: Vec::new(),
            charts: Vec::new(),
            factors: Vec::new(),
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
            ready_timeout_s: 10.0,
            stop_timeout_s: 10.0,
            faults: Vec::new(),
            has_resolver: false,
            keeps: None,
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
    /// The host of that name; none if it is the lab's own.
    pub fn host(&self, name: Option<&str>) -> Option<&Host> {
        self.hosts.iter().find(|host| Some(host.name.as_str()) == name)
    }

    /// A server on a system without an agent, if the plan has one.
    pub fn foreign_server(&self) -> Option<&ServerSpec> {
        let is_foreign = |s: &&ServerSpec| matches!(&s.program, Program::External(p) if p.foreign.is_some());
        self.servers.iter().find(is_foreign)
    }

    /// The hosts of the load; none if it is on the lab's own.
    pub fn load_hosts(&self) -> impl Iterator<Item = &Host> {
        self.load_hosts.iter().filter_map(|name| self.host(Some(name)))
    }

    /// The CPUs of the load on each of its hosts.
    pub fn cpus_of_load(&self) -> Vec<Vec<usize>> {
        self.load_hosts().map(|host| host.cpus_named(self.load_cpus.as_deref())).collect()
    }

    /// The CPUs of the plan's hosts, in place of those of this machine where a side is on another. Of several load hosts they are
    /// those of the first.
    pub fn cpus(&self, here: CpuSplit) -> CpuSplit {
        let server = self.host(self.server_host.as_deref());
        CpuSplit {
            server: server.map_or(here.server, |host| host.cpus_named(self.server_cpus.as_deref())),
            load: self.cpus_of_load().into_iter().next().unwrap_or(here.load),
        }
    }

    /// The CPUs of the load by numbers that no CPU of the server's host has, if the load is on other hosts. `here` are those on
    /// the lab's own machine.
    pub fn cpus_apart(&self, here: &[usize]) -> Vec<usize> {
        let of_hosts = self.cpus_of_load();
        let lists = if of_hosts.is_empty() { vec![here.to_vec()] } else { of_hosts };
        let apart = |(host, list): (usize, Vec<usize>)| {
            list.into_iter().map(move |cpu| cpu + (host + 1) * hosts::CPUS_APART).collect::<Vec<_>>()
        };
        lists.into_iter().enumerate().flat_map(apart).collect()
    }

    /// What of a plan with hosts is on the lab's own machine, if the other side is elsewhere.
    pub fn side_here(&self) -> Option<&'static str> {
        match (&self.server_host, &self.load_hosts[..]) {
            (None, [_, ..]) => Some("server"),
            (Some(_), []) => Some("load"),
            _ => None,
        }
    }

    /// Whether server and load are on the same host, the lab's own or another.
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
    /// All cells that are compared at the same time: their servers are kept up side by side and loaded in turn, for a
    /// slice of time each. A cell for which this is impossible is measured in fresh runs, with the reason recorded.
    Slices,
}

/// Whether cells that are asked for the same have to answer alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// One whose replies have another content than most does other work, and wins nothing.
    #[default]
    Alike,
    /// They may differ: compression is compared, or what is cached.
    MayDiffer,
}

/// In which order repetitions run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Block by block: each block holds every cell once, shuffled, so that a drift of the machine hits all alike.
    #[default]
    Interleaved,
    /// Cell by cell, in the order of the plan.
    Sequential,
}
