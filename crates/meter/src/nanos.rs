use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point on the monotonic clock, or a span between two points, in nanoseconds.
///
/// Points come from `CLOCK_MONOTONIC` (clock_gettime(2)), which all processes of one machine share, so points
/// taken in a load process and in a server process can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all, and the zero of the clock.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any point that the clock will reach.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span from `earlier` to `self`, or zero if `earlier` is the later one.
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    /// The span between two points; zero where the right one is later.
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Nanos {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Duration {
        Duration::from_nanos(n.0)
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits with the unit that suits: `870 ns`, `12.3 us`, `4.56 ms`, `1.20 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return write!(f, "{} ns", self.0),
            1_000..1_000_000 => (n / 1e3, "us"),
            1_000_000..1_000_000_000 => (n / 1e6, "ms"),
            _ => (n / 1e9, "s"),
        };
        let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
        write!(f, "{value:.digits$} {unit}")
    }
}

/// The present point on the monotonic clock.
pub fn now() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// From this length on what burns is CPU time of the thread; less is over before another thread gets the CPU.
const COUNTED: Nanos = Nanos::from_micros(20);

/// Spends `length` of CPU time. Time in which another thread has the CPU does not count, as with real work. It takes one or two
/// readings of the clock longer than requested; the lab's self-check measures how much. Less than 20 us are spent by the wall
/// clock, which is read without a system call.
pub fn burn(length: Nanos) {
    if length < COUNTED {
        return wait_busily(length);
    }
    let begin = thread_cpu();
    loop {
        let left = length.since(thread_cpu().since(begin));
        if left == Nanos::ZERO {
            return;
        }
        wait_busily(left);
    }
}

fn wait_busily(length: Nanos) {
    let end = now() + length;
    while now() < end {}
}

/// CPU time of the calling thread.
pub fn thread_cpu() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_takes_as_long_as_it_was_told_or_longer() {
        let before = now();
        burn(Nanos::from_micros(200));
        assert!(now().since(before) >= Nanos::from_micros(200));
    }

    #[test]
    fn burning_beside_others_takes_cpu_time_all_the_same() {
        let burners: Vec<_> = (0..4 * std::thread::available_parallelism().map_or(1, usize::from))
            .map(|_| {
                std::thread::spawn(|| {
                    let before = thread_cpu();
                    burn(Nanos::from_millis(5));
                    thread_cpu().since(before)
                })
            })
            .collect();
        for burner in burners {
            assert!(burner.join().unwrap() >= Nanos::from_millis(5));
        }
    }

    #[test]
    fn the_clock_does_not_run_backwards() {
        let first = now();
        assert!(now() >= first);
    }

    #[test]
    fn a_span_against_time_is_zero() {
        assert_eq!(Nanos(3).since(Nanos(5)), Nanos::ZERO);
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
    }

    #[test]
    fn display_keeps_three_digits() {
        for (n, text) in
            [(870, "870 ns"), (12_340, "12.3 us"), (4_560_000, "4.56 ms"), (123_000_000_000, "123 s")]
        {
            assert_eq!(Nanos(n).to_string(), text);
        }
    }
}
