//! Processes as /proc tells of them (proc_pid_stat(5)): one of them, or all at one moment.

use std::collections::HashSet;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// State of a process or thread in the kernel. Times are in ticks of [`TICK_NS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// R, S, D, T, t, Z, ...
    pub state: char,
    /// The process that waits for its end.
    pub parent: u32,
    /// Its session.
    pub session: u32,
    /// It is a thread of the kernel.
    pub kernel_thread: bool,
    /// CPU time in user mode.
    pub user: u64,
    /// CPU time in the kernel.
    pub system: u64,
    /// The same of children that have ended and were waited for.
    pub children_user: u64,
    /// The same of them in the kernel.
    pub children_system: u64,
    /// Its threads.
    pub threads: u64,
    /// When it was started, ticks since the machine was. With its number it identifies a process permanently.
    pub started: u64,
    /// Resident memory, pages.
    pub rss_pages: u64,
    /// The CPU it ran on last.
    pub processor: usize,
}

/// Nanoseconds of a clock tick: /proc counts CPU time in hundredths of a second on every architecture (USER_HZ).
pub const TICK_NS: u64 = 10_000_000;

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

impl Stat {
    /// Reads a line of `stat`, and the name in it.
    pub fn parse(line: &[u8]) -> Option<(Stat, &[u8])> {
        // The name stands in parentheses and may hold anything, parentheses too: count from the last one.
        let name_ends = line.iter().rposition(|&b| b == b')')?;
        let name_begins = line.iter().position(|&b| b == b'(')? + 1;
        let text = std::str::from_utf8(&line[name_ends + 1..]).ok()?;
        let mut stat = Stat::default();
        for (field, word) in (3..).zip(text.split_ascii_whitespace()) {
            let number = || word.parse().unwrap_or(0);
            match field {
                3 => stat.state = word.chars().next()?,
                4 => stat.parent = number() as u32,
                6 => stat.session = number() as u32,
                9 => stat.kernel_thread = number() & KERNEL_THREAD != 0,
                14 => stat.user = number(),
                15 => stat.system = number(),
                16 => stat.children_user = number(),
                17 => stat.children_system = number(),
                20 => stat.threads = number(),
                22 => stat.started = number(),
                24 => stat.rss_pages = number(),
                39 => {
                    stat.processor = number() as usize;
                    return Some((stat, line.get(name_begins..name_ends)?));
                }
                _ => {}
            }
        }
        None
    }

    /// It has ended, and may not have been waited for.
    pub fn is_over(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// CPU time of it and of its children that have ended, ticks.
    pub fn ticks(&self) -> u64 {
        self.user + self.system + self.children_user + self.children_system
    }
}

/// A process that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// State in the kernel.
    pub stat: Stat,
}

impl Process {
    /// CPU time of it and of its children that have ended, nanoseconds. Children are counted in clock ticks, the process by its CPU
    /// clock, since a quiet one uses less than a tick in a while.
    pub fn cpu_ns(&self) -> u64 {
        let Stat { user, system, children_user, children_system, .. } = self.stat;
        let own = crate::spawn::cpu_time_ns(self.pid).unwrap_or((user + system) * TICK_NS);
        own + (children_user + children_system) * TICK_NS
    }

    /// Reads it; `None` if it is not there, or has ended.
    pub fn read(pid: u32) -> Option<Process> {
        let line = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let (stat, name) = Stat::parse(&line).filter(|(stat, _)| !stat.is_over())?;
        Some(Process { pid, name: String::from_utf8_lossy(name).into_owned(), stat })
    }

    /// Kills it (SIGKILL), and no other to which its number was given since. One that has ended already is fine.
    pub fn kill(&self) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        // The descriptor stands for whoever has the number now, and goes on doing so when the number is given again.
        let descriptor = pidfd_open(pid, PidfdFlags::empty());
        if Process::read(self.pid).is_none_or(|now| now.stat.started != self.stat.started) {
            return;
        }
        let _ = match descriptor {
            Ok(process) => pidfd_send_signal(process, Signal::KILL),
            // Before Linux 5.3, and under filters of system calls that do not know it.
            Err(_) => kill_process(pid, Signal::KILL),
        };
    }
}

/// The numbers of all processes.
pub fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes at one moment.
#[derive(Clone, Debug, Default)]
pub struct ProcessTable(Vec<Process>);

impl ProcessTable {
    /// Reads /proc.
    pub fn read() -> ProcessTable {
        ProcessTable(pids().filter_map(Process::read).collect())
    }

    /// A server's processes: the first, its descendants, and the members of a session that it leads with theirs. The first
    /// comes first, if it is there, and the others by number.
    pub fn of(&self, first: u32) -> Vec<&Process> {
        self.of_all(&[first])
    }

    /// Likewise of a server that has several first processes. The first of all comes first, if it is there.
    pub fn of_all(&self, firsts: &[u32]) -> Vec<&Process> {
        let mut known: HashSet<u32> = firsts.iter().copied().collect();
        loop {
            let before = known.len();
            let belongs = |p: &&Process| firsts.contains(&p.stat.session) || known.contains(&p.stat.parent);
            let found: Vec<u32> = self.0.iter().filter(belongs).map(|p| p.pid).collect();
            known.extend(found);
            if known.len() == before {
                break;
            }
        }
        let mut all: Vec<&Process> = self.0.iter().filter(|p| known.contains(&p.pid)).collect();
        all.sort_by_key(|process| (firsts.first() != Some(&process.pid), process.pid));
        all
    }
}

impl ProcessTable {
    /// All but the processes of these servers, and threads of the kernel.
    pub fn others(&self, firsts: &[u32]) -> Vec<&Process> {
        let own: HashSet<u32> = self.of_all(firsts).into_iter().map(|p| p.pid).collect();
        self.0.iter().filter(|process| !own.contains(&process.pid) && !process.stat.kernel_thread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_finer_than_a_clock_tick() {
        let own = Process::read(std::process::id()).unwrap().cpu_ns();
        assert!(!own.is_multiple_of(TICK_NS), "{own}");
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let mut line =
            b"42 (a) b (c)) Z 1 7 77 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 9 0 100 4096 55".to_vec();
        for field in 25..=38 {
            line.extend(format!(" {field}").bytes());
        }
        line.extend(b" 3 0 0\n");
        let (stat, name) = Stat::parse(&line).unwrap();
        assert_eq!(name, b"a) b (c)");
        assert!(stat.is_over() && !stat.kernel_thread);
        assert_eq!((stat.parent, stat.session, stat.user, stat.system), (1, 77, 10, 20));
        assert_eq!((stat.children_user, stat.children_system, stat.ticks()), (30, 40, 100));
        assert_eq!((stat.threads, stat.started, stat.rss_pages, stat.processor), (9, 100, 55, 3));
        assert_eq!(Stat::parse(b"42 (short) S 1"), None);
        assert_eq!(Stat::parse(b""), None);
    }

    #[test]
    fn children_belong_to_a_server_and_strangers_do_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let table = ProcessTable::read();
        let pids = |first: u32| table.of(first).iter().map(|process| process.pid).collect::<Vec<_>>();
        let own = std::process::id();
        assert_eq!(pids(own)[0], own);
        assert!(pids(own).contains(&child.id()));
        assert_eq!(pids(child.id()), [child.id()]);
        let process = Process::read(child.id()).unwrap();
        Process { stat: Stat { started: process.stat.started + 1, ..process.stat }, ..process.clone() }
            .kill();
        assert!(Process::read(child.id()).is_some(), "another process of the same number was killed");
        process.kill();
        // It has ended, and nobody has waited for it.
        let is_gone = || Process::read(child.id()).is_none();
        while !is_gone() {
            std::thread::yield_now();
        }
        assert!(ProcessTable::read().of(child.id()).is_empty());
        child.wait().unwrap();
    }
}
