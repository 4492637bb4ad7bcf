use std::path::{Path, PathBuf};

use pitot_results::secrets::Secrets;
use rusqlite::{Connection, params};

use super::error::RunFileError;
use super::schema;
use crate::database::{DatabaseError, Draft, WriteLock};
use crate::run::{HostRecord, Repetition, Run, RunState, Sample, Slice, TreeSample};
use crate::secrets_file;
use pitot_host::Fingerprint;
use pitot_plan::{FactorLevel, Measure, Plan, SkipRecord, masked_levels};
use pitot_results::load::LoadResult;

/// What is known of a run before its first repetition.
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
    /// Sentences for the reader.
    pub warnings: &'a [String],
    /// Name and version of each server.
    pub server_versions: &'a [(String, String)],
    /// The plan as its author wrote it.
    pub plan_source: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The machine.
    pub host: &'a Fingerprint,
    /// What is not run.
    pub skips: &'a [SkipRecord],
    /// What is run, in the order of the plan.
    pub cells: &'a [NewCell],
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
    /// Why in fresh runs, where the plan asks for slices; else empty.
    pub fresh_reason: String,
    /// The cell whose twin it is, from 0 in the order of the plan.
    pub control_of: Option<usize>,
}

/// The one writer of a run file. It holds a lock on the file (flock(2)) that dies with the process, and masks the secrets of the
/// plan in all that it writes.
#[derive(Debug)]
pub struct RunWriter {
    // The order matters: the database is closed before the lock.
    connection: Connection,
    _lock: WriteLock,
    path: PathBuf,
    secrets: Secrets,
}

impl RunWriter {
    /// Checks that [`create`](Self::create) can create the file, and leaves nothing there.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn check(path: &Path) -> Result<(), RunFileError> {
        Draft::new(path).map(drop).map_err(|error| RunFileError::of(path, error))
    }

    /// Creates the file and writes all that is known before the first repetition. Secrets of the plan, if it has any, go into a
    /// file beside it.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub fn create(path: &Path, run: &NewRun<'_>) -> Result<RunWriter, RunFileError> {
        let of = |error| RunFileError::of(path, error);
        let draft = Draft::new(path).map_err(of)?;
        let mut connection = draft.connect().map_err(of)?;
        let secrets = run.plan.secrets();
        let transaction = connection.transaction()?;
        schema::create(&transaction)?;
        let id = insert_run(&transaction, run, &secrets)?;
        let plan = run.plan.masked(&secrets);
        secrets_file::keep(path, &id, &run.plan.to_json(), &plan).map_err(|e| of(DatabaseError::Open(e)))?;
        transaction.commit()?;
        let (lock, connection) = draft.publish(connection).map_err(of)?;
        RunWriter::of(connection, lock, path, secrets)
    }

    /// Opens a file whose run was interrupted or killed, to continue it. `plan` is its plan with its secrets.
    ///
    /// # Errors
    /// If it is not a run file of this layout, or another process is writing it.
    pub fn resume(path: &Path, plan: &Plan) -> Result<RunWriter, RunFileError> {
        let of = |error| RunFileError::of(path, error);
        let lock = WriteLock::resume(path).map_err(of)?;
        let (connection, found) = lock.connect_checked(&schema::FORMAT).map_err(of)?;
        let writer = RunWriter::of(connection, lock, path, plan.secrets())?;
        schema::upgrade(&writer.connection, found)?;
        writer.connection.execute("UPDATE run SET state = 'running', ended_at = NULL", [])?;
        Ok(writer)
    }

    fn of(
        connection: Connection,
        lock: WriteLock,
        path: &Path,
        secrets: Secrets,
    ) -> Result<RunWriter, RunFileError> {
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(RunWriter { connection, _lock: lock, path: path.into(), secrets })
    }

    /// The run as it stands in the file. It is read through the writer's own connection: to open and close the file beside it
    /// would drop its locks.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub fn read(&mut self) -> Result<Run, RunFileError> {
        super::read::read(&*self.connection.transaction()?, schema::FORMAT.layout, &self.path)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a repetition of a cell, in one transaction. `cell` counts from 0 in the order of the plan, controls at
    /// the end; the repetition's own `id` is ignored.
    ///
    /// # Errors
    /// If the database cannot be written, or has this block of this cell already.
    pub fn record(&mut self, cell: usize, repetition: &Repetition) -> Result<(), RunFileError> {
        self.record_together([(cell, repetition)])
    }

    /// Adds repetitions of several cells, all of them or none.
    ///
    /// # Errors
    /// As [`record`](Self::record).
    pub fn record_together<'a>(
        &mut self,
        repetitions: impl IntoIterator<Item = (usize, &'a Repetition)>,
    ) -> Result<(), RunFileError> {
        let transaction = self.connection.transaction()?;
        for (cell, repetition) in repetitions {
            insert_repetition(&transaction, cell, repetition, &self.secrets)?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Writes down the hosts of the run other than the lab's own. A run without any has no table of them.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn record_hosts(&mut self, hosts: &[HostRecord]) -> Result<(), RunFileError> {
        if hosts.is_empty() {
            return Ok(());
        }
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(schema::HOSTS)?;
        for (position, host) in hosts.iter().enumerate() {
            transaction.execute(
                "INSERT INTO host VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    position as i64,
                    host.name,
                    host.does,
                    host.clock_offset_ns,
                    host.clock_error_ns as i64,
                    host.round_trip_ns as i64,
                    json(&host.facts),
                ],
            )?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// Writes down what those hosts are after the last repetition.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn record_hosts_after(&mut self, hosts: &[HostRecord]) -> Result<(), RunFileError> {
        Ok(super::hosts::write_after(&self.connection, hosts)?)
    }

    /// Writes down a host that carried out a part of the run, once.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn record_host(&mut self, host: &HostRecord) -> Result<(), RunFileError> {
        Ok(super::carried::write_host(&self.connection, host)?)
    }

    /// Writes the plan anew: what was left to the lab to choose is chosen by now.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn update_plan(&mut self, plan: &Plan) -> Result<(), RunFileError> {
        let plan = plan.masked(&self.secrets).to_string();
        self.connection.execute("UPDATE run SET plan = ?1", params![plan])?;
        Ok(())
    }

    /// From now on a cell is measured in fresh runs.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn measure_fresh(&mut self, cell: usize, reason: &str) -> Result<(), RunFileError> {
        self.connection.execute(
            "UPDATE cell SET measure = 'fresh', fresh_reason = ?2 WHERE id = ?1",
            params![cell_id(cell), self.secrets.hide(reason)],
        )?;
        Ok(())
    }

    /// Adds a sentence to the run's warnings.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn warn(&mut self, sentence: &str) -> Result<(), RunFileError> {
        self.connection.execute(
            "UPDATE run SET warnings = json_insert(warnings, '$[#]', ?1)",
            params![self.secrets.hide(sentence)],
        )?;
        Ok(())
    }

    /// Ends the run and leaves one plain file.
    ///
    /// # Errors
    /// If the database cannot be written.
    pub fn finish(mut self, state: RunState, ended_at: &str, host: &Fingerprint) -> Result<(), RunFileError> {
        let transaction = self.connection.transaction()?;
        transaction.execute("DELETE FROM fact WHERE moment = 'after'", [])?;
        insert_facts(&transaction, "after", host)?;
        transaction.execute(
            "UPDATE run SET state = ?1, ended_at = ?2",
            params![super::read::state_name(state), ended_at],
        )?;
        transaction.commit()?;
        // A reader in another process may hold the log; the file is complete all the same, together with the log.
        let _ = self.connection.pragma_update(None, "journal_mode", "delete");
        if state == RunState::Complete {
            secrets_file::forget(&self.path);
        }
        Ok(())
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
                 figures, load, server_stats, resources, output_tail, warmup_s)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
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
        "INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for slice in &repetition.slices {
        insert.execute(rusqlite::params_from_iter(slice_row(id, slice)))?;
    }
    super::carried::write(transaction, id, &repetition.host)?;
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

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data has a JSON form")
}

/// Returns the run's identity.
fn insert_run(
    connection: &Connection,
    run: &NewRun<'_>,
    secrets: &Secrets,
) -> Result<String, rusqlite::Error> {
    let warnings: Vec<_> = run.warnings.iter().map(|sentence| secrets.hide(sentence)).collect();
    connection.execute(
        "INSERT INTO run (id, command_line, version, seed, started_at, state, server_cpus, load_cpus, warnings,
             server_versions, plan_source, plan)
         VALUES (lower(hex(randomblob(16))), ?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            secrets.hide(run.command_line),
            run.version,
            run.seed as i64,
            run.started_at,
            run.server_cpus,
            run.load_cpus,
            json(&warnings),
            json(&run.server_versions),
            secrets.hide(run.plan_source),
            run.plan.masked(secrets).to_string(),
        ],
    )?;
    insert_facts(connection, "before", run.host)?;
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
                super::read::measure_name(cell.measure),
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
    connection.query_row("SELECT id FROM run", [], |row| row.get(0))
}

fn insert_facts(connection: &Connection, moment: &str, host: &Fingerprint) -> Result<(), rusqlite::Error> {
    let mut insert = connection.prepare("INSERT INTO fact VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (position, fact) in host.facts.iter().enumerate() {
        insert.execute(params![moment, position as i64, fact.group, fact.name, fact.value])?;
    }
    Ok(())
}

/// The columns of table `slice`, in order.
fn slice_row(repetition: i64, s: &Slice) -> [Option<i64>; 20] {
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

/// What a load generator printed, without secrets.
fn masked_load(result: &LoadResult, secrets: &Secrets) -> String {
    secrets.hide_json(&result.raw, |value| LoadResult::parse(&value.to_string()).is_ok()).to_string()
}
