//! What the scheduler does to the calling thread.

use std::num::NonZeroU64;
use std::time::Duration;

/// How long the calling thread has been ready to run and did not run, since it started: the time that other threads
/// took from it (second field of /proc/thread-self/schedstat). `None` where the kernel does not count it.
pub fn run_queue_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Lets the sleeps of the calling thread end at their time and not up to 50 microseconds later, which is the kernel's
/// default for the sake of fewer wake-ups (prctl(2), PR_SET_TIMERSLACK). Where it is refused sleeps stay as they were.
pub fn wake_precisely() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_counted_where_the_kernel_counts_it() {
        if let Some(before) = run_queue_delay() {
            std::thread::yield_now();
            assert!(run_queue_delay().unwrap() >= before);
        }
    }
}
