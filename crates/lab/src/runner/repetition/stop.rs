//! Stops programs in order, and reads the counters that a server of Pitot prints at its end.

use std::time::Duration;

use pitot_meter::Nanos;
use pitot_sys::spawn::Stop;

use pitot_plan::{CellServer, OWN};

use super::context::{Abort, Context};
use crate::runner::executor::{Ending, Output, Role};

/// Interval of checks whether a program has ended.
const STOP_INTERVAL: Duration = Duration::from_millis(5);

/// Stops the helpers and the server. Returns the counters of a server of Pitot.
pub(in crate::runner) fn stop(context: &mut Context<'_>) -> Result<Option<serde_json::Value>, Abort> {
    ask(context)?;
    wait(context)
}

/// Stops the helpers and asks the server to end.
pub(in crate::runner) fn ask(context: &mut Context<'_>) -> Result<(), Abort> {
    context.check_server("at the end of the load")?;
    for index in 0..context.helpers_started {
        let role = Role::Helper(index);
        if context.executor.ending(role).is_none() {
            context.executor.stop(role, Stop::Terminate);
        }
        wait_for_end(context, role)?;
    }
    ask_server(context)
}

/// Asks only the server to end, as its plan says.
pub(super) fn ask_server(context: &mut Context<'_>) -> Result<(), Abort> {
    let stop_command = context.cell.stop_argv(&context.at);
    if !stop_command.is_empty() {
        return context.start(Role::Stop, stop_command);
    }
    let signal = match &context.cell.server {
        CellServer::External(program) => signal(&program.stop),
        CellServer::Pitot { .. } | CellServer::None => Stop::Terminate,
    };
    context.executor.stop(Role::Server, signal);
    Ok(())
}

/// Waits until the server has ended. Returns the counters of a server of Pitot, if it prints any.
pub(in crate::runner) fn wait(context: &mut Context<'_>) -> Result<Option<serde_json::Value>, Abort> {
    let ending = wait_for_end(context, Role::Server)?;
    // Only a note for other programs; the exit status of Pitot, also as a plan's command, must be 0.
    if let CellServer::External(program) = &context.cell.server
        && program.command.first().is_none_or(|word| word != OWN)
    {
        if !is_clean(ending, &program.stop) {
            context.note = format!("the server ended {ending} when it was asked to stop");
        }
        return Ok(None);
    }
    if ending != Ending::Code(0) {
        return Err(Abort::Failed(format!("the server ended {ending} when it was asked to stop")));
    }
    Ok(last_object(&whole_output(context, Role::Server).stdout))
}

/// The output of an ended program, once its reader has caught up.
pub(super) fn whole_output(context: &mut Context<'_>, role: Role) -> Output {
    let deadline = context.deadline(context.shared.plan.stop_timeout_s);
    while !context.executor.output(role).stdout_closed && context.executor.now() < deadline {
        context.executor.wait(STOP_INTERVAL);
    }
    context.executor.output(role)
}

pub(super) fn wait_for_end(context: &mut Context<'_>, role: Role) -> Result<Ending, Abort> {
    let deadline = stop_deadline(context, role);
    wait_for_end_by(context, role, deadline)
}

/// Waits until a program has ended. An error if it has not by its deadline.
pub(super) fn wait_for_end_by(
    context: &mut Context<'_>,
    role: Role,
    deadline: Nanos,
) -> Result<Ending, Abort> {
    loop {
        if let Some(ending) = look_for_end(context, role, deadline)? {
            return Ok(ending);
        }
        context.executor.wait(STOP_INTERVAL);
    }
}

/// The deadline of a program that is asked to end now.
pub(super) fn stop_deadline(context: &mut Context<'_>, role: Role) -> Nanos {
    let timeout_s = context.stop_timeout_s(role);
    context.deadline(timeout_s)
}

/// How a program has ended, if it has. An error if it has not by its deadline.
pub(super) fn look_for_end(
    context: &mut Context<'_>,
    role: Role,
    deadline: Nanos,
) -> Result<Option<Ending>, Abort> {
    let ending = context.executor.ending(role);
    if ending.is_some() {
        return Ok(ending);
    }
    context.check_hosts()?;
    if context.executor.now() > deadline {
        let (name, timeout_s) = (context.name(role), context.stop_timeout_s(role));
        return Err(Abort::Failed(format!("{name} did not stop within {timeout_s} s of being asked to")));
    }
    Ok(None)
}

/// Whether a program ended properly after this signal: with code 0, by the signal, or with 128 plus its number, as a shell
/// or a runtime reports it.
fn is_clean(ending: Ending, signal: &str) -> bool {
    let number = match signal {
        "INT" => 2,
        "QUIT" => 3,
        _ => 15,
    };
    match ending {
        Ending::Code(code) => code == 0 || code == 128 + number,
        Ending::Signal(by) => by == number,
    }
}

fn signal(name: &str) -> Stop {
    match name {
        "INT" => Stop::Interrupt,
        "QUIT" => Stop::Quit,
        _ => Stop::Terminate,
    }
}

/// The last JSON object in a program's output, in one line or in several.
fn last_object(text: &str) -> Option<serde_json::Value> {
    let object = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text).ok().filter(serde_json::Value::is_object)
    };
    if let Some(line) = text.lines().rev().find(|l| !l.trim().is_empty())
        && let Some(found) = object(line)
    {
        return Some(found);
    }
    let start = text.rfind("\n{")?;
    object(&text[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_in_order_by_itself_or_by_the_signal_that_it_was_sent() {
        for (ending, signal, clean) in [
            (Ending::Code(0), "TERM", true),
            (Ending::Code(143), "TERM", true),
            (Ending::Signal(15), "TERM", true),
            (Ending::Code(130), "INT", true),
            (Ending::Code(1), "TERM", false),
            (Ending::Code(143), "QUIT", false),
            (Ending::Signal(11), "TERM", false),
        ] {
            assert_eq!(is_clean(ending, signal), clean, "{ending} after {signal}");
        }
    }

    #[test]
    fn counters_are_found_at_the_end_of_what_a_server_printed() {
        let of = |text: &str| last_object(text).map(|v| v["accepted"].as_i64().unwrap_or(-1));
        assert_eq!(of("ready 127.0.0.1:1\n{\"accepted\": 5}\n"), Some(5));
        assert_eq!(of("ready 127.0.0.1:1\n{\n  \"accepted\": 6\n}\n\n"), Some(6));
        assert_eq!(of("ready 127.0.0.1:1\n"), None);
        assert_eq!(of("[1]\n"), None);
    }
}
