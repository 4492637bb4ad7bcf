//! Limits on open files (getrlimit(2)).

use std::io;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit on descriptors to the hard one and returns it.
///
/// # Errors
/// None in practice: the hard limit is always allowed.
pub fn raise_descriptors() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(descriptors())
}

/// Makes room for so many descriptors, as far as the limit allows. The kernel doubles the table of a process whenever it is full, and
/// where threads share it the one that needs more waits for all CPUs each time, some 10 ms (`expand_fdtable`, fs/file.c).
pub fn reserve_descriptors(count: u64) {
    let last = count.min(descriptors()).saturating_sub(1);
    if let (Ok(last), Ok(any)) = (i32::try_from(last), eventfd(0, EventfdFlags::CLOEXEC)) {
        let _ = fcntl_dupfd_cloexec(&any, last);
    }
}

/// The soft limit on descriptors of this process.
pub fn descriptors() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_descriptors_have_room_and_are_closed() {
        let asked = raise_descriptors().unwrap().min(2000);
        reserve_descriptors(asked);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        assert!(size.trim().parse::<u64>().unwrap() >= asked, "{size}");
        assert!(!std::path::Path::new(&format!("/proc/self/fd/{}", asked - 1)).exists());
    }
}
