//! Other processes that use the CPUs of a measurement: the ones that make it noisy, by name.

use std::collections::HashMap;

use pitot_meter::Nanos;

use crate::procfs::{Reader, TICK_NS};

/// What another process used of a CPU between two readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherProcessUse {
    pub(crate) from: Nanos,
    pub(crate) to: Nanos,
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// The CPU on which it was found.
    pub(crate) cpu: usize,
    pub(crate) cpu_ns: u64,
}

/// What is known of other processes.
#[derive(Debug, Default)]
pub(super) struct OtherProcesses {
    /// When a process was last read, and the ticks it had used by then, those of its ended children included: a
    /// compiler that starts hundreds of short programs is seen in their parent.
    known: HashMap<u32, (Nanos, u64)>,
    uses: Vec<OtherProcessUse>,
}

impl OtherProcesses {
    /// Looks at the processes. A process counts for the CPU on which it is found.
    pub(super) fn sample(&mut self, reader: &mut Reader, pids: impl Iterator<Item = u32>, at: Nanos) {
        let own = std::process::id();
        let mut now = HashMap::with_capacity(self.known.len());
        for pid in pids.filter(|&pid| pid != own) {
            let Some(stat) = reader.stat(pid) else { continue };
            let ticks = stat.ticks();
            if let Some(&(from, before)) = self.known.get(&pid)
                && ticks > before
            {
                self.uses.push(OtherProcessUse {
                    from,
                    to: at,
                    pid,
                    name: reader.name(pid),
                    cpu: stat.processor,
                    // The whole life of a child counts when it is waited for: no more than fits on one CPU is of now.
                    cpu_ns: ((ticks - before) * TICK_NS).min(at.since(from).0),
                });
            }
            now.insert(pid, (at, ticks));
        }
        self.known = now;
    }

    pub(super) fn finish(self) -> Vec<OtherProcessUse> {
        self.uses
    }
}
