//! Carries out a prepared plan: every repetition in its turn, each recorded as soon as it is over.

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use pitot_meter::units::counted;
use pitot_results::{Failure, VerdictKind, rfc3339};

use crate::Order;
use crate::plan::{Cell, Measure, Plan, Program};
use crate::record::{CellRecord, HostRecord, Repetition, RunState};
use crate::runfile::{NewCell, NewRun, RunWriter};
use crate::statistics::MEDIAN_REPETITIONS_MIN;
use pitot_host::Fingerprint;

use super::executor::Machine;
use super::generations;
use super::hosts;
use super::local::Guardian;
use super::prepare::{Prepared, nominal_s};
use super::printed::Asked;
use super::repetition::{self, GivenUp, Shared};
use super::schedule::{Turn, schedule};
use super::slices::SLICE_S;

/// What a run needs besides its plan.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// How `pitot` is started: a path.
    pub pitot: &'a str,
    /// The version, for the record.
    pub version: &'a str,
    /// The command line, for the record.
    pub command_line: &'a str,
    /// A sentence for the report on what went on besides, asked for at the end of the run.
    pub note: &'a dyn Fn() -> Option<String>,
    /// Whether each cell is tried for a moment before the repetitions begin.
    pub trial: bool,
    /// True once the user wants the run to end.
    pub stop: &'a dyn Fn() -> bool,
}

/// Progress of a run.
#[derive(Debug)]
pub struct Progress<'a> {
    /// A cell is tried before the repetitions begin; numbers are those of cells. Only a try that failed is told as
    /// finished, and no repetition of the cell will be run.
    pub trial: bool,
    /// The repetition's number, from 1.
    pub number: usize,
    /// How many there are.
    pub total: usize,
    /// The cell.
    pub label: &'a str,
    /// What is over; none if it begins.
    pub finished: Option<Finished<'a>>,
    /// Seconds until the end of the run, estimated.
    pub left_s: f64,
}

/// What is over.
#[derive(Clone, Copy, Debug)]
pub enum Finished<'a> {
    /// A fresh run.
    Repetition(&'a Repetition),
    /// A generation: the repetitions of all its cells.
    Generation(&'a [(usize, Repetition)]),
}

/// How a run went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its file.
    pub path: PathBuf,
    /// How it ended.
    pub state: RunState,
    /// Repetitions that failed.
    pub failed: usize,
}

impl Prepared {
    /// Runs the plan on this machine, into a new file.
    ///
    /// # Errors
    /// If the machine is not set up for what the plan needs, or the file cannot be written. A repetition that fails is no
    /// error but a verdict.
    pub fn run(
        mut self,
        output: &Path,
        setting: Setting<'_>,
        guardian: Guardian,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        self.check_needs()?;
        self.plan.needs_no_guests("a run on this machine's own kernel")?;
        if !guardian.is_there() {
            self.warnings.push(
                "No guardian process could be started: had the run been killed, children of servers could have \
                 stayed."
                    .into(),
            );
        }
        hosts::with_machine(self, guardian, setting.pitot, |prepared, machine| {
            prepared.run_on(machine, output, setting, progress)
        })
    }

    /// Runs the plan on a machine, into a new file.
    pub(super) fn run_on(
        mut self,
        machine: &dyn Machine,
        output: &Path,
        setting: Setting<'_>,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let begin = Instant::now();
        // A trial can take minutes.
        RunWriter::check(output)?;
        let seed = self.plan.seed.unwrap_or_else(draw_seed);
        self.plan.seed = Some(seed);
        // Before the trial, which changes settings and leaves them as its last cell wants them.
        let host = Fingerprint::collect();
        let tried = self.try_cells(machine, &|_| true, setting, progress);
        if let Some(failure) = self.nothing_left(&tried.given_up) {
            return Err(failure);
        }
        let (rises, sentences) = tried.rises;
        rises.into_iter().for_each(|(cell, settling)| self.cells[cell].rises = Some(settling));
        self.warnings.extend(sentences);
        self.check_time(&tried.ready_s, begin.elapsed().as_secs_f64())?;
        let other_hosts = machine.hosts();
        let own = self.plan.side_here().map(|does| HostRecord::own(does, &host));
        let shortest_s = match self.plan.measure {
            Measure::Slices => self.plan.slice_s.unwrap_or(SLICE_S.0),
            Measure::Fresh => self.plan.duration_s,
        };
        self.warnings.extend(hosts::sentences(own, &other_hosts, shortest_s));
        let new_cells = new_cells(&self, setting.pitot);
        let mut writer = RunWriter::create(
            output,
            &NewRun {
                command_line: setting.command_line,
                version: setting.version,
                seed,
                started_at: &rfc3339(SystemTime::now()),
                server_cpus: &self.cpus.server_list(),
                load_cpus: &self.cpus.load_list(),
                warnings: &self.warnings,
                server_versions: &server_versions(machine, &self.plan, setting.version),
                plan_source: &self.source,
                plan: &self.plan,
                host: &host,
                skips: &self.skips,
                cells: &new_cells,
            },
        )?;
        writer.record_hosts(&other_hosts)?;
        self.carry_out(machine, writer, begin, Vec::new(), tried.given_up, seed, setting, progress)
    }

    /// All cells of the run: those of the plan, and after them their controls.
    fn with_controls(&self) -> Vec<Cell> {
        let twins = self.ways.controls.iter().map(|&twin| &self.cells[twin]);
        self.cells.iter().chain(twins).cloned().collect()
    }

    /// The failure of a run of which every cell was given up.
    fn nothing_left(&self, given_up: &[Option<GivenUp>]) -> Option<Failure> {
        let all: Vec<&GivenUp> = given_up.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let (cell, first) = (self.cells.first()?.label(), all.first()?);
        let others = all.iter().filter(|other| other.reason != first.reason).count();
        let others = if others == 0 { "" } else { " (others for other reasons)" };
        let printed = first.output_tail.trim_end();
        let hint = "the commands of `--dry-run` can be tried by hand";
        Some(Failure::run(
            format!("no cell can be measured: {cell}: {}{others}", first.reason),
            if printed.is_empty() {
                hint.to_owned()
            } else {
                format!("{hint}; its programs printed:\n{printed}")
            },
        ))
    }

    /// Runs the repetitions that are not in the file; the run began at `begin`. `known` are its cells in its order, controls at the end, if it is not
    /// a new one. Repetitions of cells that are given up are recorded as failed.
    #[allow(clippy::too_many_arguments)] // Each is a thing of its own, and there are two callers.
    pub(super) fn carry_out(
        mut self,
        machine: &dyn Machine,
        mut writer: RunWriter,
        begin: Instant,
        known: Vec<CellRecord>,
        mut given_up: Vec<Option<GivenUp>>,
        seed: u64,
        setting: Setting<'_>,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let cpus = self.cpus.clone();
        let plan = self.plan.clone();
        let shared = Shared {
            plan: &plan,
            pitot: setting.pitot,
            cpus: &cpus,
            stop: setting.stop,
            memory_total_bytes: machine.memory_total_bytes(),
            block: 0,
        };
        // A control that cannot be started is given up with the cell whose twin it is.
        given_up.resize(self.cells.len() + self.ways.controls.len(), None);
        for (number, &twin) in self.ways.controls.iter().enumerate() {
            given_up[self.cells.len() + number] = given_up[twin].clone();
        }
        let records = records(&self, known);
        let mut under_way = UnderWay {
            cells: self.with_controls(),
            records,
            shared,
            machine,
            writer: &mut writer,
            begin,
            given_up,
            seed,
            failed: 0,
            progress,
        };
        let mut state = generations::run(&mut self, &mut under_way)?;
        if state == RunState::Complete {
            state = fresh_runs(&mut self, &mut under_way)?;
        }
        let failed = under_way.failed;
        if let Err(why) = machine.set_host(&[]) {
            writer.warn(&format!("{why}."))?;
        }
        if let Some(note) = (setting.note)() {
            writer.warn(&note)?;
        }
        writer.record_hosts_after(&machine.hosts())?;
        let path = writer.path().to_owned();
        writer.finish(state, &rfc3339(SystemTime::now()), &Fingerprint::collect())?;
        Ok(Outcome { path, state, failed })
    }
}

/// A run under way.
pub(super) struct UnderWay<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) machine: &'a dyn Machine,
    pub(super) writer: &'a mut RunWriter,
    /// When the run began.
    pub(super) begin: Instant,
    /// All cells, controls at the end.
    pub(super) cells: Vec<Cell>,
    /// The same with the repetitions that the file had when the run began or was resumed, and generations since.
    pub(super) records: Vec<CellRecord>,
    /// By cell, controls at the end: why it is not tried any more.
    pub(super) given_up: Vec<Option<GivenUp>>,
    pub(super) seed: u64,
    /// Repetitions that failed.
    pub(super) failed: usize,
    pub(super) progress: &'a mut dyn FnMut(&Progress<'_>),
}

impl UnderWay<'_> {
    /// Whether a repetition or generation of a cell is in the file.
    pub(super) fn has(&self, cell: usize, block: u32) -> bool {
        self.records[cell].repetitions.iter().any(|r| r.block == block)
    }
}

/// The cells as they are written into a new file: those of the plan, and after them their controls.
pub(super) fn new_cells(prepared: &Prepared, pitot: &str) -> Vec<NewCell> {
    let shown = prepared.commands(pitot);
    let cell = |index: usize, (measure, reason): &(Measure, String), control_of| NewCell {
        factors: prepared.cells[index].factors.clone(),
        server_command: shown[index].server.clone(),
        load_command: shown[index].load.clone(),
        measure: *measure,
        fresh_reason: reason.clone(),
        control_of,
    };
    let ways = &prepared.ways;
    let cells = ways.cells.iter().enumerate().map(|(index, way)| cell(index, way, None));
    let controls = ways.controls.iter().map(|&twin| cell(twin, &ways.cells[twin], Some(twin)));
    cells.chain(controls).collect()
}

/// All cells, controls at the end, with what the file has of them.
fn records(prepared: &Prepared, known: Vec<CellRecord>) -> Vec<CellRecord> {
    if !known.is_empty() {
        return known;
    }
    let record = |(index, cell): (usize, &Cell)| CellRecord {
        id: index as i64 + 1,
        factors: cell.factors.clone(),
        server_command: String::new(),
        load_command: String::new(),
        measure: prepared.ways.cells[index].0,
        fresh_reason: String::new(),
        control_of: None,
        repetitions: Vec::new(),
    };
    let cells = prepared.cells.iter().enumerate().map(record);
    let controls = prepared.ways.controls.iter().map(|&twin| record((twin, &prepared.cells[twin])));
    cells.chain(controls).collect()
}

/// Carries out the cells that are measured in fresh runs.
fn fresh_runs(prepared: &mut Prepared, run: &mut UnderWay<'_>) -> Result<RunState, Failure> {
    let ended = fresh_blocks(prepared, run)?;
    let (Ended::InTime(blocks, block_s), Some(within_s)) = (ended, prepared.within_s) else {
        return Ok(if ended == Ended::Stopped { RunState::Interrupted } else { RunState::Complete });
    };
    prepared.plan.repetitions = blocks;
    run.writer.update_plan(&prepared.plan)?;
    if (blocks as usize) < MEDIAN_REPETITIONS_MIN {
        let spent_s = run.begin.elapsed().as_secs_f64();
        let needed_s = spent_s + f64::from(MEDIAN_REPETITIONS_MIN as u32 - blocks) * block_s;
        run.writer.warn(&too_slow(within_s, blocks, "repetition", MEDIAN_REPETITIONS_MIN, needed_s))?;
    }
    Ok(RunState::Complete)
}

/// That too little fitted into the time of a run to decide: a sentence.
pub(super) fn too_slow(within_s: f64, had: u32, unit: &str, least: usize, needed_s: f64) -> String {
    let had = counted(u64::from(had), unit, &format!("{unit}s"));
    format!(
        "Only {had} fitted into the {within_s:.0} s of the run, as this machine is slower than foreseen: {least} {unit}s take \
         about {needed_s:.0} s."
    )
}

/// How the fresh runs ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    /// All are there.
    Whole,
    /// The user stopped it.
    Stopped,
    /// Another block would not have fitted into the time: whole blocks, and seconds of one.
    InTime(u32, f64),
}

fn fresh_blocks(prepared: &Prepared, run: &mut UnderWay<'_>) -> Result<Ended, Failure> {
    let plan = &prepared.plan;
    let is_fresh = |turn: &Turn| prepared.ways.cells[turn.cell].0 == Measure::Fresh;
    let all = schedule(&prepared.experiments(), plan.repetitions, plan.order, run.seed);
    let mut turns: Vec<Turn> = all.into_iter().filter(is_fresh).collect();
    // Where the time may end the run, it ends with a block of all cells.
    let within_s = prepared.within_s.filter(|_| plan.order == Order::Interleaved);
    if within_s.is_some() {
        turns.sort_by_key(|turn| turn.block);
    }
    let begin = Instant::now();
    let nominal_of = |turn: &Turn| nominal_s(plan, &prepared.cells[turn.cell]);
    let mut left = TimeLeft::of(turns.iter().filter(|t| !run.has(t.cell, t.block)).map(nominal_of));
    let first = generations::positions(prepared);
    let mut executor = run.machine.executor();
    for (position, turn) in turns.iter().enumerate() {
        if run.has(turn.cell, turn.block) {
            continue;
        }
        let is_next_block = position > 0 && turns[position - 1].block < turn.block;
        if let Some(within_s) = within_s.filter(|_| is_next_block) {
            let block_s = begin.elapsed().as_secs_f64() / f64::from(turn.block);
            if run.begin.elapsed().as_secs_f64() + block_s > within_s {
                return Ok(Ended::InTime(turn.block, block_s));
            }
        }
        let cell = &prepared.cells[turn.cell];
        let label = cell.label();
        let mut news = Progress {
            trial: false,
            number: position + 1,
            total: turns.len(),
            label: &label,
            finished: None,
            left_s: left.seconds(),
        };
        (run.progress)(&news);
        let started_at = rfc3339(SystemTime::now());
        let mut repetition = match &mut run.given_up[turn.cell] {
            Some(_) if (run.shared.stop)() => return Ok(Ended::Stopped),
            Some(given_up) => repetition::not_tried(given_up),
            None if let Err(reason) = run.machine.set_host(&cell.host) => {
                let given_up = run.given_up[turn.cell].insert(GivenUp { reason, output_tail: String::new() });
                repetition::not_tried(given_up)
            }
            None => {
                let Some(done) = repetition::run(
                    Shared { block: turn.block, ..run.shared },
                    &mut *executor,
                    cell,
                    first + position,
                ) else {
                    return Ok(Ended::Stopped);
                };
                if done.not_started {
                    // What was printed is recorded with this repetition.
                    let reason = done.repetition.verdict.reason.clone();
                    run.given_up[turn.cell] = Some(GivenUp { reason, output_tail: String::new() });
                }
                done.repetition
            }
        };
        repetition.block = turn.block;
        repetition.position = (first + position) as u32;
        repetition.started_at = started_at;
        run.writer.record(turn.cell, &repetition)?;
        run.failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
        left.passed(nominal_of(turn), repetition.elapsed_s);
        news.left_s = left.seconds();
        news.finished = Some(Finished::Repetition(&repetition));
        (run.progress)(&news);
    }
    Ok(Ended::Whole)
}

/// An estimate of the time until the end of the run, which learns how much longer than nominal a repetition takes.
pub(super) struct TimeLeft {
    nominal_s: f64,
    repetitions: usize,
    surplus_s: f64,
}

impl TimeLeft {
    pub(super) fn of(nominal_s: impl Iterator<Item = f64>) -> TimeLeft {
        let start = TimeLeft { nominal_s: 0.0, repetitions: 0, surplus_s: 0.0 };
        nominal_s.fold(start, |left, s| TimeLeft {
            nominal_s: left.nominal_s + s,
            repetitions: left.repetitions + 1,
            ..left
        })
    }

    pub(super) fn passed(&mut self, nominal_s: f64, elapsed_s: f64) {
        self.nominal_s -= nominal_s;
        // A run that goes on until it is decided may take more than was foreseen.
        self.repetitions = self.repetitions.saturating_sub(1);
        self.surplus_s += (elapsed_s - nominal_s - self.surplus_s) * 0.1;
    }

    pub(super) fn seconds(&self) -> f64 {
        (self.nominal_s + self.surplus_s * self.repetitions as f64).max(0.0)
    }
}

pub(super) fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // A positive signed number, so that the seed can be written into a plan.
    std::hash::RandomState::new().build_hasher().finish() >> 1
}

/// The version of each server, as it reports it where it runs.
fn server_versions(machine: &dyn Machine, plan: &Plan, pitot: &str) -> Vec<(String, String)> {
    let mut versions = vec![("pitot".to_owned(), pitot.to_owned())];
    for server in &plan.servers {
        let Program::External(program) = &server.program else { continue };
        if program.target.as_ref().is_some_and(|target| target.unavailable.is_some())
            || program.version.is_empty()
        {
            continue;
        }
        // A folder or a value that depends on the repetition is not known here.
        let is_fixed = |text: &str| !text.contains('{');
        let env = program.env.iter().filter(|(_, value)| is_fixed(value)).cloned();
        let asked = Asked {
            argv: &program.version,
            cwd: program.cwd.as_deref().filter(|cwd| is_fixed(cwd)),
            env: env.collect(),
        };
        let text = machine.printed_by(&asked).unwrap_or_else(|e| e);
        let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        versions.push((server.name.clone(), line.trim().to_owned()));
    }
    versions
}
