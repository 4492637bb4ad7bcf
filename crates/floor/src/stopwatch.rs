//! Time and CPU time of operations.

use std::time::Duration;

use pitot_meter::{Nanos, now};
use pitot_sys::usage;
use rustix::time::{ClockId, clock_gettime};

/// Sums the time of operations: elapsed, and CPU time of this process with all threads and waited-for children.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stopwatch {
    /// Operations timed.
    pub operations: u64,
    /// On the clock.
    pub wall: Nanos,
    /// CPU time.
    pub cpu: Nanos,
}

impl Stopwatch {
    /// Times so many operations. A reading of the three clocks takes about a microsecond, half of which is counted, so
    /// that short operations come in batches.
    pub fn time<T>(&mut self, operations: u64, work: impl FnOnce() -> T) -> T {
        let (cpu, wall) = (cpu_time(), now());
        let result = work();
        self.wall += now() - wall;
        self.cpu += cpu_time() - cpu;
        self.operations += operations;
        result
    }

    /// Counts an operation whose figure was found in another way.
    pub fn count(&mut self, wall: Nanos) {
        self.operations += 1;
        self.wall += wall;
    }

    /// Nanoseconds an operation, on the clock and of CPU time; `None` if there was none.
    pub fn each(&self) -> Option<(f64, f64)> {
        let each = |time: Nanos| time.0 as f64 / self.operations as f64;
        (self.operations > 0).then(|| (each(self.wall), each(self.cpu)))
    }
}

/// CPU time of this process and of its children that have ended.
fn cpu_time() -> Nanos {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    let children = usage::of_ended_children();
    let of = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Nanos(own.tv_sec as u64 * 1_000_000_000 + own.tv_nsec as u64)
        + Nanos(of(children.cpu_user + children.cpu_system))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much CPU time there is says nothing: the threads of other tests are in it.
    #[test]
    fn time_and_cpu_time_are_those_of_an_operation() {
        let mut watch = Stopwatch::default();
        watch.time(4, || pitot_meter::burn(Nanos::from_millis(8)));
        let (wall, cpu) = watch.each().unwrap();
        assert!(wall >= 2e6 && cpu > 0.0, "{wall} {cpu}");
        watch.count(Nanos(5));
        assert_eq!(watch.operations, 5);
    }

    #[test]
    fn nothing_has_no_average() {
        assert_eq!(Stopwatch::default().each(), None);
    }
}
