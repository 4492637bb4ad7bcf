//! What a run file holds, as types.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{Fingerprint, HostChange, Levels, LoadResult, Plan};

/// A whole run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it was read from.
    pub path: PathBuf,
    /// Who, when, with what.
    pub info: RunInfo,
    /// The plan.
    pub plan: Plan,
    /// The machine before the first repetition.
    pub host_before: Fingerprint,
    /// The machine after the last one; none while the run is under way or after a crash.
    pub host_after: Option<Fingerprint>,
    /// What changed in between; empty if nothing did or if there is no `host_after`.
    pub host_changes: Vec<HostChange>,
    /// The cells in the order of the plan, those without a repetition yet included.
    pub cells: Vec<CellRecord>,
    /// Combinations that did not become cells, with the reason.
    pub skips: Vec<SkipRecord>,
}

impl Run {
    /// True once every repetition of every cell is in the file.
    pub fn is_complete(&self) -> bool {
        self.cells.iter().all(|c| c.repetitions.len() >= self.plan.repetitions as usize)
    }

    /// The cells that a selection of levels names.
    pub fn cells_matching<'a>(&'a self, levels: &'a Levels) -> impl Iterator<Item = &'a CellRecord> {
        self.cells.iter().filter(|c| levels.matches(&c.factors))
    }

    /// The baseline that `cell` is to be compared with: the cell that has the plan's baseline levels and agrees with
    /// `cell` in every factor that the baseline does not name. None for a baseline cell itself.
    pub fn baseline_of(&self, cell: &CellRecord) -> Option<&CellRecord> {
        let baseline = self.plan.baseline.as_ref()?;
        if baseline.matches(&cell.factors) {
            return None;
        }
        self.counterpart(cell, baseline)
    }

    /// The cell that has `levels` and agrees with `cell` in every factor that `levels` does not name.
    pub fn counterpart(&self, cell: &CellRecord, levels: &Levels) -> Option<&CellRecord> {
        self.cells.iter().filter(|c| levels.matches(&c.factors)).find(|other| {
            other.factors.iter().zip(&cell.factors).all(|(a, b)| {
                debug_assert_eq!(a.name, b.name, "all cells of a run have the same factors");
                a.level == b.level || levels.0.iter().any(|(name, _)| *name == a.name)
            })
        })
    }
}

/// Who, when, with what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// Version of the file's layout, as it was written.
    pub schema_version: u32,
    /// Random, so that copies and comparisons of a run with itself are recognised.
    pub id: String,
    /// The command line that started it.
    pub command_line: String,
    /// Version of Pitot.
    pub version: String,
    /// The seed of the order.
    pub seed: u64,
    /// RFC 3339.
    pub started_at: String,
    /// RFC 3339; none while the run is under way or after a crash.
    pub ended_at: Option<String>,
    /// How it ended.
    pub state: RunState,
    /// CPUs of the servers, as a list: `0-3`.
    pub server_cpus: String,
    /// CPUs of the load generator.
    pub load_cpus: String,
    /// What the runner wants the reader to know of this run: one CPU only, clocks that stood still ...
    pub warnings: Vec<String>,
    /// The plan as its author wrote it.
    pub plan_source: String,
    /// Versions of the servers: name, what it said.
    pub server_versions: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    /// It is under way, or was killed: what is there is whole, the rest can be resumed.
    #[default]
    Running,
    /// All repetitions are there.
    Complete,
    /// It was stopped by its user; it can be resumed.
    Interrupted,
}

/// A factor's level in one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactorLevel {
    /// The factor: `server`, `load.connections`.
    pub name: String,
    /// The level as the plan spells it.
    pub level: String,
    /// The level as a number, for an axis: counts (`10k`), sizes (`4KiB`, bytes), durations (`2ms`, seconds). None
    /// for words.
    pub number: Option<f64>,
}

impl FactorLevel {
    /// A level, with its number if it has one.
    pub fn new(name: &str, level: &str) -> FactorLevel {
        FactorLevel { name: name.into(), level: level.into(), number: crate::units::number(level) }
    }
}

/// The levels joined.
pub(crate) fn label(factors: &[FactorLevel]) -> String {
    factors.iter().map(|f| f.level.as_str()).collect::<Vec<_>>().join(", ")
}

/// One cell: a combination of levels with its repetitions.
#[derive(Clone, Debug)]
pub struct CellRecord {
    /// Its row in the file.
    pub id: i64,
    /// The levels, in the order of the plan's factors: the same factors in every cell of a run.
    pub factors: Vec<FactorLevel>,
    /// The server's command, with a port that can be typed.
    pub server_command: String,
    /// The load generator's command, likewise.
    pub load_command: String,
    /// The repetitions that were run, in the order of their blocks.
    pub repetitions: Vec<Repetition>,
}

impl CellRecord {
    /// The level of a factor.
    pub fn level(&self, factor: &str) -> Option<&FactorLevel> {
        self.factors.iter().find(|f| f.name == factor)
    }

    /// The levels joined, such as `loop+epoll-et, 1000`: unique within a run.
    pub fn label(&self) -> String {
        label(&self.factors)
    }

    /// The figures of a metric (see [`METRICS`](crate::METRICS)) with their blocks, from all repetitions that did
    /// not fail and have one.
    pub fn figures(&self, metric: &crate::Metric) -> Vec<(u32, f64)> {
        self.repetitions
            .iter()
            .filter(|r| r.verdict.kind != VerdictKind::Failed)
            .filter_map(|r| Some((r.block, (metric.read)(r)?)))
            .collect()
    }

    /// The repetitions that failed. Their figures are in none of the cell's.
    pub fn failures(&self) -> impl Iterator<Item = &Repetition> {
        self.repetitions.iter().filter(|r| r.verdict.kind == VerdictKind::Failed)
    }

    /// `2 of 6 failed`, if some did.
    pub fn failures_in_words(&self) -> Option<String> {
        let failed = self.failures().count();
        (failed > 0).then(|| format!("{failed} of {} failed", self.repetitions.len()))
    }

    /// The verdict on the whole cell. It `failed` if more than a third of its repetitions did: what is left then tells
    /// of the lucky ones. Otherwise it is the gravest verdict that at least a third of the good repetitions share (a
    /// single disturbed one is what medians are for). The reason always tells of failures first.
    pub fn verdict(&self) -> Verdict {
        let total = self.repetitions.len();
        let failed = self.failures().count();
        let failure = self.failures().next().map(|first| {
            let reason = format!("{failed} of {total} repetitions failed: {}", first.verdict.reason);
            Verdict { kind: VerdictKind::Failed, reason, figures: first.verdict.figures.clone() }
        });
        let grave = [VerdictKind::Noisy, VerdictKind::NetworkBound, VerdictKind::ClientBound];
        let other = grave.into_iter().find_map(|kind| {
            let mut bearers = self.repetitions.iter().map(|r| &r.verdict).filter(|v| v.kind == kind);
            let first = bearers.next()?;
            let count = 1 + bearers.count();
            let reason = format!("{count} of {total} repetitions: {}", first.reason);
            (count * 3 >= total - failed).then(|| Verdict { kind, reason, figures: first.figures.clone() })
        });
        match (failure, other) {
            (Some(failure), _) if failed * 3 > total => failure,
            (Some(failure), Some(other)) => {
                Verdict { reason: format!("{}; {}", failure.reason, other.reason), ..other }
            }
            (Some(failure), None) => Verdict { kind: VerdictKind::Valid, ..failure },
            (None, other) => other.unwrap_or_default(),
        }
    }
}

/// One repetition: a fresh server, a warm-up, a measurement.
#[derive(Clone, Debug)]
pub struct Repetition {
    /// Its row in the file.
    pub id: i64,
    /// Its block, from 0. Comparisons between cells are paired by block.
    pub block: u32,
    /// Its place in the order of the whole run, from 0.
    pub position: u32,
    /// When it started, RFC 3339.
    pub started_at: String,
    /// How long it took in all, start and stop included.
    pub elapsed_s: f64,
    /// The address that the server listened on.
    pub address: String,
    /// Time from the server's start until it was ready.
    pub ready_s: f64,
    /// Whether the measurement can be trusted.
    pub verdict: Verdict,
    /// What the load generator printed. None if it printed nothing that could be read.
    pub load: Option<LoadResult>,
    /// What the server printed when it stopped (`--stats json`).
    pub server_stats: Option<serde_json::Value>,
    /// Resources over the measured part. None if there was no measured part.
    pub resources: Option<Resources>,
    /// The last lines that the server and the load generator printed, where something went wrong.
    pub last_words: String,
    /// The monitor's samples, oldest first, from before the load until after it.
    pub samples: Vec<Sample>,
}

/// Whether a measurement can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// The sentence behind it; empty for `valid`.
    pub reason: String,
    /// The figures that it was drawn from, all of them whatever the verdict: name with its unit, value.
    pub figures: Vec<(String, f64)>,
}

/// The words of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The figures tell of the server.
    #[default]
    Valid,
    /// The load generator was the bottleneck: the server could do more.
    ClientBound,
    /// The network was: retransmits, drops.
    NetworkBound,
    /// Something else used the server's CPUs, or the machine withheld them.
    Noisy,
    /// The server or the load generator died, hung or answered nothing right.
    Failed,
}

impl VerdictKind {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            VerdictKind::Valid => "valid",
            VerdictKind::ClientBound => "client-bound",
            VerdictKind::NetworkBound => "network-bound",
            VerdictKind::Noisy => "noisy",
            VerdictKind::Failed => "failed",
        }
    }

    /// The verdict of that word.
    pub fn from_name(name: &str) -> Option<VerdictKind> {
        use VerdictKind::*;
        [Valid, ClientBound, NetworkBound, Noisy, Failed].into_iter().find(|v| v.name() == name)
    }
}

/// Resources over the measured part of a repetition. Times are sums over all processes or CPUs that are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Length of the part that these figures cover: the samples nearest to the measured part.
    pub window_s: f64,
    /// Samples within it.
    pub samples: u32,
    /// CPU time of the server's process tree.
    pub server_cpu_s: f64,
    /// Its part in user mode.
    pub server_user_s: f64,
    /// Its part in the kernel, softirq excluded.
    pub server_system_s: f64,
    /// Interrupt time (hard and soft) on the server's CPUs: on a loopback most of it is network work done for both.
    pub server_softirq_s: f64,
    /// Time that the server's threads were runnable and waited for a CPU.
    pub server_run_delay_s: f64,
    /// Most processes of the tree.
    pub server_processes_max: u64,
    /// Most threads of the tree.
    pub server_threads_max: u64,
    /// Most open descriptors of the tree.
    pub server_descriptors_max: u64,
    /// Most resident memory, pages shared between processes counted for each of them.
    pub server_rss_bytes_max: u64,
    /// Most resident memory with shared pages divided among their users. 0 if it could not be read.
    pub server_pss_bytes_max: u64,
    /// Resident memory (PSS, else RSS) of the tree when it was ready and before any load.
    pub server_idle_bytes: u64,
    /// Most memory of the tree that belongs to no file while the load was on. 0 if it could not be read.
    pub server_private_bytes_max: u64,
    /// The same when it was ready and before any load.
    pub server_private_bytes_idle: u64,
    /// Mean resident memory in the window.
    pub server_rss_bytes_mean: f64,
    /// Context switches of the server's tree.
    pub server_switches: u64,
    /// The involuntary ones among them.
    pub server_switches_involuntary: u64,
    /// CPU time of the load generator's process tree.
    pub load_cpu_s: f64,
    /// Time that the load generator's threads were runnable and waited for a CPU.
    pub load_run_delay_s: f64,
    /// How many CPUs the servers had.
    pub server_cpus: u32,
    /// How many CPUs the load generator had.
    pub load_cpus: u32,
    /// Busy time of the server's CPUs, whoever used them.
    pub server_cpus_busy_s: f64,
    /// Busy time of the load generator's CPUs.
    pub load_cpus_busy_s: f64,
    /// Time that the hypervisor withheld, on all CPUs of both.
    pub steal_s: f64,
    /// TCP segments that the machine sent again.
    pub tcp_retransmits: u64,
    /// Connections refused because an accept queue was full.
    pub listen_overflows: u64,
    /// SYNs dropped by listeners for whatever reason.
    pub listen_drops: u64,
    /// Physical memory of the machine.
    pub memory_total_bytes: u64,
    /// Share of one CPU that the monitor itself used.
    pub monitor_cpu_share: f64,
}

/// One sample of the monitor. Counters count from the repetition's first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub at_ns: u64,
    /// The server's process tree. None where it was too costly to walk at every sample (thousands of processes).
    pub server: Option<TreeSample>,
    /// The load generator's process tree; none before it starts and after it ends.
    pub load: Option<TreeSample>,
    /// The CPUs of the servers.
    pub server_cpus: CpuSample,
    /// The CPUs of the load generator.
    pub load_cpus: CpuSample,
    /// TCP segments sent again.
    pub tcp_retransmits: u64,
    /// Accept queue overflows.
    pub listen_overflows: u64,
    /// SYNs dropped by listeners.
    pub listen_drops: u64,
    /// Time that some task waited for a CPU (PSI), nanoseconds.
    pub pressure_cpu_ns: u64,
    /// Time that some task waited for memory (PSI).
    pub pressure_memory_ns: u64,
    /// Time that some task waited for a disk (PSI).
    pub pressure_io_ns: u64,
    /// What this sample cost the monitor, CPU nanoseconds.
    pub cost_ns: u64,
}

/// A process tree at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeSample {
    /// Processes.
    pub processes: u64,
    /// Threads.
    pub threads: u64,
    /// Open descriptors. None where they were not counted in this sample.
    pub descriptors: Option<u64>,
    /// CPU time.
    pub cpu_ns: u64,
    /// Its part in user mode.
    pub user_ns: u64,
    /// Its part in the kernel.
    pub system_ns: u64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Proportional resident memory. None where it was not read in this sample.
    pub pss_bytes: Option<u64>,
    /// Its part that belongs to no file: heaps, stacks, shared mappings. None where it was not read in this sample.
    pub private_bytes: Option<u64>,
    /// Time that threads were runnable and waited for a CPU. None, like the two after it, where the threads were not
    /// walked in this sample (there may be thousands).
    pub run_delay_ns: Option<u64>,
    /// Voluntary context switches.
    pub switches_voluntary: Option<u64>,
    /// Involuntary ones.
    pub switches_involuntary: Option<u64>,
}

/// CPU time of a set of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSample {
    /// User mode, nice included.
    pub user_ns: u64,
    /// Kernel mode without interrupts.
    pub system_ns: u64,
    /// Hard and soft interrupts.
    pub softirq_ns: u64,
    /// Withheld by the hypervisor.
    pub steal_ns: u64,
}

/// A combination of levels that did not become a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct SkipRecord {
    /// The levels.
    pub factors: Vec<FactorLevel>,
    /// Why.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repetition(block: u32, kind: VerdictKind) -> Repetition {
        Repetition {
            id: i64::from(block),
            block,
            position: block,
            started_at: String::new(),
            elapsed_s: 0.0,
            address: String::new(),
            ready_s: 0.0,
            verdict: Verdict { kind, reason: format!("because of {block}"), figures: Vec::new() },
            load: None,
            server_stats: None,
            resources: None,
            last_words: String::new(),
            samples: Vec::new(),
        }
    }

    fn cell(kinds: &[VerdictKind]) -> CellRecord {
        CellRecord {
            id: 1,
            factors: Vec::new(),
            server_command: String::new(),
            load_command: String::new(),
            repetitions: (0..).zip(kinds).map(|(block, kind)| repetition(block, *kind)).collect(),
        }
    }

    #[test]
    fn a_cell_is_noisy_with_a_third_of_its_repetitions() {
        use VerdictKind::*;
        assert_eq!(cell(&[Valid, Noisy, Valid, ClientBound, Noisy, Valid]).verdict().kind, Noisy);
        assert_eq!(cell(&[Valid, Noisy, Valid, ClientBound, Valid, ClientBound]).verdict().kind, ClientBound);
        assert_eq!(cell(&[Valid, Noisy, Valid, Valid]).verdict().kind, Valid);
        let reason = cell(&[Valid, Failed, Failed]).verdict().reason;
        assert_eq!(reason, "2 of 3 repetitions failed: because of 1");
    }

    #[test]
    fn a_cell_keeps_its_good_repetitions_and_tells_of_the_failed_ones() {
        use VerdictKind::*;
        let one = cell(&[Valid, Valid, Failed, Valid, Valid, Valid]);
        assert_eq!(one.verdict().kind, Valid);
        assert_eq!(one.verdict().reason, "1 of 6 repetitions failed: because of 2");
        assert_eq!(one.failures_in_words().as_deref(), Some("1 of 6 failed"));
        let disturbed = cell(&[Valid, Noisy, Failed, Noisy, Valid, Valid]).verdict();
        assert_eq!(disturbed.kind, Noisy);
        assert_eq!(
            disturbed.reason,
            "1 of 6 repetitions failed: because of 2; 2 of 6 repetitions: because of 1"
        );
        assert_eq!(cell(&[Valid, Failed, Failed, Valid, Valid, Valid]).verdict().kind, Valid);
        assert_eq!(cell(&[Valid, Failed, Failed, Failed, Valid, Valid]).verdict().kind, Failed);
        assert_eq!(cell(&[Failed]).verdict().kind, Failed);
        assert_eq!(cell(&[Valid, Valid]).failures_in_words(), None);
    }
}
