//! `pitot fault`: makes a fault, holds it, and undoes it.

use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_sys::process::SingleThreaded;
use pitot_sys::signal::{Signal, SignalFd};

use crate::commands::say;
use crate::entry::{Fault, Means};
use crate::options::Options;
use crate::undo::Undo;

/// Prefix of the line with the begin of the fault (`CLOCK_MONOTONIC`, nanoseconds) and what was done.
pub const BEGAN: &str = "began ";
/// Prefix of the line with the end of the fault.
pub const ENDED: &str = "ended ";

/// Makes a fault, holds it for `length` or until a signal, and undoes it. It prints a line with the begin and what was
/// done, and a line with the end. Must be called while the process has one thread.
///
/// # Errors
/// If it cannot be made here, or could not be undone.
pub fn carry_out(fault: &Fault, options: &Options, length: Nanos) -> Result<(), Failure> {
    let Means::Program { begin, undo } = fault.means else {
        return Err(Failure::misuse(
            format!("`pitot fault` cannot make `{}`", fault.name),
            "see how it is made: `pitot list faults`",
        ));
    };
    (fault.probe)().map_err(|missing| Failure::misuse(missing.to_string(), missing.fix))?;
    let cannot = |e: &std::io::Error| {
        Failure::run(format!("the fault cannot be guarded: {e}"), "raise ulimit -u and -n")
    };
    let proof = SingleThreaded::check().ok_or_else(|| {
        Failure::run("the process has several threads", "run pitot fault as a separate program")
    })?;
    let mut guardian = Undo::start(proof, fault.name, undo).map_err(|e| cannot(&e))?;
    // After the fork: the guardian ignores signals, and waits for the end of the pipe.
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| cannot(&e))?;
    let asked = now();
    let begun = match begin(options, &mut guardian) {
        Ok(begun) => begun,
        Err(why) => {
            let left = guardian.take_back().err().map(|left| format!(", and {left}")).unwrap_or_default();
            let _ = guardian.recorded();
            return Err(Failure::run(
                format!("the fault `{}` was not made: {why}{left}", fault.name),
                "run pitot fault --help",
            ));
        }
    };
    // Notes are written before the first change, which takes a moment.
    let at = guardian.noted().unwrap_or(asked);
    say(format_args!("{BEGAN}{} {}", at.0, begun.what));
    let ends = if fault.is_moment { at } else { at + length };
    while let left @ 1.. = ends.since(now()).0 {
        if signals.wait(Some(Duration::from_nanos(left))).is_some() {
            break;
        }
    }
    drop(begun.held);
    let taken_back = guardian.take_back();
    say(format_args!("{ENDED}{}", now().0));
    let recorded = guardian.recorded();
    taken_back.map_err(|why| {
        Failure::run(
            format!("the fault `{}` could not be undone: {why} ({})", fault.name, begun.what),
            "run `pitot host status`, fix the cause, then run `pitot host undo`",
        )
    })?;
    recorded.map_err(|why| {
        Failure::run(
            format!("the fault `{}` was undone, but that could not be recorded: {why}", fault.name),
            "fix that, then run `pitot host undo`, which checks it again",
        )
    })
}
