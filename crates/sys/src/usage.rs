//! What this process and its ended children have used (getrusage(2)).

use std::time::Duration;

/// CPU time of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCpu {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl ThreadCpu {
    /// What the calling thread has used up to now. The sum is exact to the nanosecond (CLOCK_THREAD_CPUTIME_ID). How it
    /// is divided is known to the microsecond, or, on a kernel that counts by its timer interrupt, an estimate.
    pub fn now() -> ThreadCpu {
        // In this order: the clock brings the kernel's account of the running thread up to date, getrusage(2) does not.
        let clock = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let total = Duration::new(clock.tv_sec as u64, clock.tv_nsec as u32);
        let system = of_this_thread().cpu_system.min(total);
        ThreadCpu { user: total.saturating_sub(system), system }
    }

    /// What was used since an earlier moment of the same thread.
    #[must_use]
    pub fn since(self, earlier: ThreadCpu) -> ThreadCpu {
        let total = (self.user + self.system).saturating_sub(earlier.user + earlier.system);
        let system = self.system.saturating_sub(earlier.system).min(total);
        ThreadCpu { user: total.saturating_sub(system), system }
    }
}

/// CPU time and memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub cpu_user: Duration,
    /// CPU time in the kernel.
    pub cpu_system: Duration,
    /// The largest resident set, in bytes; of children, that of the largest child.
    pub rss_peak_bytes: u64,
    /// Times a thread gave up the CPU to wait.
    pub switches_voluntary: u64,
    /// Times a thread was made to give up the CPU.
    pub switches_involuntary: u64,
    /// Page faults that needed no disk.
    pub faults_minor: u64,
    /// Page faults that waited for a disk.
    pub faults_major: u64,
}

/// Of this process, all threads. The memory is what this program has used, though getrusage(2) counts that of the
/// program which started it too, until it was executed.
pub fn of_this_process() -> Usage {
    let usage = usage(libc::RUSAGE_SELF);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    Usage { rss_peak_bytes: peak.map_or(usage.rss_peak_bytes, |kib: u64| kib << 10), ..usage }
}

/// Of all children that have ended and been waited for, and their children.
pub fn of_ended_children() -> Usage {
    usage(libc::RUSAGE_CHILDREN)
}

/// Of the calling thread.
pub fn of_this_thread() -> Usage {
    usage(libc::RUSAGE_THREAD)
}

fn usage(who: libc::c_int) -> Usage {
    let mut r = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a rusage that the kernel may fill; all its fields are integers, so zeroes are valid.
    let r = unsafe {
        libc::getrusage(who, r.as_mut_ptr());
        r.assume_init()
    };
    of_rusage(&r)
}

/// What the kernel has filled in.
pub(crate) fn of_rusage(r: &libc::rusage) -> Usage {
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Usage {
        cpu_user: time(r.ru_utime),
        cpu_system: time(r.ru_stime),
        rss_peak_bytes: r.ru_maxrss as u64 * 1024,
        switches_voluntary: r.ru_nvcsw as u64,
        switches_involuntary: r.ru_nivcsw as u64,
        faults_minor: r.ru_minflt as u64,
        faults_major: r.ru_majflt as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_thread_is_its_own_and_no_longer_than_the_time() {
        let (began, before) = (std::time::Instant::now(), ThreadCpu::now());
        while ThreadCpu::now().since(before).user.is_zero() {}
        let used = ThreadCpu::now().since(before);
        assert!(used.user + used.system <= began.elapsed() + Duration::from_millis(1), "{used:?}");
        // Another thread has used little of it.
        let other = std::thread::spawn(ThreadCpu::now).join().unwrap();
        assert!(other.user + other.system < Duration::from_secs(1));
        assert_eq!(before.since(before), ThreadCpu::default());
    }
}
