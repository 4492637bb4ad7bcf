//! Samples of a server's processes and of the machine, once an interval: values of `METRICS` of the record.
//!
//! Memory is read from `smaps_rollup` (proc_pid_smaps(5)), whose PSS counts shared pages once; if it may not be read there is only RSS.
//! Sockets are those of the server's address; in another network namespace, those of its port.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;

use pitot_sys::processes::{Process, Stat};
use pitot_sys::tcp_sockets::{self as sockets, ALL_STATES, CLOSE_WAIT, ESTABLISHED, LISTEN, TIME_WAIT};

/// Values by the name of their metric.
pub type Values = BTreeMap<&'static str, f64>;

/// Resident memory of processes, bytes.
pub fn resident(processes: &[&Process]) -> f64 {
    (processes.iter().map(|process| process.stat.rss_pages).sum::<u64>() * page_bytes()) as f64
}

/// Memory, threads, descriptors and sockets of a server.
pub fn held(server: &[&Process]) -> Values {
    let mut values = Values::new();
    let sum = |of: fn(&Stat) -> u64| server.iter().map(|process| of(&process.stat)).sum::<u64>();
    values.insert("processes", server.len() as f64);
    values.insert("threads", sum(|stat| stat.threads) as f64);
    values.insert("memory-rss", resident(server));
    if let Some(memory) = server.iter().map(|p| Memory::of(p.pid)).collect::<Option<Vec<_>>>() {
        values.insert("memory-private", memory.iter().map(|m| m.private_bytes).sum::<u64>() as f64);
        values.insert("memory", memory.iter().map(|m| m.pss_bytes).sum::<u64>() as f64);
    }
    if let Some(counts) = server.iter().map(|p| descriptors(p.pid)).collect::<Option<Vec<_>>>() {
        values.insert("descriptors", counts.iter().sum::<u64>() as f64);
    }
    values
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
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

/// The sockets of an address by state, in the network namespace of a process.
pub fn sockets(pid: u32, address: SocketAddr) -> Option<Values> {
    let mut found = [0u64; 4];
    for socket in sockets::of_address(Some(pid), address, ALL_STATES)?.all {
        match socket.state {
            ESTABLISHED => found[0] += 1,
            CLOSE_WAIT => found[1] += 1,
            TIME_WAIT => found[2] += 1,
            // A listening socket is not a connection.
            LISTEN => {}
            _ => found[3] += 1,
        }
    }
    let names = ["sockets-established", "sockets-close-wait", "sockets-time-wait", "sockets-other"];
    Some(names.into_iter().zip(found.map(|n| n as f64)).collect())
}

/// CPU time of the machine since boot.
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

    /// Percentages since an earlier reading. Other processes used `neighbours` ticks.
    pub fn since(&self, earlier: &MachineTime, neighbours: u64) -> Values {
        let all = self.all.saturating_sub(earlier.all).max(1) as f64;
        let percent = |ticks: u64| 100.0 * ticks as f64 / all;
        Values::from([
            ("steal", percent(self.steal.saturating_sub(earlier.steal))),
            ("cpu-busy", percent(self.busy.saturating_sub(earlier.busy))),
            ("neighbours", percent(neighbours).min(100.0)),
        ])
    }
}

/// Memory and disk space of the machine, on the file system of `directory`.
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
    fn what_is_sampled_is_followed_by_soaks() {
        let own = held(&[&Process::read(std::process::id()).unwrap()]);
        let all =
            own.into_iter().chain(machine("/")).chain(MachineTime::read().since(&MachineTime::default(), 1));
        for (name, value) in all {
            let is_followed = pitot_record::metric::find(name).is_some_and(|metric| metric.in_soak.is_some());
            assert!(is_followed, "{name}");
            assert!(value > 0.0 || name == "steal", "{name} is {value}");
        }
    }

    #[test]
    fn what_proc_says_is_read() {
        let text = "00400000-7ff00000 ---p 00000000 00:00 0 [rollup]\nRss: 12 kB\nPss: 8 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n";
        assert_eq!(Memory::parse(text), Some(Memory { pss_bytes: 8192, private_bytes: 3072 }));
        let earlier = MachineTime::parse("cpu  10 0 10 80 0 0 0 0 0 0\n").unwrap();
        let later = MachineTime::parse("cpu  30 0 20 140 0 0 0 10 0 0\n").unwrap();
        assert_eq!(
            later.since(&earlier, 20),
            Values::from([("steal", 10.0), ("cpu-busy", 30.0), ("neighbours", 20.0)])
        );
    }
}
