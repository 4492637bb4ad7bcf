//! The metric of a plan, where the clock of its kernels does not measure it: the nearest one that it does.

use pitot_kernel::Clock;
use pitot_lab::Prepared;
use pitot_plan::CellServer;
use pitot_record::{Run, metric};
use pitot_results::Failure;

/// Metrics of instructions, and what stands for them in time.
const IN_TIME: [(&str, &str); 3] = [
    ("instructions-per-request", "throughput"),
    ("server-instructions", "cpu-per-request"),
    (PER_OPERATION, "time-per-operation"),
];
/// Of primitives of the machine, which have no server.
const PER_OPERATION: &str = "instructions-per-operation";
const OF_OPERATIONS: [&str; 2] = ["time-per-operation", "cpu-per-operation"];

/// Changes the metric if it has to be; returned is a sentence that says so.
///
/// # Errors
/// If nothing of the plan can be measured by this clock.
pub(super) fn fit(prepared: &mut Prepared, clock: Clock) -> Result<Option<String>, Failure> {
    let has_server = prepared.cells.iter().all(|cell| cell.server != CellServer::None);
    let asked = prepared.plan.metric.clone();
    let Some(measured) = measured_in(clock, &asked) else { return Ok(None) };
    if !has_server && measured == PER_REQUEST {
        return Err(Failure::misuse(
            format!(
                "the plan asks for `{asked}`, and on an emulated processor only floor has a figure without a server"
            ),
            "to count the instructions of a command in a guest: pitot kernel run --instructions NAME -- COMMAND",
        ));
    }
    measured.clone_into(&mut prepared.plan.metric);
    let what = match clock {
        Clock::Instructions => "an emulated processor measures no time",
        Clock::Time | Clock::Emulated => "a clock that counts time counts no instructions",
    };
    Ok(Some(format!("The plan asks for `{asked}`, but {what}: `{measured}` is measured instead.")))
}

/// Refuses to continue a run by another clock than the one it was started with: a KVM that starts no kernel today may have
/// started one yesterday.
///
/// # Errors
/// If repetitions of the run were measured by another clock.
pub(super) fn check(run: &Run, clock: Clock) -> Result<(), Failure> {
    let counted = run.cells.iter().flat_map(|cell| &cell.repetitions).map(|r| r.counts_instructions());
    if are_measured_by(clock, counted) {
        return Ok(());
    }
    let (was, is) = match clock {
        Clock::Instructions => ("time", "instructions"),
        Clock::Time | Clock::Emulated => ("instructions", "time"),
    };
    Err(Failure::misuse(
        format!("guests of the run in {} counted {was}, and here they count {is}", run.path.display()),
        "resume it where it was started, or start a new run: the two cannot be compared",
    ))
}

/// Whether all repetitions, of which it is said whether they counted instructions, were measured by a clock.
fn are_measured_by(clock: Clock, mut counted: impl Iterator<Item = bool>) -> bool {
    counted.all(|instructions| instructions == (clock == Clock::Instructions))
}

const PER_REQUEST: &str = "instructions-per-request";

fn measured_in(clock: Clock, asked: &str) -> Option<&'static str> {
    match clock {
        Clock::Instructions if OF_OPERATIONS.contains(&asked) => Some(PER_OPERATION),
        Clock::Instructions => metric::find(asked).filter(|metric| metric.is_of_time()).map(|_| PER_REQUEST),
        Clock::Time | Clock::Emulated => {
            IN_TIME.iter().find(|(name, _)| *name == asked).map(|(_, in_time)| *in_time)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_gone_on_with_by_the_clock_with_which_it_was_begun() {
        let by = |clock, counted: &[bool]| are_measured_by(clock, counted.iter().copied());
        assert!(by(Clock::Instructions, &[true, true]) && by(Clock::Time, &[false]));
        assert!(by(Clock::Time, &[]), "nothing was measured yet");
        assert!(!by(Clock::Time, &[true]) && !by(Clock::Instructions, &[true, false]));
    }

    #[test]
    fn a_metric_that_a_clock_does_not_measure_is_replaced_by_the_nearest() {
        let instructions = |asked| measured_in(Clock::Instructions, asked);
        assert_eq!(instructions("throughput"), Some("instructions-per-request"));
        assert_eq!(instructions("latency-p99"), Some("instructions-per-request"));
        assert_eq!(instructions("time-per-operation"), Some("instructions-per-operation"));
        assert_eq!((instructions("server-instructions"), instructions("error-rate")), (None, None));
        assert_eq!(measured_in(Clock::Time, "instructions-per-request"), Some("throughput"));
        assert_eq!(measured_in(Clock::Time, "server-instructions"), Some("cpu-per-request"));
        assert_eq!(measured_in(Clock::Time, "throughput"), None);
        for (name, in_time) in IN_TIME {
            assert!(!metric::find(name).unwrap().is_of_time() && metric::find(in_time).unwrap().is_of_time());
        }
    }
}
