//! The metric of a plan, where the clock of its kernels does not measure it: the nearest one that it does.

use pitot_kernel::Clock;
use pitot_lab::{CellServer, Prepared, metric};

/// Metrics of instructions, and what stands for them in time.
const IN_TIME: [(&str, &str); 2] =
    [("instructions-per-request", "throughput"), ("server-instructions", "cpu-per-request")];

/// Changes the metric if it has to be; returned is a sentence that says so.
pub(super) fn fit(prepared: &mut Prepared, clock: Clock) -> Option<String> {
    let has_server = prepared.cells.iter().all(|cell| cell.server != CellServer::None);
    let asked = prepared.plan.metric.clone();
    let measured = measured_in(clock, &asked).filter(|_| has_server)?;
    prepared.plan.metric = measured.to_owned();
    let what = match clock {
        Clock::Instructions => "an emulated processor measures no time",
        Clock::Time | Clock::Emulated => "a clock that counts time counts no instructions",
    };
    Some(format!("The plan asks for `{asked}`, and {what}: the figure is `{measured}`."))
}

fn measured_in(clock: Clock, asked: &str) -> Option<&'static str> {
    match clock {
        Clock::Instructions => {
            metric::find(asked).filter(|metric| metric.is_of_time()).map(|_| "instructions-per-request")
        }
        Clock::Time | Clock::Emulated => {
            IN_TIME.iter().find(|(name, _)| *name == asked).map(|(_, in_time)| *in_time)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_a_clock_does_not_measure_is_replaced_by_the_nearest() {
        let instructions = |asked| measured_in(Clock::Instructions, asked);
        assert_eq!(instructions("throughput"), Some("instructions-per-request"));
        assert_eq!(instructions("latency-p99"), Some("instructions-per-request"));
        assert_eq!((instructions("server-instructions"), instructions("error-rate")), (None, None));
        assert_eq!(measured_in(Clock::Time, "instructions-per-request"), Some("throughput"));
        assert_eq!(measured_in(Clock::Time, "server-instructions"), Some("cpu-per-request"));
        assert_eq!(measured_in(Clock::Time, "throughput"), None);
        for (name, in_time) in IN_TIME {
            assert!(!metric::find(name).unwrap().is_of_time() && metric::find(in_time).unwrap().is_of_time());
        }
    }
}
