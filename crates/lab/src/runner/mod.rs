//! The runner: takes a plan through all its repetitions and writes the run file.
//!
//! Whatever happens to one repetition, the run goes on; whatever happens to the run, the file is whole and no process
//! is left. The order is a function of plan and seed, so an interrupted run goes on where it was.

mod guardian;
mod process;
mod repetition;
mod schedule;
#[cfg(test)]
mod tests;
mod verdict;

use std::path::{Path, PathBuf};

use pitot_results::Failure;

pub use guardian::Guardian;
use repetition::Bench;
use schedule::{Turn, schedule};

use crate::clock::rfc3339_now;
use crate::host::{memory_total_bytes, split_cpus};
use crate::plan::label;
use crate::runfile::{NewCell, NewRun};
use crate::{
    Catalog, Cell, CpuSplit, Fingerprint, HostLimits, Placement, Plan, Program, REPLICATE_FACTOR, Repetition,
    Run, RunState, RunWriter, SkipRecord, VerdictKind, expand,
};

/// Seconds that a repetition takes besides warm-up and measurement: two processes start, connect, and stop.
const OVERHEAD_S: f64 = 0.3;
/// Seconds that a load takes that has no duration.
const UNTIMED_GUESS_S: f64 = 0.5;
/// The port in commands that are shown.
const SHOWN_PORT: u16 = 18080;

/// A plan made ready for this machine.
#[derive(Debug)]
pub struct Prepared {
    /// The plan.
    pub plan: Plan,
    /// As its author wrote it.
    pub source: String,
    /// What will be run.
    pub cells: Vec<Cell>,
    /// What will not, and why.
    pub skips: Vec<SkipRecord>,
    /// Which CPUs do what.
    pub cpus: CpuSplit,
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// What a run needs besides its plan.
#[derive(Debug)]
pub struct Setting<'a> {
    /// How `pitot` is started: a path.
    pub pitot: &'a str,
    /// The version, for the record.
    pub version: &'a str,
    /// The command line, for the record.
    pub command_line: &'a str,
    /// Who sweeps up.
    pub guardian: Guardian,
}

/// News of a run.
#[derive(Debug)]
pub struct Progress<'a> {
    /// The repetition's number, from 1.
    pub number: usize,
    /// How many there are.
    pub total: usize,
    /// The cell.
    pub label: &'a str,
    /// The repetition if it is over; none if it begins.
    pub finished: Option<&'a Repetition>,
    /// Seconds until the end of the run, as far as one can tell.
    pub left_s: f64,
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

/// A cell's commands as a user could paste them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownCell {
    /// The levels.
    pub label: String,
    /// Starts the server; several lines if it needs files.
    pub server: String,
    /// Makes the load, once the server is ready.
    pub load: String,
}

/// Makes a plan ready for this machine.
///
/// # Errors
/// If nothing can be run, or the CPUs that the plan names are not there.
pub fn prepare(plan: Plan, source: String, catalog: &Catalog) -> Result<Prepared, Failure> {
    let descriptors =
        pitot_sys::limits::raise_descriptors().unwrap_or_else(|_| pitot_sys::limits::descriptors());
    let (cells, skips) = expand(&plan, catalog, &HostLimits { descriptors, missing: missing(&plan) });
    if cells.is_empty() {
        let first = skips.first().map_or("it has no cells", |s| s.reason.as_str());
        return Err(Failure::misuse(
            format!("nothing of the plan can be run here: {first}"),
            "take another plan, or `pitot list pairs` to see what can",
        ));
    }
    let cpus = split_cpus(plan.server_cpus.as_deref(), plan.load_cpus.as_deref())?;
    let mut warnings = Vec::new();
    if cpus.is_shared() {
        warnings.push(format!(
            "Servers and load generator share CPU {}: throughput is that of both together. Compare cells with each \
             other and by CPU per request, not with figures of other machines.",
            cpus.server_list()
        ));
    }
    Ok(Prepared { plan, source, cells, skips, cpus, warnings })
}

impl Prepared {
    /// Seconds that the whole plan will take.
    pub fn estimate_s(&self) -> f64 {
        self.cells.iter().map(|cell| nominal_s(&self.plan, cell)).sum::<f64>()
            * f64::from(self.plan.repetitions)
    }

    /// The commands of all cells.
    pub fn commands(&self, pitot: &str) -> Vec<ShownCell> {
        let show = |(number, cell): (usize, &Cell)| {
            let at = self.shown_placement(pitot, number);
            ShownCell {
                label: cell.label(),
                server: cell.server_line(&at),
                load: cell.load_line(&self.plan, &at),
            }
        };
        self.cells.iter().enumerate().map(show).collect()
    }

    /// The replicate of each cell.
    fn experiments(&self) -> Vec<Option<&str>> {
        let replicate = |cell: &'_ Cell| cell.factors.iter().position(|f| f.name == REPLICATE_FACTOR);
        self.cells.iter().map(|cell| replicate(cell).map(|at| cell.factors[at].level.as_str())).collect()
    }

    fn shown_placement(&self, pitot: &str, number: usize) -> Placement {
        let dir = std::env::temp_dir().join(format!("pitot-{}-{}", self.plan.name, number + 1));
        Placement {
            pitot: pitot.to_owned(),
            address: format!("127.0.0.1:{SHOWN_PORT}"),
            dir: dir.to_string_lossy().into_owned(),
            server_cpus: self.cpus.server_list(),
            load_cpus: self.cpus.load_list(),
            helpers: (SHOWN_PORT + 1..)
                .zip(&self.plan.helpers)
                .map(|(port, helper)| (helper.name.clone(), format!("127.0.0.1:{port}")))
                .collect(),
        }
    }

    /// Runs the plan into a new file.
    ///
    /// # Errors
    /// If the file cannot be written. A repetition that fails is no error but a verdict.
    pub fn run(
        mut self,
        output: &Path,
        setting: Setting<'_>,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let seed = self.plan.seed.unwrap_or_else(draw_seed);
        self.plan.seed = Some(seed);
        if !setting.guardian.is_there() {
            self.warnings.push(
                "No guardian stood by: had the run been killed, children of servers could have stayed."
                    .into(),
            );
        }
        let cells: Vec<NewCell> = self
            .cells
            .iter()
            .zip(self.commands(setting.pitot))
            .map(|(cell, shown)| NewCell {
                factors: cell.factors.clone(),
                server_command: shown.server,
                load_command: shown.load,
            })
            .collect();
        let writer = RunWriter::create(
            output,
            &NewRun {
                command_line: setting.command_line,
                version: setting.version,
                seed,
                started_at: &rfc3339_now(),
                server_cpus: &self.cpus.server_list(),
                load_cpus: &self.cpus.load_list(),
                warnings: &self.warnings,
                server_versions: &server_versions(&self.plan, setting.version),
                plan_source: &self.source,
                plan: &self.plan,
                host: &Fingerprint::collect(),
                skips: &self.skips,
                cells: &cells,
            },
        )?;
        self.go(writer, &[], seed, setting, stop, progress)
    }

    /// Runs what is not `done`. The cells are those of the file, in its order.
    fn go(
        &self,
        mut writer: RunWriter,
        done: &[Turn],
        seed: u64,
        mut setting: Setting<'_>,
        stop: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let turns = schedule(&self.experiments(), self.plan.repetitions, self.plan.order, seed);
        let total = turns.len();
        let cell_of = |turn: &Turn| &self.cells[turn.cell];
        let is_done = |turn: &Turn| done.contains(turn);
        let mut left_s: f64 =
            turns.iter().filter(|t| !is_done(t)).map(|t| nominal_s(&self.plan, cell_of(t))).sum();
        let mut left = turns.iter().filter(|t| !is_done(t)).count();
        // How much longer than thought a repetition takes, learned as the run goes on.
        let mut surplus_s = 0.0;
        let mut failed = 0;
        let mut state = RunState::Complete;

        // The lab itself belongs to the load's side.
        let allowed = pitot_sys::affinity::allowed().unwrap_or_default();
        let _ = pitot_sys::affinity::pin(&self.cpus.load);
        let mut bench = Bench {
            plan: &self.plan,
            pitot: setting.pitot,
            cpus: &self.cpus,
            guardian: &mut setting.guardian,
            stop,
            memory_total_bytes: memory_total_bytes(),
        };
        for (position, turn) in turns.iter().enumerate() {
            if is_done(turn) {
                continue;
            }
            let cell = cell_of(turn);
            let label = cell.label();
            let mut news = Progress {
                number: position + 1,
                total,
                label: &label,
                finished: None,
                left_s: (left_s + surplus_s * left as f64).max(0.0),
            };
            progress(&news);
            let started_at = rfc3339_now();
            let Some(mut repetition) = repetition::run(&mut bench, cell, position) else {
                state = RunState::Interrupted;
                break;
            };
            repetition.block = turn.block;
            repetition.position = position as u32;
            repetition.started_at = started_at;
            writer.record(turn.cell, &repetition)?;
            let nominal = nominal_s(&self.plan, cell);
            left -= 1;
            left_s -= nominal;
            surplus_s += (repetition.elapsed_s - nominal - surplus_s) * 0.1;
            failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
            news.left_s = (left_s + surplus_s * left as f64).max(0.0);
            news.finished = Some(&repetition);
            progress(&news);
        }
        let _ = pitot_sys::affinity::pin(&allowed);
        let path = writer.path().to_owned();
        writer.finish(state, &rfc3339_now(), &Fingerprint::collect())?;
        Ok(Outcome { path, state, failed })
    }
}

/// Goes on with a run that was interrupted or killed: the repetitions that are not in its file are run, in the order
/// that its seed gives.
///
/// # Errors
/// If the file cannot be read or written, or the machine has changed so that a cell can no longer be run.
pub fn resume(
    path: &Path,
    catalog: &Catalog,
    setting: Setting<'_>,
    stop: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Outcome, Failure> {
    let run = Run::open(path)?;
    let mut prepared = prepare(run.plan.clone(), run.info.plan_source.clone(), catalog)?;
    for (place, record) in run.cells.iter().enumerate() {
        let known = prepared.cells.iter().position(|cell| cell.factors == record.factors);
        let Some(at) = known else {
            let skip = prepared.skips.iter().find(|s| s.factors == record.factors);
            let reason = skip.map_or("this version does not know it", |s| s.reason.as_str());
            return Err(Failure::misuse(
                format!(
                    "the cell `{}` of {} can no longer be run: {reason}",
                    label(&record.factors),
                    path.display()
                ),
                "mend that, or start a new run",
            ));
        };
        prepared.cells.swap(place, at);
    }
    // Cells that have become possible since stay out: they were not part of this run.
    prepared.cells.truncate(run.cells.len());
    let done: Vec<Turn> = run
        .cells
        .iter()
        .enumerate()
        .flat_map(|(cell, record)| record.repetitions.iter().map(move |r| Turn { cell, block: r.block }))
        .collect();
    let mut writer = RunWriter::resume(path)?;
    for (name, before, now) in [
        ("server CPUs", &run.info.server_cpus, prepared.cpus.server_list()),
        ("load CPUs", &run.info.load_cpus, prepared.cpus.load_list()),
        ("version", &run.info.version, setting.version.to_owned()),
    ] {
        if *before != now {
            writer.warn(&format!("The run was resumed with other {name}: {now}, not {before}."))?;
        }
    }
    for change in run.host_before.changes_to(&Fingerprint::collect()) {
        writer.warn(&format!(
            "The run was resumed on a machine that had changed: {} {} was `{}` and is `{}`.",
            change.group,
            change.name,
            change.before.as_deref().unwrap_or(""),
            change.after.as_deref().unwrap_or("")
        ))?;
    }
    prepared.go(writer, &done, run.info.seed, setting, stop, progress)
}

/// Programs that the plan calls by name and that are in no folder of `PATH`.
fn missing(plan: &Plan) -> Vec<String> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&folders).any(|folder| folder.join(name).is_file());
    let commands = plan.servers.iter().filter_map(|s| match &s.program {
        Program::External(program) => program.command.first(),
        Program::Pitot(_) => None,
    });
    commands.filter(|name| !name.contains(['/', '{']) && !is_there(name)).cloned().collect()
}

fn nominal_s(plan: &Plan, cell: &Cell) -> f64 {
    let load_s = if cell.is_timed() { plan.warmup_s + plan.duration_s } else { UNTIMED_GUESS_S };
    load_s + OVERHEAD_S
}

fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // A positive signed number, so that the seed can be written into a plan.
    std::hash::RandomState::new().build_hasher().finish() >> 1
}

/// What each server says of its version.
fn server_versions(plan: &Plan, pitot: &str) -> Vec<(String, String)> {
    let mut versions = vec![("pitot".to_owned(), pitot.to_owned())];
    for server in &plan.servers {
        let Program::External(program) = &server.program else { continue };
        let Some((name, arguments)) = program.version.split_first() else { continue };
        let output =
            std::process::Command::new(name).args(arguments).stdin(std::process::Stdio::null()).output();
        let said = match output {
            Ok(output) => [output.stdout, output.stderr].concat(),
            Err(e) => e.to_string().into_bytes(),
        };
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        versions.push((server.name.clone(), line.trim().to_owned()));
    }
    versions
}
