//! Counters of what processes do (perf_event_open(2)), without records.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use super::event::{
    Attributes, CONTEXT_SWITCHES, CPU_CYCLES, DISABLE, DISABLED, ENABLE, EXCLUDE_HV, EXCLUDE_KERNEL,
    HARDWARE, INHERIT, SOFTWARE, TRACEPOINT, control, open, unavailable,
};
use crate::Unavailable;

/// Bit of the flags in `perf_event_attr`: counts from the next execve(2) on.
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING.
const TIMES: u64 = 1 | 2;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Instructions.
    Instructions,
    /// Cycles of the CPU.
    Cycles,
    /// Misses of the last cache.
    CacheMisses,
    /// Branches that were predicted wrongly.
    BranchMisses,
    /// Switches to another thread.
    ContextSwitches,
    /// Moves to another CPU.
    Migrations,
    /// Page faults that needed no disk.
    MinorFaults,
    /// Page faults that did.
    MajorFaults,
    /// Passes of the tracepoint of this number.
    Tracepoint(u64),
}

impl Count {
    /// PERF_TYPE_*, and PERF_COUNT_HW_* or PERF_COUNT_SW_*.
    fn event(self) -> (u32, u64) {
        match self {
            Count::Cycles => (HARDWARE, CPU_CYCLES),
            Count::Instructions => (HARDWARE, 1),
            Count::CacheMisses => (HARDWARE, 3),
            Count::BranchMisses => (HARDWARE, 5),
            Count::ContextSwitches => (SOFTWARE, CONTEXT_SWITCHES),
            Count::Migrations => (SOFTWARE, 4),
            Count::MinorFaults => (SOFTWARE, 5),
            Count::MajorFaults => (SOFTWARE, 6),
            Count::Tracepoint(id) => (TRACEPOINT, id),
        }
    }

    /// Whether it happens in programs too, so that it can be counted there alone.
    fn is_of_programs(self) -> bool {
        use Count::*;
        matches!(self, Instructions | Cycles | CacheMisses | BranchMisses | MinorFaults | MajorFaults)
    }
}

/// Running counters of some threads and what they start.
#[derive(Debug)]
pub struct Counters {
    of: Vec<(Count, Vec<OwnedFd>)>,
    is_of_children: bool,
    sees_kernel: bool,
}

impl Counters {
    /// Opens those of `counts` that there are here. With `is_of_children` what these threads do themselves is not counted, and
    /// what they execute is.
    ///
    /// # Errors
    /// [`Unavailable`]: there is none, or it takes too many descriptors.
    pub fn open(counts: &[Count], threads: &[u32], is_of_children: bool) -> Result<Counters, Unavailable> {
        let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
        for sees_kernel in [true, false] {
            let mut counters = Counters { of: Vec::new(), is_of_children, sees_kernel };
            for &count in counts.iter().filter(|count| sees_kernel || count.is_of_programs()) {
                match counters.opened(count, threads) {
                    Ok(opened) => counters.of.push((count, opened)),
                    Err(error) if error.raw_os_error() == Some(libc::EMFILE) => {
                        return Err(unavailable(&error));
                    }
                    Err(error) => refused = error,
                }
            }
            if !counters.of.is_empty() {
                return Ok(counters);
            }
        }
        Err(unavailable(&refused))
    }

    fn opened(&self, count: Count, threads: &[u32]) -> io::Result<Vec<OwnedFd>> {
        let (kind, config) = count.event();
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            read_format: TIMES,
            flags: DISABLED
                | EXCLUDE_HV
                | INHERIT
                | if self.is_of_children { ENABLE_ON_EXEC } else { 0 }
                | if self.sees_kernel { 0 } else { EXCLUDE_KERNEL },
            ..Attributes::default()
        };
        let mut opened = Vec::new();
        for &thread in threads {
            match open(&attributes, thread as i32, -1) {
                Ok(event) => opened.push(event),
                // The thread has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(opened)
    }

    /// Whether what the kernel does for the threads is counted too.
    pub fn sees_kernel(&self) -> bool {
        self.sees_kernel
    }

    /// Begins to count.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn start(&self) -> io::Result<()> {
        match self.is_of_children {
            true => Ok(()),
            false => self.control(ENABLE),
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// Those of ioctl(2).
    pub fn stop(&self) -> io::Result<()> {
        self.control(DISABLE)
    }

    fn control(&self, request: libc::Ioctl) -> io::Result<()> {
        self.of.iter().flat_map(|(_, events)| events).try_for_each(|event| control(event, request, 0))
    }

    /// What was counted. Where the CPU has fewer counters than there are here, they take turns, and the counts are scaled.
    ///
    /// # Errors
    /// Those of read(2).
    pub fn read(&self) -> io::Result<Vec<(Count, u64)>> {
        let sum = |events: &[OwnedFd]| -> io::Result<u64> {
            events.iter().try_fold(0u64, |sum, event| Ok(sum + read(event)?))
        };
        self.of.iter().map(|(count, events)| Ok((*count, sum(events)?))).collect()
    }
}

fn read(event: &OwnedFd) -> io::Result<u64> {
    let mut words = [0u8; 24];
    std::fs::File::from(event.try_clone()?).read_exact(&mut words)?;
    let word = |at: usize| {
        let mut bytes = [0u8; 8];
        bytes.copy_from_slice(&words[8 * at..8 * at + 8]);
        u64::from_ne_bytes(bytes)
    };
    Ok(scaled(word(0), word(1), word(2)))
}

/// A count of an event that ran for a part of the time for which it was enabled.
fn scaled(count: u64, enabled: u64, running: u64) -> u64 {
    match running {
        0 => count,
        _ => (u128::from(count) * u128::from(enabled) / u128::from(running)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_faults_of_a_thread_are_counted() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let counts = [Count::MinorFaults, Count::ContextSwitches];
        let counters = match Counters::open(&counts, &[tid], false) {
            Ok(counters) => counters,
            Err(unavailable) => return assert!(!unavailable.fix.is_empty()),
        };
        counters.start().unwrap();
        const PAGES: usize = 512;
        let bytes = PAGES * 4096;
        let page = std::hint::black_box(vec![1u8; bytes]);
        counters.stop().unwrap();
        drop(page);
        let counted = counters.read().unwrap();
        let faults = counted.iter().find(|(count, _)| *count == Count::MinorFaults).unwrap().1;
        // Huge pages may take the place of small ones.
        assert!((1..100_000).contains(&faults), "{counted:?}");
    }

    #[test]
    fn counters_that_took_turns_are_scaled() {
        assert_eq!((scaled(10, 100, 100), scaled(10, 100, 50), scaled(0, 0, 0)), (10, 20, 0));
    }
}
