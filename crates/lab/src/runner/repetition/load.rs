//! Runs the load, samples until it ends, and reads its result.

use pitot_results::load::{ErrorRow, LoadResult, Window};

use crate::monitor::interval;
use pitot_plan::CellServer;

use super::context::{Abort, Context, nanos};
use super::faults::Faults;
use crate::runner::executor::{Ending, Extent, Role};
use crate::runner::under_way::Looks;

/// Time of a load generator besides warm-up and duration, to connect, to drain and to write its result.
const LOAD_GRACE_S: f64 = 30.0;
/// Additional time for each connection, to open and close it: a million took 90 s on two busy CPUs.
const CONNECTION_GRACE_S: f64 = 1.0 / 2500.0;
/// Timeout of a load without a duration.
const UNTIMED_S: f64 = 300.0;

/// Samples of the server's connections in the measured part.
const LOOKS: f64 = 16.0;

/// What is recorded during the load.
pub(super) struct Watched<'a> {
    /// From its start to its end.
    pub(super) window: &'a mut Window,
    pub(super) looks: &'a mut Looks,
}

/// Starts the load, samples until it ends, and makes faults. Its warm-up takes `warmup_s`. Returns the file with its
/// result.
pub(super) fn run_load(
    context: &mut Context<'_>,
    warmup_s: f64,
    Watched { window, looks }: Watched<'_>,
    faults: &mut Faults,
) -> Result<String, Abort> {
    let path = format!("{}/result.json", context.at.dir);
    let mut argv = context.cell.load_argv(context.shared.plan, warmup_s, &context.at_of_load());
    argv.extend(["--json".to_owned(), path.clone()]);
    context.start(Role::Load, argv)?;
    window.start = context.executor.now().0;
    if context.cell.server == CellServer::None {
        // The measured program starts only now.
        context.executor.sample(Extent::Whole);
    }
    let outcome = watch(context, warmup_s, faults, looks);
    let taken_back = faults.finish(context);
    window.end = context.executor.now().0;
    outcome?;
    taken_back?;
    context.executor.sample(Extent::Whole);
    Ok(path)
}

fn watch(
    context: &mut Context<'_>,
    warmup_s: f64,
    faults: &mut Faults,
    looks: &mut Looks,
) -> Result<(), Abort> {
    let plan = context.shared.plan;
    let grace_s = LOAD_GRACE_S + context.cell.connections() as f64 * CONNECTION_GRACE_S;
    let limit_s = if context.cell.is_timed() { warmup_s + plan.duration_s + grace_s } else { UNTIMED_S };
    let interval = nanos(interval(plan.duration_s).as_secs_f64());
    let begin = context.executor.now();
    let mut next = begin + interval;
    let looks_apart = nanos(plan.duration_s / LOOKS);
    let (mut next_look, looks_end) =
        (begin + nanos(warmup_s) + looks_apart, begin + nanos(warmup_s + plan.duration_s));
    loop {
        let now = context.executor.now();
        if next_look <= now && now < looks_end {
            looks.look(context.executor);
            next_look = context.executor.now() + looks_apart;
        }
        let wait = faults.next().map_or(next, |fault| fault.min(next)).since(now);
        if next <= now {
            context.executor.sample(Extent::Due);
            // After this process was stopped for a while it does not catch up on samples.
            next = (next + interval).max(context.executor.now());
        } else {
            let line = context.executor.wait(std::time::Duration::from_nanos(wait.0));
            line.iter().for_each(|line| faults.heard(line));
        }
        context.check_user()?;
        faults.turn(context)?;
        let running_s = context.executor.now().since(begin).as_secs_f64();
        faults.check_server(context, &format!("{running_s:.1} s into the load"))?;
        context.check_helpers()?;
        if context.executor.ending(Role::Load).is_some() {
            return Ok(());
        }
        if running_s > limit_s {
            return Err(Abort::Failed(format!("the load generator did not end within {limit_s:.0} s")));
        }
    }
}

/// Reads the result. A result without any right reply is stored in `result` and fails the repetition.
pub(super) fn read_result(
    context: &mut Context<'_>,
    path: &str,
    result: &mut Option<LoadResult>,
) -> Result<(), Abort> {
    let ending = context.executor.ending(Role::Load);
    let how = ending.map(|ending| ending.to_string()).unwrap_or_default();
    // A killed load generator may have left half a file, or none.
    if let Some(Ending::Signal(_)) = ending {
        return Err(Abort::Failed(format!("the load generator ended {how} before it wrote its result")));
    }
    let text = context.executor.read_file(path);
    context.check_hosts()?;
    let Some(text) = text else {
        return Err(Abort::Failed(format!("the load generator ended {how} and wrote no result")));
    };
    let read = LoadResult::parse(&text).map_err(|e| match ending {
        Some(Ending::Code(0)) | None => {
            Abort::Failed(format!("the result of the load generator cannot be read: {e}"))
        }
        Some(_) => {
            Abort::Failed(format!("the load generator ended {how}, and its result cannot be read: {e}"))
        }
    })?;
    // With faults a server may stay away; that is a result.
    let read = read.without_domains();
    let failure = why_failed(&read).filter(|_| context.shared.plan.faults.is_empty());
    *result = Some(read);
    failure.map_or(Ok(()), |reason| Err(Abort::Failed(reason)))
}

/// Why a result shows that the server does not work, if so.
fn why_failed(result: &LoadResult) -> Option<String> {
    match result.storm {
        Some(storm) if storm.established < storm.requested => Some(format!(
            "only {} of {} connections were established{}",
            storm.established,
            storm.requested,
            most_frequent_error(&result.errors)
        )),
        // If a reply takes longer than the measured part, its request was sent before.
        None if result.requests.ok == 0
            && (result.requests.completed > 0 || result.throughput_rps == 0.0) =>
        {
            Some(format!("no reply was right{}", most_frequent_error(&result.errors)))
        }
        _ => result.unanswered_since_s.map(|_| result.client.reason.clone()),
    }
}

/// ", but N errors, most of them ...", if there were any.
pub(in crate::runner) fn most_frequent_error(errors: &[ErrorRow]) -> String {
    let all: u64 = errors.iter().map(|e| e.count).sum();
    let worst = errors.iter().max_by_key(|e| e.count);
    worst.map_or_else(String::new, |e| format!(", but {all} errors, most of them {} {}", e.phase, e.kind))
}
