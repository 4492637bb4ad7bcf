//! CPU time of a program and all its descendants, to the microsecond.
//!
//! /proc counts ended children in clock ticks, which are as long as a whole slice. A control group counts all
//! processes that were ever its members in nanoseconds (cgroups(7)): `cpu.stat` in version 2, which needs no controller,
//! or `cpuacct.usage` in version 1. Without control groups the CPU clocks of the processes are used
//! (clock_getcpuclockid(3)), which are as exact while no process ends.

use pitot_meter::Nanos;
use pitot_sys::spawn;

use super::groups::Counter;
use crate::procfs::{Reader, Sessions};

/// Counts the CPU time of one program.
#[derive(Debug)]
pub(super) enum CpuAccount {
    /// From its control group.
    Group(Counter),
    /// From the clocks of its processes.
    Clocks(Box<Clocks>),
}

impl CpuAccount {
    /// CPU time so far; `None` if unknown.
    pub(super) fn cpu_time(&mut self) -> Option<Nanos> {
        match self {
            CpuAccount::Group(counter) => counter.cpu_time(),
            CpuAccount::Clocks(clocks) => clocks.cpu_time(),
        }
    }
}

/// The CPU clocks of the processes of a session.
#[derive(Debug)]
pub(super) struct Clocks {
    session: u32,
    reader: Reader,
    sessions: Sessions,
    /// The processes of the last reading, in ascending order.
    known: Vec<u32>,
    /// A process has ended, so that its CPU time since the last reading is unknown.
    lost: bool,
}

impl Clocks {
    pub(super) fn new(session: u32) -> Clocks {
        Clocks {
            session,
            reader: Reader::default(),
            sessions: Sessions::default(),
            known: Vec::new(),
            lost: false,
        }
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        let mut members = Vec::new();
        self.sessions.walk(&mut self.reader, &[self.session], |pid, stat| {
            if !stat.is_over() {
                members.push(pid);
            }
        });
        members.sort_unstable();
        self.lost |= self.known.iter().any(|pid| members.binary_search(pid).is_err());
        self.known = members;
        if self.lost {
            return None;
        }
        let all: Option<u64> = self.known.iter().map(|pid| spawn::cpu_time_ns(*pid)).sum();
        self.lost = all.is_none();
        all.map(Nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_processes_are_lost_when_one_ends() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "sleep 60 & read line; kill $!; wait; read line"]);
        command.stdin(std::process::Stdio::piped());
        spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let mut clocks = Clocks::new(child.id());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while clocks.known.len() < 2 {
            assert!(std::time::Instant::now() < deadline, "the shell never had a child");
            assert!(clocks.cpu_time().is_some());
        }
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), b"\n").unwrap();
        while clocks.cpu_time().is_some() {
            assert!(std::time::Instant::now() < deadline, "the child never ended");
        }
        assert!(clocks.lost);
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
