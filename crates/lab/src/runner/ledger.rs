//! Records what a run measures, first in its file, then as events.

use std::time::SystemTime;

use pitot_host::Fingerprint;
use pitot_results::{Failure, VerdictKind, rfc3339};

use super::event::{Event, Outcome, Step};
use pitot_plan::{Measure, Plan};
use pitot_record::file::RunWriter;
use pitot_record::{CellRecord, HostRecord, Repetition, RunInfo, RunState};

/// The file of a run, and its content.
pub(super) struct Ledger<'a> {
    writer: RunWriter,
    info: RunInfo,
    /// Controls at the end. Repetitions since the file was opened have no samples here; those are only in the file.
    cells: Vec<CellRecord>,
    /// Repetitions that failed since.
    failed: usize,
    watch: &'a mut dyn FnMut(&Event<'_>),
}

impl<'a> Ledger<'a> {
    /// For a file that was opened for writing.
    pub(super) fn open(
        mut writer: RunWriter,
        watch: &'a mut dyn FnMut(&Event<'_>),
    ) -> Result<Ledger<'a>, Failure> {
        let run = writer.read()?;
        let cells: Vec<CellRecord> = run.cells.into_iter().chain(run.controls).collect();
        watch(&Event::Started { file: writer.path(), run: &run.info.id, cells: &cells });
        Ok(Ledger { writer, info: run.info, cells, failed: 0, watch })
    }

    /// The run's identity.
    pub(super) fn run(&self) -> &str {
        &self.info.id
    }

    pub(super) fn seed(&self) -> u64 {
        self.info.seed
    }

    /// All cells with their repetitions, controls at the end.
    pub(super) fn cells(&self) -> &[CellRecord] {
        &self.cells
    }

    /// Whether the file has a repetition or generation of a cell.
    pub(super) fn has(&self, cell: usize, block: u32) -> bool {
        self.cells.get(cell).is_some_and(|c| c.repetitions.iter().any(|r| r.block == block))
    }

    /// The next free position in the order.
    pub(super) fn next_position(&self) -> u32 {
        let all = self.cells.iter().flat_map(|cell| &cell.repetitions);
        all.map(|repetition| repetition.position + 1).max().unwrap_or(0)
    }

    /// Reports that a repetition or generation begins.
    pub(super) fn begins(&mut self, step: Step<'_>) {
        (self.watch)(&Event::Begun(step));
    }

    /// Ends a step: writes all of its repetitions in one transaction, then sends the event.
    pub(super) fn measured(
        &mut self,
        step: Step<'_>,
        repetitions: &[(usize, Repetition)],
    ) -> Result<(), Failure> {
        self.writer.record_together(repetitions.iter().map(|(cell, repetition)| (*cell, repetition)))?;
        for (cell, repetition) in repetitions {
            self.failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
            self.cells[*cell].repetitions.push(Repetition { samples: Vec::new(), ..repetition.clone() });
        }
        (self.watch)(&Event::Measured { step, repetitions });
        Ok(())
    }

    /// Changes a cell to fresh runs.
    pub(super) fn measure_fresh(&mut self, cell: usize, reason: &str) -> Result<(), Failure> {
        self.cells[cell].measure = Measure::Fresh;
        Ok(self.writer.measure_fresh(cell, reason)?)
    }

    pub(super) fn update_plan(&mut self, plan: &Plan) -> Result<(), Failure> {
        Ok(self.writer.update_plan(plan)?)
    }

    /// Records a warning for the reader of the report.
    pub(super) fn warn(&mut self, sentence: &str) -> Result<(), Failure> {
        self.writer.warn(sentence)?;
        (self.watch)(&Event::Warning(sentence));
        Ok(())
    }

    /// Records a host before its first job and, if it still exists, as it is now.
    pub(super) fn record_host(
        &mut self,
        before: &HostRecord,
        after: Option<HostRecord>,
    ) -> Result<(), Failure> {
        self.writer.record_hosts(std::slice::from_ref(before))?;
        Ok(self.writer.record_hosts_after(after.as_slice())?)
    }

    /// Ends the run, with the current state of its hosts and of this machine.
    pub(super) fn finish(
        mut self,
        state: RunState,
        hosts: &[HostRecord],
        here: &Fingerprint,
    ) -> Result<Outcome, Failure> {
        self.writer.record_hosts_after(hosts)?;
        let path = self.writer.path().to_owned();
        self.writer.finish(state, &rfc3339(SystemTime::now()), here)?;
        let outcome = Outcome { path, state, failed: self.failed };
        (self.watch)(&Event::Finished(&outcome));
        Ok(outcome)
    }
}
