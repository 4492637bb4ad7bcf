//! What this process and its ended children have used (getrusage(2)).

use std::time::Duration;

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
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Usage {
        cpu_user: time(r.ru_utime),
        cpu_system: time(r.ru_stime),
        rss_peak_bytes: r.ru_maxrss as u64 * 1024,
        switches_voluntary: r.ru_nvcsw as u64,
        switches_involuntary: r.ru_nivcsw as u64,
    }
}
