//! One repetition: a fresh server, a warm-up, a measurement, and a clean-up.
//!
//! The stages decide what happens and when; the executor does it. If a stage fails, the executor cleans up, and observations until
//! then are recorded.

mod between;
pub(super) mod context;
mod fault_command;
mod faults;
mod foreign;
mod load;
mod readiness;
mod settle;
pub(super) mod start;
pub(super) mod stop;
mod tail;
#[cfg(test)]
mod tests;

pub(in crate::runner) use between::{lead_through_proxy, quit_between};
pub(super) use context::{Abort, Context, FirstProcess, Shared};
pub(in crate::runner) use fault_command::SERVER_PID;
pub use faults::FaultNews;
pub(in crate::runner) use faults::{Faults, MEASURED_FROM};
pub(super) use load::most_frequent_error;
pub(in crate::runner) use readiness::Readiness;
use std::path::PathBuf;

use pitot_fault::FaultRecord;
use pitot_results::VerdictKind;
use pitot_results::load::{LoadResult, Window};
pub(super) use tail::output_tail;

use crate::monitor::{Pacer, resources};
use pitot_durability::Found;
use pitot_host::CpuSplit;
use pitot_plan::{Cell, CellServer};
use pitot_record::{NOT_TRIED, Profile, Repetition, Verdict};

use crate::runner::evidence::Evidence;
use crate::runner::executor::{Executor, Extent, Observed, Role};
use crate::runner::judge::judge;
use crate::runner::rise::Part;
use crate::runner::under_way::Looks;
use crate::runner::warming::WarmUp;

/// A repetition that is over. Its `block`, `position` and `started_at` are the caller's to fill in.
pub(super) struct Done {
    pub(super) repetition: Repetition,
    /// A program of the cell could not be started.
    pub(super) not_started: bool,
}

/// Why no repetition of a cell is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::runner) struct GivenUp {
    /// What went wrong, in a sentence.
    pub(in crate::runner) reason: String,
    /// The last lines that the programs printed.
    pub(in crate::runner) output_tail: String,
}

impl GivenUp {
    pub(in crate::runner) fn of(repetition: &Repetition) -> GivenUp {
        GivenUp { reason: repetition.verdict.reason.clone(), output_tail: repetition.output_tail.clone() }
    }
}

/// Runs a repetition. `None` if the user stopped it.
pub(super) fn run(
    shared: Shared<'_>,
    executor: &mut dyn Executor,
    cell: &Cell,
    number: usize,
) -> Option<Done> {
    let begin = executor.now();
    let mut context = Context::new(shared, cell, executor);
    let mut progress = Progress::default();
    let outcome = stages(&mut context, number, &mut progress);
    let suspended = [Role::Server, Role::Load].into_iter().find(|role| context.executor.is_suspended(*role));
    let observed = context.executor.finish();
    let not_started = matches!(outcome, Err(Abort::NotStarted(_)));
    let failure = match outcome {
        Err(Abort::Interrupted) => return None,
        Err(Abort::Failed(reason) | Abort::NotStarted(reason)) => {
            Some(with_suspension(suspended.map(|role| context.name(role)), reason))
        }
        Ok(()) => left_behind(&observed),
    };
    let elapsed_s = context.executor.now().since(begin).as_secs_f64();
    let repetition = record(&mut context, progress, observed, failure, elapsed_s);
    Some(Done { repetition, not_started })
}

/// A look at a cell's server, in parts of a warm-up, from its start on: empty if it does not serve so long. `None` if the user
/// stopped it.
pub(super) fn look(
    shared: Shared<'_>,
    executor: &mut dyn Executor,
    cell: &Cell,
    number: usize,
    seconds: f64,
    pacer: Option<&Pacer>,
) -> Option<Vec<Part>> {
    let mut context = Context::new(shared, cell, executor);
    let mut look = || {
        start::prepare(&mut context, number)?;
        start::start_server(&mut context)?;
        let parts = settle::look(&mut context, seconds, pacer)?;
        stop::stop(&mut context)?;
        Ok(parts)
    };
    let parts = match look() {
        Err(Abort::Interrupted) => None,
        Err(Abort::Failed(_) | Abort::NotStarted(_)) => Some(Vec::new()),
        Ok(parts) => Some(parts),
    };
    context.executor.finish();
    parts
}

/// The repetition of a cell of which an earlier one, or the trial, showed that it cannot be measured: it is not tried.
/// What was printed goes to the first of them.
pub(super) fn not_tried(given_up: &mut GivenUp) -> Repetition {
    Repetition {
        verdict: failed(format!("{NOT_TRIED}{}", given_up.reason)),
        output_tail: std::mem::take(&mut given_up.output_tail),
        ..Repetition::default()
    }
}

/// What the stages have found out so far.
#[derive(Default)]
struct Progress {
    ready_s: f64,
    /// The warm-up, if that ended by itself.
    warm_up: Option<WarmUp>,
    /// From the start of the load to its end. Used where the result does not state the measured part itself.
    window: Window,
    result: Option<LoadResult>,
    server_stats: Option<serde_json::Value>,
    faults: Vec<FaultRecord>,
    /// What became of what the server has acknowledged, by name.
    durability: Vec<(String, f64)>,
    /// Looks at the server's connections under load.
    looks: Looks,
    /// What the server did after the measured part.
    profiles: Vec<Profile>,
    /// CPU time of a server on another system, before the load and after it.
    readings: [Option<foreign::Reading>; 2],
}

fn stages(context: &mut Context<'_>, number: usize, progress: &mut Progress) -> Result<(), Abort> {
    start::prepare(context, number)?;
    let has_server = context.cell.server != CellServer::None;
    if has_server {
        let begin = context.executor.now();
        start::start_server(context)?;
        progress.ready_s = context.executor.now().since(begin).as_secs_f64();
        start::start_helpers(context)?;
        context.executor.sample(Extent::Whole);
    }
    let warmup_s = match settle::until_settled(context)? {
        Some(warm_up) => {
            progress.warm_up = Some(warm_up);
            context.shared.plan.warmup_s
        }
        None => context.cell.warmup_s(context.shared.plan),
    };
    lead_through_proxy(context)?;
    let mut faults = Faults::of(context);
    progress.readings[0] = foreign::read(context)?;
    progress.looks = Looks::of(context.cell, context.shared.plan, &context.at.address);
    let watched = load::Watched { window: &mut progress.window, looks: &mut progress.looks };
    let outcome = load::run_load(context, warmup_s, watched, &mut faults);
    progress.faults = faults.records();
    let path = outcome?;
    progress.readings[1] = foreign::read(context)?;
    load::read_result(context, &path, &mut progress.result)?;
    progress.profiles = settle::profiles(context)?;
    if has_server {
        progress.server_stats = stop::stop(context)?;
    }
    check_durability(context, progress)
}

/// Looks for what the server has acknowledged.
fn check_durability(context: &Context<'_>, progress: &mut Progress) -> Result<(), Abort> {
    let Some(dir) = &context.shared.plan.durability else { return Ok(()) };
    let durability = progress.result.as_ref().and_then(|result| result.durability.as_ref());
    let durability =
        durability.ok_or_else(|| Abort::Failed("the load does not say what was acknowledged".into()))?;
    let dir = PathBuf::from(context.at.fill(dir));
    let found = Found::look(&dir, durability).map_err(|e| {
        Abort::Failed(format!("what the server keeps cannot be read in {}: {e}", dir.display()))
    })?;
    progress.durability = found.figures();
    found.complaint(durability.of).map_or(Ok(()), |reason| Err(Abort::Failed(reason)))
}

/// Why a repetition failed, if a signal has suspended one of its programs: then that program's name comes first.
pub(super) fn with_suspension(suspended: Option<String>, reason: String) -> String {
    match suspended {
        Some(name) => format!("{name} was suspended by a signal such as SIGSTOP: {reason}"),
        None => reason,
    }
}

/// The sentence about processes that were left behind, if there are any.
pub(super) fn left_behind(observed: &Observed) -> Option<String> {
    let first = observed.left_behind.first()?;
    let count = observed.left_behind.len();
    let name = &first.name;
    Some(match count {
        1 => format!("a process was left behind: `{name}` (process {})", first.pid),
        _ => format!("{count} processes were left behind, such as `{name}` (process {})", first.pid),
    })
}

/// The verdict on a repetition that was not carried out to its end.
pub(super) fn failed(reason: String) -> Verdict {
    Verdict { kind: VerdictKind::Failed, reason, figures: Vec::new() }
}

/// A verdict, with what readers should know of a valid one besides.
pub(super) fn noted(verdict: Verdict, note: &str) -> Verdict {
    match verdict.kind {
        VerdictKind::Valid if !note.is_empty() => {
            let reasons = [note, &verdict.reason].into_iter().filter(|reason| !reason.is_empty());
            Verdict { reason: reasons.collect::<Vec<_>>().join("; "), ..verdict }
        }
        _ => verdict,
    }
}

/// A verdict, unless the warm-up ended too early for a valid one.
pub(super) fn settled(verdict: Verdict, warm_up: Option<&WarmUp>) -> Verdict {
    match warm_up.and_then(|warm_up| warm_up.unsettled.clone()) {
        Some(reason) if verdict.kind == VerdictKind::Valid => {
            Verdict { kind: VerdictKind::Noisy, reason, ..verdict }
        }
        _ => verdict,
    }
}

fn record(
    context: &mut Context<'_>,
    progress: Progress,
    observed: Observed,
    failure: Option<String>,
    elapsed_s: f64,
) -> Repetition {
    let shared = context.shared;
    let reported = progress.result.as_ref().map_or_else(Window::default, |r| r.clock_ns);
    let reported = context.executor.window(reported);
    let window = if reported.end > reported.start { reported } else { progress.window };
    let is_foreign = context.cell.foreign().is_some();
    let used = resources(&observed.samples, window, observed.lifetime).map(|used| {
        let used = shared.on_machine(used);
        let [from, to] = progress.readings;
        if is_foreign { foreign::seen(used, from, to) } else { used }
    });
    let load_cpus = match shared.plan.is_on_one_host() {
        true => shared.cpus.load.clone(),
        false => shared.plan.cpus_apart(&shared.cpus.load),
    };
    // What runs here where servers would run disturbs no server that is elsewhere.
    let server_cpus = if is_foreign { Vec::new() } else { shared.cpus.server.clone() };
    let cpus = CpuSplit { server: server_cpus, load: load_cpus };
    let mut verdict = match (failure, &progress.result, &used) {
        (Some(reason), _, _) => failed(reason),
        (None, Some(load), Some(used)) => settled(
            judge(&Evidence {
                load,
                used,
                other_processes: &observed.other_processes,
                window,
                throttled: observed.throttled,
                cpus: &cpus,
                writes_files: context.cell.writes_files,
                looks: progress.looks,
            }),
            progress.warm_up.as_ref(),
        ),
        (None, _, _) => failed("the measured part was too short to be sampled".to_owned()),
    };
    verdict = noted(verdict, &context.note);
    verdict.figures.extend(progress.durability);
    let output_tail = if verdict.kind == VerdictKind::Failed { output_tail(context) } else { String::new() };
    Repetition {
        elapsed_s,
        address: context.at.address.clone(),
        ready_s: progress.ready_s,
        warmup_s: progress.warm_up.map(|warm_up| warm_up.seconds),
        verdict,
        load: progress.result,
        server_stats: progress.server_stats,
        resources: used,
        output_tail,
        samples: observed.samples,
        faults: progress.faults,
        profiles: progress.profiles,
        ..Repetition::default()
    }
}
