use std::collections::{HashMap, HashSet};
use std::path::Path;

use pitot_fault::FaultRecord;
use pitot_results::load::LoadResult;
use pitot_results::{COUNT_MAX, Failure, VerdictKind};
use rusqlite::{Connection, Row};

use super::error::RecordError;
use super::layout::{Kind, SLICE_COLUMNS};
use super::open::{self, from_json, read_facts};
use super::profiles::of_repetitions;
use crate::run::{
    CellRecord, CpuSample, Repetition, Resources, Run, RunInfo, RunState, Sample, Slice, TreeSample, Verdict,
};
use crate::secrets_file;
use pitot_plan::{FactorLevel, Measure, Plan, SkipKind, SkipRecord};

impl Run {
    /// Reads a whole run file, which may be finished, interrupted or still being written by another process, and is not
    /// trusted. Its secrets are masked.
    ///
    /// # Errors
    /// If it does not exist, is not a run file, is newer than this version, is damaged, or is being written by this process.
    pub fn open(path: &Path) -> Result<Run, RecordError> {
        open::read(path, Kind::Run, |connection, layout| read(connection, layout, path))
    }

    /// Reads a run to resume it, with the secrets of its plan.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if the file with its secrets is missing.
    pub fn open_to_resume(path: &Path) -> Result<Run, Failure> {
        let mut run = Run::open(path)?;
        let mut plan = run.plan.to_json();
        secrets_file::restore(path, &run.info.id, &mut plan)?;
        run.plan = serde_json::from_value(plan)
            .map_err(|e| RecordError::Damaged(format!("the plan with its secrets: {e}")))?;
        Ok(run)
    }
}

/// Reads a run within a transaction.
pub(super) fn read(transaction: &Connection, layout: u32, path: &Path) -> Result<Run, RecordError> {
    let (mut info, plan): (RunInfo, String) = transaction.query_row("SELECT * FROM run", [], read_info)?;
    info.schema_version = layout;
    let plan: Plan = from_json("the plan", &plan)?;
    if let Some(excess) = plan.excess() {
        return Err(RecordError::Damaged(format!("its plan {}", excess.what)));
    }
    let host_before = read_facts(transaction, "before")?;
    let host_after = Some(read_facts(transaction, "after")?).filter(|after| !after.facts.is_empty());
    let host_changes = host_after.as_ref().map(|after| host_before.changes_to(after)).unwrap_or_default();
    let cells = read_cells(transaction)?;
    check_cells(&plan, &cells)?;
    let (controls, cells) = cells.into_iter().partition(|c| c.control_of.is_some());
    let skips = read_skips(transaction)?;
    let hosts = super::hosts::read(transaction)?;
    Ok(Run {
        path: path.into(),
        info,
        plan,
        host_before,
        host_after,
        host_changes,
        hosts,
        cells,
        controls,
        skips,
        floor: None,
    })
}

const MEASURES: [(&str, Measure); 2] = [("fresh", Measure::Fresh), ("slices", Measure::Slices)];

pub(super) fn measure_name(measure: Measure) -> &'static str {
    MEASURES.iter().find(|(_, m)| *m == measure).expect("every way to measure has a name").0
}

fn measure(name: &str) -> Result<Measure, RecordError> {
    let known = MEASURES.iter().find(|(n, _)| *n == name);
    known.map(|(_, m)| *m).ok_or_else(|| RecordError::Damaged(format!("`{name}` is not a way to measure")))
}

fn read_info(row: &Row<'_>) -> Result<(RunInfo, String), rusqlite::Error> {
    let state: String = row.get("state")?;
    let list = |name: &str| -> Result<String, rusqlite::Error> { row.get(name) };
    let info = RunInfo {
        schema_version: 0,
        id: row.get("id")?,
        command_line: row.get("command_line")?,
        version: row.get("version")?,
        seed: row.get::<_, i64>("seed")? as u64,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        state: RunState::of(&state),
        server_cpus: row.get("server_cpus")?,
        load_cpus: row.get("load_cpus")?,
        warnings: serde_json::from_str(&list("warnings")?).unwrap_or_default(),
        server_versions: serde_json::from_str(&list("server_versions")?).unwrap_or_default(),
        plan_source: row.get("plan_source")?,
    };
    Ok((info, row.get("plan")?))
}

fn read_skips(connection: &Connection) -> Result<Vec<SkipRecord>, RecordError> {
    let mut query = connection.prepare("SELECT factors, reason FROM skip ORDER BY position")?;
    let mut rows = query.query([])?;
    let mut skips = Vec::new();
    while let Some(row) = rows.next()? {
        let factors = from_json("a skipped combination", &row.get::<_, String>(0)?)?;
        skips.push(SkipRecord { factors, reason: row.get(1)?, kind: SkipKind::Other });
    }
    Ok(skips)
}

fn read_cells(connection: &Connection) -> Result<Vec<CellRecord>, RecordError> {
    let mut cells = Vec::new();
    let mut query = connection.prepare(
        "SELECT id, server_command, load_command, measure, fresh_reason, control_of FROM cell ORDER BY id",
    )?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        cells.push(CellRecord {
            id: row.get(0)?,
            factors: Vec::new(),
            server_command: row.get(1)?,
            load_command: row.get(2)?,
            measure: measure(&row.get::<_, String>(3)?)?,
            fresh_reason: row.get(4)?,
            control_of: row.get(5)?,
            repetitions: Vec::new(),
        });
    }
    let index: HashMap<i64, usize> = cells.iter().enumerate().map(|(i, c)| (c.id, i)).collect();
    let index_of =
        |id: i64| index.get(&id).copied().ok_or_else(|| RecordError::Damaged(format!("no cell {id}")));

    let mut query =
        connection.prepare("SELECT cell_id, name, level FROM factor ORDER BY cell_id, position")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let factor = FactorLevel::new(&row.get::<_, String>(1)?, &row.get::<_, String>(2)?);
        cells[index_of(row.get(0)?)?].factors.push(factor);
    }

    let mut samples = read_samples(connection)?;
    let mut slices = read_slices(connection)?;
    let mut faults = read_faults(connection)?;
    let mut profiles = of_repetitions(connection)?;
    let mut query = connection.prepare("SELECT * FROM repetition ORDER BY cell_id, block")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let mut repetition = read_repetition(row)?;
        repetition.samples = samples.remove(&repetition.id).unwrap_or_default();
        repetition.slices = slices.remove(&repetition.id).unwrap_or_default();
        repetition.faults = faults.remove(&repetition.id).unwrap_or_default();
        repetition.profiles = profiles.remove(&repetition.id).unwrap_or_default();
        cells[index_of(row.get("cell_id")?)?].repetitions.push(repetition);
    }
    Ok(cells)
}

/// Checks that each cell has a level of each factor of the plan, in that order, and that each control belongs to a cell.
fn check_cells(plan: &Plan, cells: &[CellRecord]) -> Result<(), RecordError> {
    let ids: HashSet<i64> = cells.iter().filter(|c| c.control_of.is_none()).map(|c| c.id).collect();
    for cell in cells {
        let (own, wanted) = (cell.factors.iter().map(|f| &f.name), plan.factors.iter().map(|f| &f.name));
        if !own.eq(wanted) {
            let what = format!("cell {} does not have one level of each factor of the plan", cell.id);
            return Err(RecordError::Damaged(what));
        }
        if cell.control_of.is_some_and(|of| !ids.contains(&of)) {
            return Err(RecordError::Damaged(format!("cell {} is the control of no cell", cell.id)));
        }
    }
    Ok(())
}

/// A column with a time in seconds, which must be finite and not negative.
fn seconds(row: &Row<'_>, name: &str) -> Result<Option<f64>, RecordError> {
    let value: Option<f64> = row.get(name)?;
    match value {
        Some(s) if !(0.0..=COUNT_MAX as f64).contains(&s) => {
            Err(RecordError::Damaged(format!("`{name}` is {s} s")))
        }
        value => Ok(value),
    }
}

fn read_repetition(row: &Row<'_>) -> Result<Repetition, RecordError> {
    let verdict: String = row.get("verdict")?;
    let kind = VerdictKind::from_name(&verdict)
        .ok_or_else(|| RecordError::Damaged(format!("`{verdict}` is not a verdict")))?;
    let load: Option<String> = row.get("load")?;
    let load = load.map(|text| LoadResult::parse(&text)).transpose();
    let stats: Option<String> = row.get("server_stats")?;
    let resources: Option<String> = row.get("resources")?;
    Ok(Repetition {
        id: row.get("id")?,
        block: row.get("block")?,
        position: row.get("position")?,
        host: row.get("host")?,
        started_at: row.get("started_at")?,
        elapsed_s: seconds(row, "elapsed_s")?.unwrap_or_default(),
        address: row.get("address")?,
        ready_s: seconds(row, "ready_s")?.unwrap_or_default(),
        warmup_s: seconds(row, "warmup_s")?,
        verdict: Verdict {
            kind,
            reason: row.get("reason")?,
            figures: from_json("the figures of a verdict", &row.get::<_, String>("figures")?)?,
        },
        load: load.map_err(|e| RecordError::Damaged(format!("a load result: {e}")))?,
        server_stats: stats.map(|text| from_json("the server's counters", &text)).transpose()?,
        resources: resources.map(|text| resources_of(&text)).transpose()?,
        output_tail: row.get("output_tail")?,
        samples: Vec::new(),
        slices: Vec::new(),
        faults: Vec::new(),
        profiles: Vec::new(),
    })
}

fn resources_of(text: &str) -> Result<Resources, RecordError> {
    let raw = from_json("the resources", text)?;
    pitot_results::check_numbers(&raw).map_err(|e| RecordError::Damaged(format!("the resources: {e}")))?;
    serde_json::from_value(raw).map_err(|e| RecordError::Damaged(format!("the resources: {e}")))
}

fn read_samples(connection: &Connection) -> Result<HashMap<i64, Vec<Sample>>, RecordError> {
    let mut all: HashMap<i64, Vec<Sample>> = HashMap::new();
    let mut query = connection.prepare("SELECT * FROM sample ORDER BY repetition_id, at_ns")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let mut columns = Columns { row, next: 1 };
        let repetition = row.get(0)?;
        let mut sample = Sample {
            at_ns: columns.moment()?,
            server: columns.tree()?,
            load: columns.tree()?,
            server_cpus: columns.cpus()?,
            load_cpus: columns.cpus()?,
            tcp_retransmits: columns.count()?,
            listen_overflows: columns.count()?,
            listen_drops: columns.count()?,
            pressure_cpu_ns: columns.count()?,
            pressure_memory_ns: columns.count()?,
            pressure_io_ns: columns.count()?,
            cost_ns: columns.count()?,
            kernel_bytes: None,
        };
        if let Some(server) = &mut sample.server {
            server.private_bytes = columns.take()?;
        }
        all.entry(repetition).or_default().push(sample);
    }
    Ok(all)
}

fn read_faults(connection: &Connection) -> Result<HashMap<i64, Vec<FaultRecord>>, RecordError> {
    let mut all: HashMap<i64, Vec<FaultRecord>> = HashMap::new();
    let mut query = connection.prepare("SELECT * FROM fault ORDER BY repetition_id, due_s, number")?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let moment = |name: &str| Ok::<_, RecordError>(row.get::<_, Option<u64>>(name)?.unwrap_or(0));
        all.entry(row.get("repetition_id")?).or_default().push(FaultRecord {
            number: row.get("number")?,
            kind: row.get("kind")?,
            due_s: seconds(row, "due_s")?.unwrap_or_default(),
            began_ns: moment("began_ns")?,
            ended_ns: moment("ended_ns")?,
            what: row.get("what")?,
            command: row.get("command")?,
            server_died: row.get("server_died")?,
        });
    }
    Ok(all)
}

fn read_slices(connection: &Connection) -> Result<HashMap<i64, Vec<Slice>>, RecordError> {
    let mut all: HashMap<i64, Vec<Slice>> = HashMap::new();
    let mut query = connection.prepare("SELECT * FROM slice ORDER BY repetition_id, round, position")?;
    let has_pace = query.column_count() == SLICE_COLUMNS;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let mut columns = Columns { row, next: 4 };
        let repetition = row.get(0)?;
        let slice = Slice {
            round: row.get(1)?,
            position: row.get(2)?,
            predecessor: row.get(3)?,
            began_unix_ns: columns.moment()?,
            late_ns: columns.count()?,
            duration_ns: columns.count()?,
            drain_ns: columns.count()?,
            requests: columns.count()?,
            errors: columns.count()?,
            missed: columns.count()?,
            received_bytes: columns.count()?,
            sent_bytes: columns.count()?,
            server_cpu_ns: columns.take()?,
            client_cpu_ns: columns.count()?,
            steal_ns: columns.count()?,
            p50_ns: columns.count()?,
            p90_ns: columns.count()?,
            p99_ns: columns.count()?,
            max_ns: columns.count()?,
            pace_ns: if has_pace { columns.take()? } else { None },
        };
        all.entry(repetition).or_default().push(slice);
    }
    Ok(all)
}

/// The columns of a `sample` or `slice` row from left to right.
struct Columns<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl Columns<'_> {
    /// A column with a time of a clock, nanoseconds.
    fn moment(&mut self) -> Result<u64, RecordError> {
        // The type refuses negative numbers.
        let moment = self.row.get(self.next)?;
        self.next += 1;
        Ok(moment)
    }

    /// A column with a count or duration, if it has one.
    fn take(&mut self) -> Result<Option<u64>, RecordError> {
        let value: Option<u64> = self.row.get(self.next)?;
        if let Some(excess) = value.filter(|value| *value > COUNT_MAX) {
            let name = self.row.as_ref().column_name(self.next)?;
            return Err(RecordError::Damaged(format!("`{name}` is {excess}")));
        }
        self.next += 1;
        Ok(value)
    }

    fn count(&mut self) -> Result<u64, RecordError> {
        Ok(self.take()?.unwrap_or_default())
    }

    fn tree(&mut self) -> Result<Option<TreeSample>, RecordError> {
        let processes = self.take()?;
        let rest = TreeSample {
            processes: processes.unwrap_or_default(),
            threads: self.count()?,
            descriptors: self.take()?,
            cpu_ns: self.count()?,
            user_ns: self.count()?,
            system_ns: self.count()?,
            rss_bytes: self.count()?,
            pss_bytes: self.take()?,
            private_bytes: None,
            run_delay_ns: self.take()?,
            switches_voluntary: self.take()?,
            switches_involuntary: self.take()?,
        };
        Ok(processes.map(|_| rest))
    }

    fn cpus(&mut self) -> Result<CpuSample, RecordError> {
        Ok(CpuSample {
            user_ns: self.count()?,
            system_ns: self.count()?,
            softirq_ns: self.count()?,
            steal_ns: self.count()?,
        })
    }
}
