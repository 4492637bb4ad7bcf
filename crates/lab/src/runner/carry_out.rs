//! Carries out a prepared plan: every repetition in its turn, each recorded as soon as it is over.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pitot_results::{Failure, VerdictKind, rfc3339};

use crate::host::{Fingerprint, memory_total_bytes};
use crate::plan::{Plan, Program};
use crate::record::{Repetition, RunState};
use crate::runfile::{NewCell, NewRun, RunWriter};

use super::executor::Executor;
use super::local::{Guardian, Local};
use super::prepare::{Prepared, nominal_s};
use super::repetition::{self, GivenUp, Shared};
use super::schedule::{Turn, schedule};

/// What a run needs besides its plan.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// How `pitot` is started: a path.
    pub pitot: &'a str,
    /// The version, for the record.
    pub version: &'a str,
    /// The command line, for the record.
    pub command_line: &'a str,
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
    /// The repetition if it is over; none if it begins.
    pub finished: Option<&'a Repetition>,
    /// Seconds until the end of the run, estimated.
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

impl Prepared {
    /// Runs the plan on this machine, into a new file.
    ///
    /// # Errors
    /// If the file cannot be written. A repetition that fails is no error but a verdict.
    pub fn run(
        mut self,
        output: &Path,
        setting: Setting<'_>,
        guardian: Guardian,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        if !guardian.is_there() {
            self.warnings.push(
                "No guardian process could be started: had the run been killed, children of servers could have \
                 stayed."
                    .into(),
            );
        }
        let cpus = self.cpus.clone();
        self.run_on(&mut Local::new(guardian, &cpus), output, setting, progress)
    }

    /// Runs the plan with an executor, into a new file.
    pub(super) fn run_on(
        mut self,
        executor: &mut dyn Executor,
        output: &Path,
        setting: Setting<'_>,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let seed = self.plan.seed.unwrap_or_else(draw_seed);
        self.plan.seed = Some(seed);
        let tried = self.try_cells(executor, &|_| true, setting, progress);
        if let Some(failure) = self.nothing_left(&tried.given_up) {
            return Err(failure);
        }
        self.warnings.extend(tried.unlike_replies);
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
                started_at: &rfc3339(SystemTime::now()),
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
        self.carry_out(executor, writer, &[], tried.given_up, seed, setting, progress)
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

    /// Runs the repetitions that are not `done`. The cells are those of the file, in its order; repetitions of those that
    /// are given up are recorded as failed.
    #[allow(clippy::too_many_arguments)] // Each is a thing of its own, and there are two callers.
    pub(super) fn carry_out(
        &self,
        executor: &mut dyn Executor,
        mut writer: RunWriter,
        done: &[Turn],
        mut given_up: Vec<Option<GivenUp>>,
        seed: u64,
        setting: Setting<'_>,
        progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<Outcome, Failure> {
        let shared = Shared {
            plan: &self.plan,
            pitot: setting.pitot,
            cpus: &self.cpus,
            stop: setting.stop,
            memory_total_bytes: memory_total_bytes(),
        };
        let turns = schedule(&self.experiments(), self.plan.repetitions, self.plan.order, seed);
        let nominal_of = |turn: &Turn| nominal_s(&self.plan, &self.cells[turn.cell]);
        let mut left = TimeLeft::of(turns.iter().filter(|turn| !done.contains(turn)).map(nominal_of));
        let mut failed = 0;
        let mut state = RunState::Complete;
        for (position, turn) in turns.iter().enumerate().filter(|(_, turn)| !done.contains(turn)) {
            let cell = &self.cells[turn.cell];
            let label = cell.label();
            let mut news = Progress {
                trial: false,
                number: position + 1,
                total: turns.len(),
                label: &label,
                finished: None,
                left_s: left.seconds(),
            };
            progress(&news);
            let started_at = rfc3339(SystemTime::now());
            let mut repetition = match &mut given_up[turn.cell] {
                Some(_) if (setting.stop)() => {
                    state = RunState::Interrupted;
                    break;
                }
                Some(given_up) => repetition::not_tried(given_up),
                None => {
                    let Some(done) = repetition::run(shared, executor, cell, position) else {
                        state = RunState::Interrupted;
                        break;
                    };
                    if done.not_started {
                        // What was printed is recorded with this repetition.
                        let reason = done.repetition.verdict.reason.clone();
                        given_up[turn.cell] = Some(GivenUp { reason, output_tail: String::new() });
                    }
                    done.repetition
                }
            };
            repetition.block = turn.block;
            repetition.position = position as u32;
            repetition.started_at = started_at;
            writer.record(turn.cell, &repetition)?;
            failed += usize::from(repetition.verdict.kind == VerdictKind::Failed);
            left.passed(nominal_of(turn), repetition.elapsed_s);
            news.left_s = left.seconds();
            news.finished = Some(&repetition);
            progress(&news);
        }
        let path = writer.path().to_owned();
        writer.finish(state, &rfc3339(SystemTime::now()), &Fingerprint::collect())?;
        Ok(Outcome { path, state, failed })
    }
}

/// An estimate of the time until the end of the run, which learns how much longer than nominal a repetition takes.
struct TimeLeft {
    nominal_s: f64,
    repetitions: usize,
    surplus_s: f64,
}

impl TimeLeft {
    fn of(nominal_s: impl Iterator<Item = f64>) -> TimeLeft {
        let start = TimeLeft { nominal_s: 0.0, repetitions: 0, surplus_s: 0.0 };
        nominal_s.fold(start, |left, s| TimeLeft {
            nominal_s: left.nominal_s + s,
            repetitions: left.repetitions + 1,
            ..left
        })
    }

    fn passed(&mut self, nominal_s: f64, elapsed_s: f64) {
        self.nominal_s -= nominal_s;
        self.repetitions -= 1;
        self.surplus_s += (elapsed_s - nominal_s - self.surplus_s) * 0.1;
    }

    fn seconds(&self) -> f64 {
        (self.nominal_s + self.surplus_s * self.repetitions as f64).max(0.0)
    }
}

fn draw_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // A positive signed number, so that the seed can be written into a plan.
    std::hash::RandomState::new().build_hasher().finish() >> 1
}

/// The version of each server, as it reports it.
fn server_versions(plan: &Plan, pitot: &str) -> Vec<(String, String)> {
    let mut versions = vec![("pitot".to_owned(), pitot.to_owned())];
    for server in &plan.servers {
        let Program::External(program) = &server.program else { continue };
        let Some((name, arguments)) = program.version.split_first() else { continue };
        let mut command = std::process::Command::new(name);
        command.args(arguments).stdin(std::process::Stdio::null());
        // A folder or a value that depends on the repetition is not known here.
        let is_fixed = |text: &str| !text.contains('{');
        if let Some(cwd) = program.cwd.as_deref().filter(|cwd| is_fixed(cwd)) {
            command.current_dir(cwd);
        }
        command
            .envs(program.env.iter().filter(|(_, value)| is_fixed(value)).map(|(name, value)| (name, value)));
        let output = command.output();
        let text = match output {
            Ok(output) => [output.stdout, output.stderr].concat(),
            Err(e) => e.to_string().into_bytes(),
        };
        let text = String::from_utf8_lossy(&text);
        let line = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("nothing");
        versions.push((server.name.clone(), line.trim().to_owned()));
    }
    versions
}
