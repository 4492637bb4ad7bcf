//! The life of `pitot fault`: a fault is made, held for its time, and taken back.

use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_results::Failure;
use pitot_sys::process::SingleThreaded;
use pitot_sys::signal::{Signal, SignalFd};

use crate::commands::say;
use crate::entry::{Fault, Means};
use crate::options::Options;
use crate::undo::Undo;

/// What the line begins with that says when the fault began (`CLOCK_MONOTONIC`, nanoseconds) and what was done.
pub const BEGAN: &str = "began ";
/// What the line begins with that says when it was taken back.
pub const ENDED: &str = "ended ";

/// Makes a fault, holds it for `length` or until a signal asks for its end, and takes it back. A line says when it began and
/// what was done, and another one when it ended. Must be called while the process has one thread.
///
/// # Errors
/// If it cannot be made here, or could not be taken back.
pub fn carry_out(fault: &Fault, options: &Options, length: Nanos) -> Result<(), Failure> {
    let Means::Program { begin, undo } = fault.means else {
        return Err(Failure::misuse(
            format!("`{}` is not made by a program", fault.name),
            "`pitot list faults` says how it is made",
        ));
    };
    (fault.probe)().map_err(|missing| Failure::misuse(missing.to_string(), missing.cure))?;
    let cannot = |e: &std::io::Error| {
        Failure::run(format!("the fault cannot be guarded: {e}"), "raise ulimit -u and -n")
    };
    let proof = SingleThreaded::check().ok_or_else(|| {
        Failure::run("the process has several threads", "run pitot fault as a program of its own")
    })?;
    let mut guardian = Undo::start(proof, fault.name, undo).map_err(|e| cannot(&e))?;
    // After the fork: the guardian heeds no signal but the end of the pipe.
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate]).map_err(|e| cannot(&e))?;
    let asked = now();
    let begun = match begin(options, &mut guardian) {
        Ok(begun) => begun,
        Err(why) => {
            let left = guardian.take_back().err().map(|left| format!(", and {left}")).unwrap_or_default();
            let _ = guardian.recorded();
            return Err(Failure::run(
                format!("the fault `{}` was not made: {why}{left}", fault.name),
                "see pitot fault --help",
            ));
        }
    };
    // To note changes takes a moment, before the first of them is made.
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
            format!("the fault `{}` is not taken back: {why} ({})", fault.name, begun.what),
            "see `pitot host status`, mend what stands in the way, and try `pitot host undo`",
        )
    })?;
    recorded.map_err(|why| {
        Failure::run(
            format!("the fault `{}` is taken back, and that is not recorded: {why}", fault.name),
            "mend that, and run `pitot host undo`, which looks at it again",
        )
    })
}
