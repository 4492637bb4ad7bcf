//! A whole run, as it is recorded.

use std::path::PathBuf;

use super::cell::CellRecord;
use super::host::HostRecord;
use pitot_host::{Fingerprint, HostChange};
use pitot_plan::{Levels, Measure, Plan, SkipRecord};
use pitot_results::floor::FloorRequest;

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
    /// The hosts other than the lab's own.
    pub hosts: Vec<HostRecord>,
    /// The cells in the order of the plan, those without a repetition yet included.
    pub cells: Vec<CellRecord>,
    /// Twins of baseline cells, which are measured like any cell: what the lab calls the difference of two equal servers.
    pub controls: Vec<CellRecord>,
    /// Combinations that did not become cells, with the reason.
    pub skips: Vec<SkipRecord>,
    /// The floor of its requests on the same machine, if whoever reads the run has named one; it is not in the file.
    pub floor: Option<FloorRequest>,
}

impl Run {
    /// True once every repetition of every cell is in the file.
    pub fn is_complete(&self) -> bool {
        self.cells.iter().all(|c| c.repetitions.len() >= self.repetitions_of(c) as usize)
    }

    /// How many repetitions or generations a cell is to have. A run that goes on until its comparisons are decided has
    /// as many as it took.
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

    /// The twin of a baseline cell.
    pub fn control_of(&self, cell: &CellRecord) -> Option<&CellRecord> {
        self.controls.iter().find(|control| control.control_of == Some(cell.id))
    }

    /// The hosts, with the lab's own machine before them where that had the server or the load.
    pub fn hosts_side_by_side(&self) -> Vec<HostRecord> {
        let own = self.plan.side_here().filter(|_| !self.hosts.is_empty());
        let own = own.map(|does| HostRecord::own(does, &self.host_before));
        own.into_iter().chain(self.hosts.iter().cloned()).collect()
    }

    /// Takes out what a person who passes a report on would give away unasked: the host's name and the kernel's command
    /// line. The file keeps them.
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
    /// Sentences of the runner for the reader: one CPU only, a machine that changed ...
    pub warnings: Vec<String>,
    /// The plan as its author wrote it.
    pub plan_source: String,
    /// Versions of the servers: the name, and what its version command printed.
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

    /// The state with that word. One that is not known is that of a file whose writer was killed.
    pub(crate) fn of(word: &str) -> RunState {
        RunState::ALL.into_iter().find(|state| state.word() == word).unwrap_or_default()
    }
}
