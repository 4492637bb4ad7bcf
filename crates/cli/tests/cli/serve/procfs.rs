//! Processes and sockets as proc(5) shows them.

use std::fs;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// A process, as it was when it was looked at.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    /// R, S, D, T (stopped), Z (zombie) ...
    pub(crate) state: char,
    /// In user mode and in the kernel, all threads.
    pub(crate) cpu: Duration,
    /// When it was started: with the number it names a process for ever.
    started: u64,
}

impl Process {
    pub(crate) fn read(pid: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let number = |i: usize| fields.get(i)?.parse::<u64>().ok();
        let ticks = number(11)? + number(12)?;
        Some(Process {
            pid,
            parent: i32::try_from(number(1)?).ok()?,
            state: fields.first()?.chars().next()?,
            cpu: Duration::from_secs(ticks) / rustix::param::clock_ticks_per_second() as u32,
            started: number(19)?,
        })
    }

    /// It has ended, though its parent may not have taken note.
    pub(crate) fn has_ended(&self) -> bool {
        Process::read(self.pid)
            .is_none_or(|now| now.started != self.started || matches!(now.state, 'Z' | 'X'))
    }

    /// It has ended and its parent has taken note.
    pub(crate) fn is_gone(&self) -> bool {
        is_gone(self.pid)
    }

    /// Its threads but those that the kernel makes for io_uring (iou-wrk), which come and go as it sees fit.
    pub(crate) fn threads(&self) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| !name.starts_with("iou-")).count()
    }

    /// How often its threads have gone to sleep so far, but those that the kernel makes for io_uring.
    pub(crate) fn sleeps(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        let statuses = tasks.filter_map(|task| fs::read_to_string(task.path().join("status")).ok());
        let of = |status: &str, name: &str| {
            status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
        };
        let own = statuses.filter(|status| of(status, "Name:").is_none_or(|name| !name.starts_with("iou-")));
        own.filter_map(|status| of(&status, "voluntary_ctxt_switches:")?.parse::<u64>().ok()).sum()
    }

    /// Its open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid)).map_or(0, Iterator::count)
    }

    /// Those of them that are sockets.
    pub(crate) fn sockets(&self) -> usize {
        let fds = fs::read_dir(format!("/proc/{}/fd", self.pid)).into_iter().flatten().flatten();
        let links = fds.filter_map(|fd| fs::read_link(fd.path()).ok());
        links.filter(|link| link.as_os_str().as_encoded_bytes().starts_with(b"socket:")).count()
    }

    /// Resident memory, that which it shares counted in proportion.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.rollup("Pss:")
    }

    /// Resident memory of no file: the same whatever other processes of the program there are.
    pub(crate) fn anonymous_bytes(&self) -> u64 {
        self.rollup("Anonymous:")
    }

    fn rollup(&self, name: &str) -> u64 {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid)).unwrap_or_default();
        let value = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = value.and_then(|value| value.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.unwrap_or(0) << 10
    }
}

/// A process and all that descend from it.
pub(crate) fn tree(root: i32) -> Vec<Process> {
    let all: Vec<Process> = fs::read_dir("/proc")
        .expect("/proc is mounted")
        .filter_map(|entry| Process::read(entry.ok()?.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut tree: Vec<Process> = all.iter().filter(|process| process.pid == root).cloned().collect();
    let mut next = 0;
    while let Some(parent) = tree.get(next).map(|process| process.pid) {
        tree.extend(all.iter().filter(|process| process.parent == parent).cloned());
        next += 1;
    }
    tree
}

/// True if there is no such process, not even a zombie. This does not look into /proc, where whoever looks at a process
/// that is just being reaped holds up its parent.
pub(crate) fn is_gone(pid: i32) -> bool {
    Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}

/// The children of a process, in the order in which they were started. Nothing is looked at but the parent.
pub(crate) fn children(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}
