//! What is sampled of a server's processes and of the machine, once an interval.
//!
//! Memory is read from `smaps_rollup` (proc_pid_smaps(5)), which counts pages that processes share once in PSS; where it may not
//! be read there is RSS alone. Sockets are those of the server's port, in /proc/PID/net/tcp of its own network namespace.

use std::collections::{BTreeMap, HashSet};
use std::fs;

use crate::hang::sockets::{LISTEN, by_diag};

/// A figure that is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Its name in the file and in JSON.
    pub name: &'static str,
    /// What a value of it counts.
    pub unit: Unit,
    /// What sentences call it.
    pub title: &'static str,
    /// Whether growth of it is a leak. Others are judged by how far they drift in both directions.
    pub leaks: bool,
}

/// What the values of a figure count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// A plain number.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Per second.
    PerSecond,
    /// A share, 0 to 1.
    Share,
}

impl Unit {
    /// The word for it in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::Nanoseconds => "nanoseconds",
            Unit::PerSecond => "per-second",
            Unit::Share => "share",
        }
    }
}

/// All figures: those of servers, and those of the machine.
pub const FIGURES: &[Figure] = &[
    Figure { name: "rate", unit: Unit::PerSecond, title: "the rate", leaks: false },
    Figure { name: "response-mean", unit: Unit::Nanoseconds, title: "the mean response time", leaks: false },
    Figure { name: "response-p50", unit: Unit::Nanoseconds, title: "p50", leaks: false },
    Figure { name: "response-p99", unit: Unit::Nanoseconds, title: "p99", leaks: false },
    Figure { name: "cpu-per-request", unit: Unit::Nanoseconds, title: "CPU time per request", leaks: false },
    Figure { name: "memory-rss", unit: Unit::Bytes, title: "memory (RSS)", leaks: true },
    Figure { name: "memory-private", unit: Unit::Bytes, title: "private memory", leaks: true },
    Figure { name: "memory-pss", unit: Unit::Bytes, title: "memory (PSS)", leaks: true },
    Figure { name: "descriptors", unit: Unit::Count, title: "the number of descriptors", leaks: true },
    Figure { name: "threads", unit: Unit::Count, title: "the number of threads", leaks: true },
    Figure { name: "processes", unit: Unit::Count, title: "the number of processes", leaks: true },
    Figure { name: "sockets-established", unit: Unit::Count, title: "established sockets", leaks: true },
    Figure { name: "sockets-close-wait", unit: Unit::Count, title: "sockets in CLOSE-WAIT", leaks: true },
    Figure { name: "sockets-time-wait", unit: Unit::Count, title: "sockets in TIME-WAIT", leaks: false },
    Figure { name: "sockets-other", unit: Unit::Count, title: "sockets in other states", leaks: true },
    Figure { name: "slab", unit: Unit::Bytes, title: "the kernel's slab", leaks: true },
    Figure { name: "page-cache", unit: Unit::Bytes, title: "the page cache", leaks: false },
    Figure { name: "memory-available", unit: Unit::Bytes, title: "available memory", leaks: false },
    Figure { name: "disk-used", unit: Unit::Bytes, title: "used disk space", leaks: true },
    Figure { name: "steal", unit: Unit::Share, title: "steal", leaks: false },
    Figure { name: "cpu-busy", unit: Unit::Share, title: "CPU time of the machine", leaks: false },
];

/// The figure with that name.
pub fn find(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

/// Values by the name of their figure.
pub type Values = BTreeMap<&'static str, f64>;

/// A process, as far as it matters here.
#[derive(Clone, Copy, Debug)]
struct Process {
    pid: u32,
    parent: u32,
    session: u32,
    threads: u64,
    rss_pages: u64,
    /// CPU time of it and of its children that have ended, ticks.
    ticks: u64,
}

/// All processes at one moment.
#[derive(Debug)]
pub struct Processes(Vec<Process>);

impl Processes {
    /// Reads /proc.
    pub fn read() -> Processes {
        let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        Processes(pids.filter_map(Process::read).collect())
    }

    /// A server's processes: the first, its descendants, and the members of a session that it leads.
    pub fn of(&self, first: u32) -> Vec<u32> {
        let mut known: HashSet<u32> = HashSet::from([first]);
        loop {
            let before = known.len();
            let belongs = |p: &&Process| known.contains(&p.parent) || p.session == first;
            let found: Vec<u32> = self.0.iter().filter(belongs).map(|p| p.pid).collect();
            known.extend(found);
            if known.len() == before {
                break;
            }
        }
        self.0.iter().map(|p| p.pid).filter(|pid| known.contains(pid)).collect()
    }

    /// CPU time of these processes, nanoseconds.
    pub fn cpu_ns(&self, pids: &[u32]) -> u64 {
        self.sum(pids, |process| process.ticks) * TICK_NS
    }

    fn sum(&self, pids: &[u32], of: impl Fn(&Process) -> u64) -> u64 {
        self.0.iter().filter(|p| pids.contains(&p.pid)).map(of).sum()
    }

    /// What these processes hold.
    pub fn values(&self, pids: &[u32]) -> Values {
        let mut values = Values::new();
        values.insert("processes", pids.len() as f64);
        values.insert("threads", self.sum(pids, |p| p.threads) as f64);
        values.insert("memory-rss", (self.sum(pids, |p| p.rss_pages) * page_bytes()) as f64);
        if let Some(memory) = pids.iter().map(|&pid| Memory::of(pid)).collect::<Option<Vec<_>>>() {
            values.insert("memory-private", memory.iter().map(|m| m.private_bytes).sum::<u64>() as f64);
            values.insert("memory-pss", memory.iter().map(|m| m.pss_bytes).sum::<u64>() as f64);
        }
        if let Some(counts) = pids.iter().map(|&pid| descriptors(pid)).collect::<Option<Vec<_>>>() {
            values.insert("descriptors", counts.iter().sum::<u64>() as f64);
        }
        values
    }
}

/// /proc counts CPU time in hundredths of a second.
const TICK_NS: u64 = 10_000_000;

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

impl Process {
    fn read(pid: u32) -> Option<Process> {
        Process::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// proc_pid_stat(5). The name stands in parentheses and may hold anything.
    fn parse(pid: u32, line: &str) -> Option<Process> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        // The first of these is the third of the line.
        let number = |field: usize| fields.get(field - 3).and_then(|word| word.parse::<u64>().ok());
        if fields.first().is_none_or(|state| matches!(*state, "Z" | "X")) {
            return None;
        }
        Some(Process {
            pid,
            parent: number(4)? as u32,
            session: number(6)? as u32,
            ticks: number(14)? + number(15)? + number(16)? + number(17)?,
            threads: number(20)?,
            rss_pages: number(24)?,
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Memory {
    pss_bytes: u64,
    private_bytes: u64,
}

impl Memory {
    fn of(pid: u32) -> Option<Memory> {
        Memory::parse(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
    }

    fn parse(text: &str) -> Option<Memory> {
        let kib = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Memory {
            pss_bytes: kib("Pss:")? * 1024,
            private_bytes: (kib("Private_Clean:")? + kib("Private_Dirty:")?) * 1024,
        })
    }
}

fn descriptors(pid: u32) -> Option<u64> {
    Some(fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64)
}

/// The sockets of a port, in the network namespace of a process.
pub fn sockets(pid: u32, port: u16) -> Option<Values> {
    let mut found = [0u64; 4];
    if let Some(asked) = by_diag(Some(pid), port, u32::MAX) {
        asked.iter().for_each(|socket| count_state(socket.state, &mut found));
        return Some(named(found));
    }
    let mut any = false;
    for table in ["tcp", "tcp6"] {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/{table}")) else { continue };
        any = true;
        count_sockets(&text, port, &mut found);
    }
    any.then(|| named(found))
}

fn named(found: [u64; 4]) -> Values {
    let names = ["sockets-established", "sockets-close-wait", "sockets-time-wait", "sockets-other"];
    names.into_iter().zip(found.map(|n| n as f64)).collect()
}

/// By the numbers of include/net/tcp_states.h.
fn count_state(state: u8, found: &mut [u64; 4]) {
    match state {
        1 => found[0] += 1,
        8 => found[1] += 1,
        6 => found[2] += 1,
        // Listening is no connection.
        LISTEN => {}
        _ => found[3] += 1,
    }
}

/// Lines as proc_pid_net(5) has them; states are those of include/net/tcp_states.h.
fn count_sockets(text: &str, port: u16, found: &mut [u64; 4]) {
    let wanted = format!("{port:04X}");
    for line in text.lines().skip(1) {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let local = fields.next().and_then(|address| address.rsplit_once(':'));
        if local.is_none_or(|(_, port)| port != wanted) {
            continue;
        }
        if let Some(state) = fields.nth(1).and_then(|state| u8::from_str_radix(state, 16).ok()) {
            count_state(state, found);
        }
    }
}

/// What the machine has used, since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MachineTime {
    busy: u64,
    steal: u64,
    all: u64,
}

impl MachineTime {
    /// Reads /proc/stat.
    pub fn read() -> MachineTime {
        fs::read_to_string("/proc/stat").ok().and_then(|text| MachineTime::parse(&text)).unwrap_or_default()
    }

    /// user nice system idle iowait irq softirq steal (proc_stat(5)).
    fn parse(text: &str) -> Option<MachineTime> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).filter_map(|w| w.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else { return None };
        let busy = user + nice + system + irq + softirq;
        Some(MachineTime { busy, steal, all: busy + idle + iowait + steal })
    }

    /// Shares of what went by since an earlier reading.
    pub fn since(&self, earlier: &MachineTime) -> Values {
        let all = self.all.saturating_sub(earlier.all).max(1) as f64;
        Values::from([
            ("steal", self.steal.saturating_sub(earlier.steal) as f64 / all),
            ("cpu-busy", self.busy.saturating_sub(earlier.busy) as f64 / all),
        ])
    }
}

/// What the machine holds. `directory` is on the file system whose space is told.
pub fn machine(directory: &str) -> Values {
    let mut values = Values::new();
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    for (line, name) in [("Slab:", "slab"), ("Cached:", "page-cache"), ("MemAvailable:", "memory-available")]
    {
        let kib =
            text.lines().find_map(|l| l.strip_prefix(line)?.split_ascii_whitespace().next()?.parse().ok());
        if let Some(kib) = kib.map(|kib: u64| kib * 1024) {
            values.insert(name, kib as f64);
        }
    }
    if let Ok(space) = rustix::fs::statvfs(directory) {
        values.insert("disk-used", (space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize) as f64);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_of_their_own() {
        let names: HashSet<_> = FIGURES.iter().map(|figure| figure.name).collect();
        assert_eq!(names.len(), FIGURES.len());
        let own = Processes::read().values(&[std::process::id()]);
        let all =
            own.into_iter().chain(machine("/")).chain(MachineTime::read().since(&MachineTime::default()));
        for (name, value) in all {
            assert!(find(name).is_some(), "{name}");
            assert!(value > 0.0 || name == "steal", "{name} is {value}");
        }
    }

    #[test]
    fn children_belong_to_a_server_and_strangers_do_not() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let processes = Processes::read();
        let own = processes.of(std::process::id());
        assert!(own.contains(&child.id()) && own.contains(&std::process::id()));
        assert_eq!(processes.of(child.id()), [child.id()]);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn sockets_of_the_port_are_counted_by_state() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
                    0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1\n\
                    1: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 2\n\
                    2: 0100007F:1F90 0100007F:A001 08 00000000:00000000 00:00000000 00000000     0        0 3\n\
                    3: 0100007F:1F90 0100007F:A002 06 00000000:00000000 00:00000000 00000000     0        0 4\n\
                    4: 0100007F:1F90 0100007F:A003 04 00000000:00000000 00:00000000 00000000     0        0 5\n\
                    5: 0100007F:A000 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 6\n";
        let mut found = [0; 4];
        count_sockets(text, 8080, &mut found);
        assert_eq!(found, [1, 1, 1, 1]);
    }

    #[test]
    fn what_proc_says_is_read() {
        let line =
            "7 (a) b) (c) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 1 2 20 0 5 0 99 1000 30 18446744073709551615";
        let process = Process::parse(7, line).unwrap();
        assert_eq!((process.parent, process.session, process.ticks), (1, 7, 33));
        assert_eq!((process.threads, process.rss_pages), (5, 30));
        assert!(Process::parse(7, "7 (a) Z 1 7 7 0").is_none());
        let text = "00400000-7ff00000 ---p 00000000 00:00 0 [rollup]\nRss: 12 kB\nPss: 8 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n";
        assert_eq!(Memory::parse(text), Some(Memory { pss_bytes: 8192, private_bytes: 3072 }));
        let earlier = MachineTime::parse("cpu  10 0 10 80 0 0 0 0 0 0\n").unwrap();
        let later = MachineTime::parse("cpu  30 0 20 140 0 0 0 10 0 0\n").unwrap();
        assert_eq!(later.since(&earlier), Values::from([("steal", 0.1), ("cpu-busy", 0.3)]));
    }
}
