//! Which processes are recorded: some, and all that they start.

use std::collections::HashSet;

use pitot_sys::perf::Record;

use crate::memory::Memory;

/// The processes, and what lies in their memory.
#[derive(Debug, Default)]
pub(crate) struct Tracked {
    processes: HashSet<u32>,
    /// Whose children are recorded, and they are not.
    parents: HashSet<u32>,
    pub(crate) memory: Memory,
}

impl Tracked {
    pub(crate) fn new(processes: &[u32], parents: &[u32]) -> Tracked {
        let mut memory = Memory::default();
        processes.iter().chain(parents).for_each(|&pid| memory.look_at(pid));
        Tracked {
            processes: processes.iter().copied().collect(),
            parents: parents.iter().copied().collect(),
            memory,
        }
    }

    pub(crate) fn contains(&self, pid: u32) -> bool {
        self.processes.contains(&pid)
    }

    /// Follows a process that begins, executes another program or maps a file.
    pub(crate) fn follow(&mut self, record: Record) {
        match record {
            Record::Fork { pid, parent }
                if pid != parent && (self.contains(parent) || self.parents.contains(&parent)) =>
            {
                self.processes.insert(pid);
                self.memory.forked(pid, parent);
            }
            Record::Executed { pid } if self.contains(pid) => self.memory.executed(pid),
            Record::Mapped(mapped) if self.contains(mapped.pid) => self.memory.mapped(mapped),
            _ => {}
        }
    }
}
