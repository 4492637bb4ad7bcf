//! The smoke test: each cell is run for a moment before the repetitions begin.
//!
//! A server that cannot start or returns only errors would otherwise cost a repetition in every block and be reported at the end. A
//! cell is given up only if a second, longer try fails too, since the first may be too short, and a start may fail once in a while.

use pitot_results::{Failure, VerdictKind};

use super::estimate::MOMENT_S;
use super::event::{Event, Step};
use super::executor::Machine;
use super::look::Rises;
use super::prepare::Prepared;
use super::repetition::{self, GivenUp, Shared};
use super::request::Caller;
use pitot_host::memory_total_bytes;
use pitot_plan::{Cell, FactorLevel, Plan, SERVER_FACTOR, Settling, Value};
use pitot_record::Repetition;

/// Length of the second try's load, at most.
const SECOND_S: f64 = 1.0;
/// Maximum number of idle connections in the smoke test; opening a million takes a minute.
const IDLE_MAX: u64 = 10_000;

/// The results of the smoke test.
#[derive(Debug)]
pub(super) struct Tried {
    /// For each cell.
    pub(super) given_up: Vec<Option<GivenUp>>,
    /// By cell: time until its server was ready, seconds.
    pub(super) ready_s: Vec<f64>,
    /// Cells whose servers need a longer warm-up, with sentences for the report.
    pub(super) rises: Rises,
}

impl Prepared {
    /// The failure of a run if every cell was given up.
    pub(super) fn nothing_left(&self, given_up: &[Option<GivenUp>]) -> Option<Failure> {
        let all: Vec<&GivenUp> = given_up.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let (cell, first) = (self.cells.first()?.label(), all.first()?);
        let others = all.iter().filter(|other| other.reason != first.reason).count();
        let others = if others == 0 { "" } else { " (others for other reasons)" };
        let printed = first.output_tail.trim_end();
        let hint = "run the commands of `--dry-run` by hand";
        Some(Failure::run(
            format!("no cell can be measured: {cell}: {}{others}", first.reason),
            if printed.is_empty() {
                hint.to_owned()
            } else {
                format!("{hint}; its programs printed:\n{printed}")
            },
        ))
    }

    /// Sets longer warm-ups.
    pub(super) fn rise(&mut self, rises: Vec<(usize, Settling)>) {
        rises.into_iter().for_each(|(cell, settling)| self.cells[cell].rises = Some(settling));
    }

    /// Tests the `wanted` cells, if `is_wanted`. A load without a duration is not tested, since it cannot be shortened.
    ///
    /// If the user stops it, untested cells are not given up; the run notices the stop itself.
    pub(super) fn try_cells(
        &self,
        machine: &dyn Machine,
        trial: bool,
        wanted: &dyn Fn(usize) -> bool,
        caller: Caller<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Tried {
        // Without faults, which come later.
        let unharmed = Plan { faults: Vec::new(), ..self.plan.clone() };
        let short =
            Plan { warmup_s: 0.0, duration_s: self.plan.duration_s.min(MOMENT_S), ..unharmed.clone() };
        let longer = Plan { duration_s: self.plan.duration_s.min(SECOND_S), ..unharmed };
        let mut tried = Tried {
            given_up: vec![None; self.cells.len()],
            ready_s: vec![0.0; self.cells.len()],
            rises: Rises::default(),
        };
        if !trial {
            return tried;
        }
        let total = self.cells.len();
        // Beyond the numbers of repetitions.
        let mut number = total * self.plan.repetitions as usize;
        let mut statuses: Vec<Option<u16>> = vec![None; total];
        let mut executor = machine.executor();
        for index in (0..total).filter(|index| wanted(*index) && self.cells[*index].is_timed()) {
            let cell = &self.cells[index];
            if let Some(same) = (0..index).find(|other| wanted(*other) && is_same(&self.cells[*other], cell))
            {
                tried.given_up[index] = tried.given_up[same].clone();
                tried.ready_s[index] = tried.ready_s[same];
                continue;
            }
            let label = cell.label();
            let step = Step { number: index + 1, total, label: &label, left_s: self.estimate_s() };
            watch(&Event::Trying(step));
            if let Err(reason) = machine.set_host(&cell.host) {
                tried.given_up[index] = Some(GivenUp { reason, output_tail: String::new() });
                continue;
            }
            let mut last = None;
            for plan in [&short, &longer] {
                let shared = Shared {
                    plan,
                    pitot: caller.pitot,
                    cpus: &self.cpus,
                    stop: caller.stop,
                    memory_total_bytes: memory_total_bytes(),
                    block: 0,
                };
                number += 1;
                let Some(done) = repetition::run(shared, &mut *executor, &with_few_idle(cell), number) else {
                    return tried;
                };
                let failed = done.repetition.verdict.kind == VerdictKind::Failed;
                let not_started = done.not_started;
                last = Some(done.repetition);
                if !failed || not_started {
                    break;
                }
            }
            let Some(last) = last else { continue };
            tried.ready_s[index] = last.ready_s;
            if last.verdict.kind == VerdictKind::Failed {
                tried.given_up[index] = Some(GivenUp::of(&last));
                watch(&Event::GivenUp { step, tried: &last });
            } else {
                statuses[index] = usual_status(&last);
            }
        }
        for (index, reason) in redirects(&self.cells, &statuses) {
            tried.given_up[index] = Some(GivenUp { reason, output_tail: String::new() });
        }
        let works = |index: usize| wanted(index) && tried.given_up[index].is_none();
        tried.rises = self.look(machine, &works, caller, (number, &tried.ready_s)).unwrap_or_default();
        tried
    }
}

/// The cell with at most [`IDLE_MAX`] idle connections.
fn with_few_idle(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    let idle = cell.load.get("idle").and_then(|idle| pitot_meter::units::count(&idle.to_string()).ok());
    if idle.is_some_and(|idle| idle > IDLE_MAX) {
        cell.load.set("idle", Value::Text(IDLE_MAX.to_string()));
    }
    cell
}

/// Whether two cells run the same commands, as replicates do.
fn is_same(a: &Cell, b: &Cell) -> bool {
    a.server == b.server && a.url == b.url && a.load == b.load && a.files == b.files && a.host == b.host
}

/// The status of most replies.
fn usual_status(repetition: &Repetition) -> Option<u16> {
    let statuses = &repetition.load.as_ref()?.statuses;
    statuses.iter().max_by_key(|(_, count)| **count).map(|(status, _)| *status)
}

/// The cells whose servers redirect where another replies, with the reason: a redirect is less work. A load that names
/// the statuses it expects is not checked.
fn redirects(cells: &[Cell], statuses: &[Option<u16>]) -> Vec<(usize, String)> {
    let of_kind = |kind: u16| {
        let is_of = move |(_, status): &(usize, u16)| *status / 100 == kind;
        statuses.iter().enumerate().filter_map(|(index, status)| Some((index, (*status)?))).filter(is_of)
    };
    let others = |index: usize| -> Vec<&FactorLevel> {
        cells[index].factors.iter().filter(|f| f.name != SERVER_FACTOR).collect()
    };
    let reason = |(index, status): (usize, u16)| {
        if cells[index].load.get("expect-status").is_some() {
            return None;
        }
        let (other, right) = of_kind(2).find(|(other, _)| others(*other) == others(index))?;
        Some((
            index,
            format!(
                "its replies have status {status}, and those of {} have {right}: it redirects instead of serving the page \
                 (request another page, or accept redirects: expect-status = \"{right},{status}\" in [load], --expect-status)",
                cells[other].label()
            ),
        ))
    };
    of_kind(3).filter_map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Fake, Script};
    use super::super::tests::{on, plan, ready};
    use super::super::{Outcome, Request};
    use super::*;
    use pitot_record::{Run, RunState};
    use std::path::Path;

    fn run(text: &str, fake: &mut Fake, told: &mut Vec<String>) -> (Result<Outcome, Failure>, Option<Run>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.pitot");
        let outcome = run_into(&path, text, fake, told);
        (outcome, Run::open(&path).ok())
    }

    fn run_into(
        path: &Path,
        text: &str,
        fake: &mut Fake,
        told: &mut Vec<String>,
    ) -> Result<Outcome, Failure> {
        let request = Request { trial: true, ..on(fake, ready(text), path, &|| false) };
        super::super::run(request, &mut |event| {
            if let Event::GivenUp { step, tried } = event {
                told.push(format!("{}: {}", step.label, tried.verdict.reason));
            }
        })
    }

    fn begun(fake: &Fake) -> usize {
        fake.calls().iter().filter(|call| call.starts_with("begin")).count()
    }

    #[test]
    fn a_run_of_which_nothing_can_be_measured_ends_before_it_begins() {
        let mut fake = Fake::new();
        fake.server.start_error = Some("`./gosrv` could not be started: No such file or directory");
        let mut told = Vec::new();
        let text = plan("server = [\"good\"]").replace("repetitions = 1", "repetitions = 5");
        let (outcome, file) = run(&text, &mut fake, &mut told);
        let failure = outcome.unwrap_err();
        assert_eq!(failure.exit_code(), 1);
        assert!(failure.what.contains("good: `./gosrv` could not be started"), "{}", failure.what);
        assert_eq!(told, ["good: `./gosrv` could not be started: No such file or directory"]);
        assert_eq!(begun(&fake), 1, "what cannot be started is not tried again");
        assert!(file.is_none());
    }

    #[test]
    fn a_file_that_cannot_be_created_is_refused_before_anything_is_tried() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.pitot");
        std::fs::write(&path, "of another run").unwrap();
        for (path, what) in [(path.clone(), "run.pitot exists"), (path.join("x"), "Not a directory")] {
            let mut fake = Fake::new();
            let outcome = run_into(&path, &plan("server = [\"good\"]"), &mut fake, &mut Vec::new());
            let failure = outcome.unwrap_err();
            assert!(failure.exit_code() == 2 && failure.what.contains(what), "{}", failure.what);
            assert_eq!(begun(&fake), 0);
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of another run");
    }

    #[test]
    fn a_load_that_gets_only_errors_is_given_up_after_a_second_and_longer_try() {
        let mut fake = Fake::new();
        let wrong = r#"{"schema": "pitot-load/1", "throughput_rps": 0.0, "duration_s": 0.2,
                       "requests": {"attempted": 1000, "completed": 1000, "ok": 0},
                       "errors": [{"phase": "receive", "kind": "status", "count": 1000}]}"#;
        fake.load.result = Some(wrong.into());
        let (outcome, _) = run(&plan("server = [\"good\"]"), &mut fake, &mut Vec::new());
        assert!(outcome.unwrap_err().what.contains("no reply was right, but 1000 errors"));
        assert_eq!(begun(&fake), 2);
    }

    #[test]
    fn replicates_are_tried_once_and_a_cell_that_works_is_measured() {
        let mut fake = Fake::new();
        let text = plan("replicate = [1, 2, 3]\nserver = [\"good\"]");
        let (outcome, file) = run(&text, &mut fake, &mut Vec::new());
        assert_eq!(outcome.unwrap().state, RunState::Complete);
        assert_eq!(begun(&fake), 1 + 3);
        assert_eq!(file.unwrap().cells.iter().map(|cell| cell.repetitions.len()).sum::<usize>(), 3);
    }

    thread_local! {
        static PARTS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }

    /// A server that is slow for three seconds after it was started, in parts of an eighth of a second.
    fn slow_at_first(line: &str) -> (u64, Vec<String>) {
        match line.split(' ').next() {
            Some("open") => {
                PARTS.set(0);
                (1, vec![r#"{"event": "opened", "connections": 1}"#.into()])
            }
            Some("run") => {
                PARTS.set(PARTS.get() + 1);
                let requests = if PARTS.get() > 24 { 1000 } else { 340 };
                let slice = format!(
                    r#"{{"event": "slice", "duration_us": 125000, "requests": {requests}, "errors": {{}}}}"#
                );
                (125, vec![slice])
            }
            _ => (0, Vec::new()),
        }
    }

    #[test]
    fn a_server_that_is_slow_at_first_is_loaded_until_it_is_not() {
        let mut fake = Fake::new();
        fake.server.accepts_from = Some(3);
        fake.warm_up =
            Script { answer: Some(slow_at_first), ends_at_word: Some("quit"), ..Script::default() };
        let text = plan("server = [\"product\"]\n[servers.product]\ncommand = [\"/opt/product\"]\nurl = \"busy://{address}\"")
            .replace("\"0s\"", "\"100ms\"")
            .replace("repetitions = 1", "repetitions = 80");
        let (outcome, file) = run(&text, &mut fake, &mut Vec::new());
        assert_eq!(outcome.unwrap().state, RunState::Complete);
        let file = file.unwrap();
        let said = &file.info.warnings;
        assert!(
            said.iter().any(|w| w
                .contains("the warm-up of every server lasts 3.8 s, and then until its rate has settled")),
            "{said:?}"
        );
        for repetition in &file.cells[0].repetitions {
            assert!(repetition.warmup_s.is_some_and(|s| s >= 3.75), "{:?}", repetition.warmup_s);
        }
        // A run of a few seconds has no time to look.
        let (_, file) = run(&text.replace("repetitions = 80", "repetitions = 2"), &mut fake, &mut Vec::new());
        assert_eq!(file.unwrap().cells[0].repetitions[0].warmup_s, None);
    }

    #[test]
    fn a_time_that_slow_starts_do_not_fit_into_is_refused_with_one_that_they_do() {
        let text = plan("server = [\"good\"]").replace("repetitions = 1", "repetitions = 6");
        let at = |within_s: f64| {
            let mut prepared = ready(&text);
            prepared.keep_within(within_s).unwrap();
            prepared.check_time(&[20.3], 21.0)
        };
        let refused = at(40.0).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.what.contains("good takes 20.3 s until it is ready"), "{}", refused.what);
        let words = refused.fix.split(' ');
        let needed: f64 = words.filter_map(|word| word.parse().ok()).next().unwrap();
        assert!(needed > 150.0 && needed < 200.0, "{}", refused.fix);
        at(needed).unwrap();
    }

    #[test]
    fn a_server_that_redirects_what_another_answers_is_given_up() {
        let of = |expected: Option<&str>, statuses: [u16; 4]| {
            let text = plan("server = [\"good\", \"mute\"]\nload.connections = [1, 2]");
            let mut cells = ready(&text).cells;
            for cell in &mut cells {
                if let Some(list) = expected {
                    cell.load.set("expect-status", Value::Text(list.to_owned()));
                }
            }
            redirects(&cells, &statuses.map(Some))
        };
        let given_up = of(None, [200, 200, 301, 200]);
        let [(2, reason)] = &given_up[..] else { panic!("{given_up:?}") };
        assert!(reason.starts_with("its replies have status 301, and those of good, 1 have 200"), "{reason}");
        assert!(of(None, [301; 4]).is_empty() && of(None, [200, 200, 204, 206]).is_empty());
        assert!(of(Some("2xx,3xx"), [200, 200, 301, 301]).is_empty());
    }
}
