use std::path::Path;

use pitot_host::Fingerprint;
use pitot_plan::{FactorLevel, Measure, Plan, SkipRecord, masked_levels};
use pitot_results::load::LoadResult;
use pitot_results::secrets::Secrets;
use rusqlite::{Connection, Transaction, params};

use super::error::RecordError;
use super::layout::{FORMAT, Kind, SLICE_COLUMNS};
use super::profiles::{self, Whose};
use super::writer::{Opening, Writer, json};
use crate::run::{HostRecord, Repetition, Run, RunState, Sample, Slice, TreeSample};

/// A run before its first repetition.
#[derive(Clone, Debug)]
pub struct NewRun<'a> {
    /// The command line that started it.
    pub command_line: &'a str,
    /// Version of Pitot.
    pub version: &'a str,
    /// The seed of the order.
    pub seed: u64,
    /// RFC 3339.
    pub started_at: &'a str,
    /// A CPU list.
    pub server_cpus: &'a str,
    /// A CPU list.
    pub load_cpus: &'a str,
    /// Warnings for the report.
    pub warnings: &'a [String],
    /// Name and version of each server.
    pub server_versions: &'a [(String, String)],
    /// The plan as its author wrote it.
    pub plan_source: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub host: &'a Fingerprint,
    /// Skipped combinations.
    pub skips: &'a [SkipRecord],
    /// Cells, in the order of the plan.
    pub cells: &'a [NewCell],
}

impl<'a> NewRun<'a> {
    /// A run of these cells of which nothing else is known.
    pub fn of(plan: &'a Plan, host: &'a Fingerprint, cells: &'a [NewCell]) -> NewRun<'a> {
        NewRun {
            command_line: "",
            version: "",
            seed: 1,
            started_at: "",
            server_cpus: "",
            load_cpus: "",
            warnings: &[],
            server_versions: &[],
            plan_source: "",
            plan,
            host,
            skips: &[],
            cells,
        }
    }
}

/// A cell before its first repetition.
#[derive(Clone, Debug)]
pub struct NewCell {
    /// Its levels.
    pub factors: Vec<FactorLevel>,
    /// A command that a user could type.
    pub server_command: String,
    /// Likewise.
    pub load_command: String,
    /// How it is measured.
    pub measure: Measure,
    /// Why it is measured in fresh runs, if the plan asks for slices; else empty.
    pub fresh_reason: String,
    /// The cell whose A/A control it is, from 0 in the order of the plan.
    pub control_of: Option<usize>,
}

/// The writer of a run's file. It holds a lock on the file (flock(2)) that ends with the process, and masks the plan's
/// secrets in all that it writes.
#[derive(Debug)]
pub struct RunWriter(Writer);

impl RunWriter {
    /// Checks that [`create`](Self::create) can create the file, without leaving one.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn check(path: &Path) -> Result<(), RecordError> {
        Writer::check(path)
    }

    /// Creates the file and writes all that is known before the first repetition. The plan's secrets are written to a
    /// separate file.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn create(path: &Path, run: &NewRun<'_>) -> Result<RunWriter, RecordError> {
        let secrets = run.plan.secrets();
        let opening = Opening {
            kind: Kind::Run,
            command_line: run.command_line,
            version: run.version,
            started_at: run.started_at,
            asked: &run.plan.to_json(),
            masked: &run.plan.masked(&secrets),
            plan_source: run.plan_source,
            seed: run.seed,
            server_cpus: run.server_cpus,
            load_cpus: run.load_cpus,
            warnings: run.warnings,
            server_versions: run.server_versions,
            host: run.host,
        };
        let cells = |connection: &Transaction<'_>, secrets: &Secrets| insert_cells(connection, run, secrets);
        Ok(RunWriter(Writer::create(path, &opening, secrets, cells)?))
    }

    /// Opens a file whose run was interrupted or killed, to continue it. `plan` is its plan with its secrets.
    ///
    /// # Errors
    /// If it is not the file of a run, or another process is writing it.
    pub fn resume(path: &Path, plan: &Plan) -> Result<RunWriter, RecordError> {
        let writer = Writer::resume(path, Kind::Run, plan.secrets())?;
        let columns = writer.connection.prepare("SELECT * FROM slice")?.column_count();
        if columns < SLICE_COLUMNS {
            writer.connection.execute("ALTER TABLE slice ADD COLUMN pace_ns INTEGER", [])?;
        }
        Ok(RunWriter(writer))
    }

    /// The run in the file. It is read through the writer's connection, since opening and closing the file would drop its
    /// locks.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn read(&mut self) -> Result<Run, RecordError> {
        super::run_read::read(&*self.0.connection.transaction()?, FORMAT.layout, &self.0.path)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Adds a repetition of a cell in one transaction. `cell` counts from 0 in the order of the plan, controls at the end;
    /// the repetition's `id` is ignored.
    ///
    /// # Errors
    /// If the database cannot be written, or has this block of this cell already.
    pub fn record(&mut self, cell: usize, repetition: &Repetition) -> Result<(), RecordError> {
        self.record_together([(cell, repetition)])
    }

    /// Adds repetitions of several cells in one transaction.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_together<'a>(
        &mut self,
        repetitions: impl IntoIterator<Item = (usize, &'a Repetition)>,
    ) -> Result<(), RecordError> {
        let transaction = self.0.connection.transaction()?;
        for (cell, repetition) in repetitions {
            insert_repetition(&transaction, cell, repetition, &self.0.secrets)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Records hosts of the run other than the lab's, each once.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn record_hosts(&mut self, hosts: &[HostRecord]) -> Result<(), RecordError> {
        let transaction = self.0.connection.transaction()?;
        for host in hosts {
            super::hosts::write(&transaction, host)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Records those hosts after the last repetition.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn record_hosts_after(&mut self, hosts: &[HostRecord]) -> Result<(), RecordError> {
        Ok(super::hosts::write_after(&self.0.connection, hosts)?)
    }

    /// Writes the plan again, with what the lab has chosen.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn update_plan(&mut self, plan: &Plan) -> Result<(), RecordError> {
        let plan = plan.masked(&self.0.secrets).to_string();
        self.0.connection.execute("UPDATE run SET plan = ?1", params![plan])?;
        Ok(())
    }

    /// Changes a cell to fresh runs.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn measure_fresh(&mut self, cell: usize, reason: &str) -> Result<(), RecordError> {
        self.0.connection.execute(
            "UPDATE cell SET measure = 'fresh', fresh_reason = ?2 WHERE id = ?1",
            params![cell_id(cell), self.0.secrets.hide(reason)],
        )?;
        Ok(())
    }

    /// Adds a sentence to the run's warnings.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn warn(&mut self, sentence: &str) -> Result<(), RecordError> {
        self.0.connection.execute(
            "UPDATE run SET warnings = json_insert(warnings, '$[#]', ?1)",
            params![self.0.secrets.hide(sentence)],
        )?;
        Ok(())
    }

    /// Ends the run and leaves one plain file.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn finish(self, state: RunState, ended_at: &str, host: &Fingerprint) -> Result<(), RecordError> {
        self.0.finish(state, ended_at, Some(host))
    }
}

/// Adds a repetition, its samples and its slices.
fn insert_repetition(
    transaction: &Connection,
    cell: usize,
    repetition: &Repetition,
    secrets: &Secrets,
) -> Result<(), rusqlite::Error> {
    transaction.execute(
            "INSERT INTO repetition (cell_id, block, position, started_at, elapsed_s, address, ready_s, verdict, reason,
                 figures, load, server_stats, resources, output_tail, warmup_s, host)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                cell_id(cell),
                repetition.block,
                repetition.position,
                repetition.started_at,
                repetition.elapsed_s,
                repetition.address,
                repetition.ready_s,
                repetition.verdict.kind.name(),
                secrets.hide_known(&repetition.verdict.reason),
                json(&repetition.verdict.figures),
                repetition.load.as_ref().map(|result| masked_load(result, secrets)),
                repetition.server_stats.as_ref().map(|stats| secrets.hide_json(stats, |_| true).to_string()),
                repetition.resources.as_ref().map(json),
                secrets.hide_known(&repetition.output_tail),
                repetition.warmup_s,
                repetition.host,
            ],
        )?;
    let id = transaction.last_insert_rowid();
    {
        let mut insert = transaction.prepare_cached(
                "INSERT INTO sample VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
                                            ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?;
        for sample in &repetition.samples {
            insert.execute(rusqlite::params_from_iter(sample_row(id, sample)))?;
        }
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for slice in &repetition.slices {
        insert.execute(rusqlite::params_from_iter(slice_row(id, slice)))?;
    }
    repetition
        .profiles
        .iter()
        .try_for_each(|profile| profiles::insert(transaction, Whose::Repetition(id), profile))?;
    for fault in &repetition.faults {
        let moment = |at: u64| (at > 0).then_some(at as i64);
        transaction.execute(
            "INSERT INTO fault VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id,
                fault.number,
                fault.kind,
                fault.due_s,
                moment(fault.began_ns),
                moment(fault.ended_ns),
                secrets.hide_known(&fault.what),
                secrets.hide(&fault.command),
                fault.server_died,
            ],
        )?;
    }
    Ok(())
}

fn cell_id(cell: usize) -> i64 {
    cell as i64 + 1
}

/// Adds cells and skipped combinations.
fn insert_cells(connection: &Connection, run: &NewRun<'_>, secrets: &Secrets) -> Result<(), rusqlite::Error> {
    for (position, skip) in run.skips.iter().enumerate() {
        connection.execute(
            "INSERT INTO skip VALUES (?1, ?2, ?3)",
            params![
                position as i64,
                json(&masked_levels(&skip.factors, secrets)),
                secrets.hide(&skip.reason)
            ],
        )?;
    }
    for (position, cell) in run.cells.iter().enumerate() {
        connection.execute(
            "INSERT INTO cell VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                cell_id(position),
                secrets.hide(&cell.server_command),
                secrets.hide(&cell.load_command),
                super::run_read::measure_name(cell.measure),
                secrets.hide(&cell.fresh_reason),
                cell.control_of.map(cell_id),
            ],
        )?;
        for (at, factor) in masked_levels(&cell.factors, secrets).iter().enumerate() {
            connection.execute(
                "INSERT INTO factor VALUES (?1, ?2, ?3, ?4)",
                params![cell_id(position), at as i64, factor.name, factor.level],
            )?;
        }
    }
    Ok(())
}

/// The columns of table `slice`, in order.
fn slice_row(repetition: i64, s: &Slice) -> [Option<i64>; SLICE_COLUMNS] {
    let of = |value: u64| Some(value as i64);
    [
        Some(repetition),
        Some(i64::from(s.round)),
        Some(i64::from(s.position)),
        s.predecessor,
        of(s.began_unix_ns),
        of(s.late_ns),
        of(s.duration_ns),
        of(s.drain_ns),
        of(s.requests),
        of(s.errors),
        of(s.missed),
        of(s.received_bytes),
        of(s.sent_bytes),
        s.server_cpu_ns.and_then(of),
        of(s.client_cpu_ns),
        of(s.steal_ns),
        of(s.p50_ns),
        of(s.p90_ns),
        of(s.p99_ns),
        of(s.max_ns),
        s.pace_ns.and_then(of),
    ]
}

/// The columns of table `sample`, in order.
fn sample_row(repetition: i64, s: &Sample) -> impl Iterator<Item = Option<i64>> {
    let head = [Some(repetition), Some(s.at_ns as i64)];
    let machine = [&s.server_cpus, &s.load_cpus]
        .into_iter()
        .flat_map(|c| [c.user_ns, c.system_ns, c.softirq_ns, c.steal_ns])
        .chain([s.tcp_retransmits, s.listen_overflows, s.listen_drops])
        .chain([s.pressure_cpu_ns, s.pressure_memory_ns, s.pressure_io_ns, s.cost_ns])
        .map(|v| Some(v as i64))
        .collect::<Vec<_>>();
    let private = s.server.and_then(|t| t.private_bytes).map(|v| v as i64);
    head.into_iter().chain(tree_row(s.server)).chain(tree_row(s.load)).chain(machine).chain([private])
}

fn tree_row(tree: Option<TreeSample>) -> [Option<i64>; 11] {
    let Some(t) = tree else { return [None; 11] };
    [
        Some(t.processes),
        Some(t.threads),
        t.descriptors,
        Some(t.cpu_ns),
        Some(t.user_ns),
        Some(t.system_ns),
        Some(t.rss_bytes),
        t.pss_bytes,
        t.run_delay_ns,
        t.switches_voluntary,
        t.switches_involuntary,
    ]
    .map(|v| v.map(|v| v as i64))
}

/// The output of a load generator, without secrets.
fn masked_load(result: &LoadResult, secrets: &Secrets) -> String {
    secrets.hide_json(&result.raw, |value| LoadResult::parse(&value.to_string()).is_ok()).to_string()
}
