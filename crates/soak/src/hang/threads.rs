//! The state of processes' threads from /proc: what they wait for, and the kernel stack.

use std::collections::BTreeMap;
use std::fs;

use pitot_sys::processes::Stat;

/// Maximum number of processes and threads that are shown.
const MOST_PROCESSES: usize = 64;
const MOST_THREADS: usize = 256;
const MOST_GROUPS: usize = 16;

/// The state of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Doing {
    name: String,
    /// R, S, D, T, t, Z, ... (proc_pid_stat(5)).
    state: char,
    /// The kernel function in which it sleeps; empty if it does not sleep, or if that may not be read.
    wchan: String,
    /// The system call by number and arguments, or `running`; empty if it may not be read.
    syscall: String,
    /// The kernel's stack, innermost first; empty if it may not be read.
    stack: String,
}

/// The threads of some processes at one moment.
#[derive(Debug, Default)]
pub struct Threads {
    /// Threads with the same state, and the first of them.
    groups: BTreeMap<Doing, (usize, u32)>,
    count: usize,
    processes: usize,
    stopped_processes: usize,
}

impl Threads {
    /// Reads them.
    pub fn read(pids: &[u32]) -> Threads {
        let mut threads = Threads::default();
        for &pid in pids.iter().take(MOST_PROCESSES) {
            let before = threads.count;
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let tasks = tasks.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let mut stopped = 0;
            for tid in tasks.take(MOST_THREADS) {
                let Some(doing) = Doing::of(pid, tid) else { continue };
                stopped += usize::from(doing.is_stopped());
                threads.groups.entry(doing).or_insert((0, tid)).0 += 1;
                threads.count += 1;
            }
            let found = threads.count - before;
            threads.processes += usize::from(found > 0);
            threads.stopped_processes += usize::from(found > 0 && stopped == found);
        }
        threads
    }

    /// Processes that were found.
    pub fn processes(&self) -> usize {
        self.processes
    }

    /// Those of them that are stopped by a signal, or by a tracer.
    pub fn stopped_processes(&self) -> usize {
        self.stopped_processes
    }

    /// Threads in uninterruptible sleep, for instance in a hanging driver.
    pub fn uninterruptible(&self) -> usize {
        self.groups.iter().filter(|(doing, _)| doing.state == 'D').map(|(_, (count, _))| count).sum()
    }

    /// A description of each group of threads with the same state.
    pub fn describe(&self) -> String {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let mut text = String::new();
        for (doing, (count, first)) in groups.iter().take(MOST_GROUPS) {
            let threads = if *count == 1 { "1 thread".into() } else { format!("{count} threads") };
            text += &format!("{threads} like {first} ({}): {}\n", doing.name, doing.describe());
        }
        if groups.len() > MOST_GROUPS {
            text += &format!("and {} more kinds of threads\n", groups.len() - MOST_GROUPS);
        }
        text
    }
}

impl Doing {
    fn of(pid: u32, tid: u32) -> Option<Doing> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}"));
        let line = fs::read(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
        let (stat, name) = Stat::parse(&line)?;
        let wchan = read("wchan").unwrap_or_default();
        let syscall = read("syscall").unwrap_or_default();
        let stack = read("stack").unwrap_or_default();
        Some(Doing {
            name: String::from_utf8_lossy(name).into_owned(),
            state: stat.state,
            wchan: if wchan == "0" { String::new() } else { wchan },
            // Its number and arguments; what follows are the stack pointer and the instruction pointer.
            syscall: syscall.split_ascii_whitespace().take(4).collect::<Vec<_>>().join(" "),
            stack: stack.lines().map(frame).take(12).collect::<Vec<_>>().join(" < "),
        })
    }

    fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    fn describe(&self) -> String {
        let state = match self.state {
            'R' => "runs",
            'S' => "sleeps",
            'D' => "is in uninterruptible sleep",
            'T' => "is stopped by a signal",
            't' => "is stopped by a tracer",
            'Z' => "is a zombie",
            _ => "is in another state",
        };
        let mut text = format!("{state} ({})", self.state);
        for (title, value) in
            [("wchan", &self.wchan), ("system call", &self.syscall), ("kernel stack", &self.stack)]
        {
            if !value.is_empty() {
                text += &format!(", {title} {value}");
            }
        }
        text
    }
}

/// `[<0>] ep_poll+0x2f1/0x3a0` without its address.
fn frame(line: &str) -> &str {
    let line = line.split_once("] ").map_or(line, |(_, rest)| rest);
    line.split_once('+').map_or(line, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_do_the_same_are_one_group() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let wait = || {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::thread::park();
                }
            };
            let handles: Vec<_> = (0..3).map(|_| scope.spawn(wait)).collect();
            let threads = Threads::read(&[std::process::id()]);
            assert_eq!((threads.processes(), threads.stopped_processes()), (1, 0));
            assert!(threads.count >= 4, "{}", threads.describe());
            assert!(threads.describe().contains(" like "), "{}", threads.describe());
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            handles.iter().for_each(|handle| handle.thread().unpark());
        });
    }

    #[test]
    fn what_the_kernel_says_is_read() {
        assert_eq!(frame("[<0>] ep_poll+0x2f1/0x3a0"), "ep_poll");
        let none = Threads::read(&[u32::MAX]);
        assert_eq!((none.processes(), none.describe().as_str()), (0, ""));
    }
}
