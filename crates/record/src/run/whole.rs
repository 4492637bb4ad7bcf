//! A recorded run.

use std::path::PathBuf;

use super::cell::CellRecord;
use super::host::HostRecord;
use pitot_host::{Fingerprint, HostChange};
use pitot_plan::{Levels, Measure, Plan, SkipRecord};
use pitot_results::floor::FloorRequest;

/// A whole run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its metadata.
    pub info: RunInfo,
    /// The plan.
    pub plan: Plan,
    /// The machine before the first repetition.
    pub host_before: Fingerprint,
    /// The machine after the last repetition; none while the run is running or after a crash.
    pub host_after: Option<Fingerprint>,
    /// Changes of the machine; empty if there are none or no `host_after`.
    pub host_changes: Vec<HostChange>,
    /// The hosts other than the lab's.
    pub hosts: Vec<HostRecord>,
    /// The cells in the order of the plan, including those without a repetition.
    pub cells: Vec<CellRecord>,
    /// A/A controls: second copies of baseline cells, which show the difference of two equal servers.
    pub controls: Vec<CellRecord>,
    /// Combinations that did not become cells, with the reason.
    pub skips: Vec<SkipRecord>,
    /// The floor of its requests on the same machine, if the reader has one; it is not in the file.
    pub floor: Option<FloorRequest>,
}

impl Run {
    /// True once every repetition of every cell is in the file.
    pub fn is_complete(&self) -> bool {
        self.cells.iter().all(|c| c.repetitions.len() >= self.repetitions_of(c) as usize)
    }

    /// The planned number of repetitions or generations of a cell. A run until decided has as many as it took.
    pub fn repetitions_of(&self, cell: &CellRecord) -> u32 {
        match cell.measure {
            Measure::Fresh => self.plan.repetitions,
            Measure::Slices => self.plan.generations.unwrap_or(1),
        }
    }

    /// True if some cell is measured in slices.
    pub fn is_sliced(&self) -> bool {
        self.cells.iter().any(|c| c.measure == Measure::Slices)
    }

    /// The A/A control of a baseline cell.
    pub fn control_of(&self, cell: &CellRecord) -> Option<&CellRecord> {
        self.controls.iter().find(|control| control.control_of == Some(cell.id))
    }

    /// The hosts, preceded by the lab's machine if it had the server or the load.
    pub fn hosts_side_by_side(&self) -> Vec<HostRecord> {
        let own = self.plan.side_here().filter(|_| !self.hosts.is_empty());
        let own = own.map(|does| HostRecord::own(does, &self.host_before));
        own.into_iter().chain(self.hosts.iter().cloned()).collect()
    }

    /// Removes what should not be passed on with a report: the host's name and the kernel's command line. The file keeps
    /// them.
    pub fn withhold_private_facts(&mut self) {
        let of_hosts = self
            .hosts
            .iter_mut()
            .flat_map(|host| std::iter::once(&mut host.facts).chain(&mut host.facts_after));
        for print in std::iter::once(&mut self.host_before).chain(&mut self.host_after).chain(of_hosts) {
            print.withhold_private_facts();
        }
        self.host_changes.retain(|change| !Fingerprint::is_private(&change.name));
    }

    /// The baseline of `cell`: the cell with the plan's baseline levels and otherwise the same levels as `cell`. None for
    /// a baseline cell.
    pub fn baseline_of(&self, cell: &CellRecord) -> Option<&CellRecord> {
        let baseline = self.plan.baseline.as_ref()?;
        if baseline.matches(&cell.factors) {
            return None;
        }
        self.counterpart(cell, baseline)
    }

    /// The cell that has `levels` and otherwise the same levels as `cell`.
    pub fn counterpart(&self, cell: &CellRecord, levels: &Levels) -> Option<&CellRecord> {
        self.cells.iter().filter(|c| levels.matches(&c.factors)).find(|other| {
            other.factors.iter().zip(&cell.factors).all(|(a, b)| {
                debug_assert_eq!(a.name, b.name, "all cells of a run have the same factors");
                a.level == b.level || levels.0.iter().any(|(name, _)| *name == a.name)
            })
        })
    }
}

/// Metadata of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// Version of the file's layout.
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
    /// RFC 3339; none while the run is running or after a crash.
    pub ended_at: Option<String>,
    /// How it ended.
    pub state: RunState,
    /// CPUs of the servers, as a list: `0-3`.
    pub server_cpus: String,
    /// CPUs of the load generator.
    pub load_cpus: String,
    /// Warnings for the reader: a shared CPU, a machine that changed ...
    pub warnings: Vec<String>,
    /// The plan as its author wrote it.
    pub plan_source: String,
    /// Versions of the servers: the name, and what its version command printed.
    pub server_versions: Vec<(String, String)>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    /// It is running or was killed. The file is consistent and can be resumed.
    #[default]
    Running,
    /// All repetitions are recorded.
    Complete,
    /// The user stopped it; it can be resumed.
    Interrupted,
}

impl RunState {
    const ALL: [RunState; 3] = [RunState::Running, RunState::Complete, RunState::Interrupted];

    /// The word for it in the file and in JSON.
    pub fn word(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Complete => "complete",
            RunState::Interrupted => "interrupted",
        }
    }

    /// The state with that word; an unknown word counts as running.
    pub(crate) fn of(word: &str) -> RunState {
        RunState::ALL.into_iter().find(|state| state.word() == word).unwrap_or_default()
    }
}
