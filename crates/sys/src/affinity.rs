//! CPU affinity (sched_setaffinity(2)).

use std::io;
use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// What the first thread that was bound could run on before.
static GIVEN: OnceLock<Vec<usize>> = OnceLock::new();

/// Binds the calling thread, and the threads and processes it starts from now on, to `cpus`.
///
/// # Errors
/// EINVAL if none of them is online and allowed, or one is beyond the largest number that a set can hold.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    if GIVEN.get().is_none() {
        let before = allowed()?;
        let _ = GIVEN.set(before);
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// The CPUs on which the calling thread may run.
///
/// # Errors
/// None that is known on Linux.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// The CPUs that this process was given, whatever its threads have been bound to since.
///
/// # Errors
/// None that is known on Linux.
pub fn given() -> io::Result<Vec<usize>> {
    GIVEN.get().cloned().map_or_else(allowed, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_only_there() {
        std::thread::spawn(|| {
            let before = allowed().unwrap();
            let cpu = *before.last().unwrap();
            pin(&[cpu]).unwrap();
            assert_eq!(allowed().unwrap(), [cpu]);
            assert_eq!(given().unwrap(), before);
            assert!(pin(&[CpuSet::MAX_CPU]).is_err());
        })
        .join()
        .unwrap();
    }
}
