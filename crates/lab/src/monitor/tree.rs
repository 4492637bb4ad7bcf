//! The processes of a server or of a load generator, recognised by their session.

use std::collections::HashMap;

use crate::procfs::{Reader, Stat, TICK_NS};
use pitot_record::TreeSample;

/// One tree over time: its current members, and the counters of ended ones.
#[derive(Debug, Default)]
pub(super) struct Tree {
    members: Vec<(u32, Stat)>,
    last: TreeSample,
    threads: HashMap<(u32, u32), ThreadCounts>,
    run_delay_ns: u64,
    switches_voluntary: u64,
    switches_involuntary: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadCounts {
    run_delay_ns: u64,
    voluntary: u64,
    involuntary: u64,
}

impl Tree {
    pub(super) fn clear(&mut self) {
        self.members.clear();
    }

    pub(super) fn add(&mut self, pid: u32, stat: Stat) {
        self.members.push((pid, stat));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Sums over the members. Counters never decrease: when a child is waited for, its time moves to the parent in
    /// whole ticks, so the sum may lag by one.
    pub(super) fn sample(&mut self) -> TreeSample {
        let mut now = TreeSample::default();
        let (mut user, mut system) = (0, 0);
        for (pid, stat) in &self.members {
            if !stat.is_over() {
                now.processes += 1;
                now.threads += stat.threads;
            }
            now.rss_bytes += stat.rss_pages * rustix::param::page_size() as u64;
            let own_ticks = stat.user + stat.system;
            now.cpu_ns += pitot_sys::spawn::cpu_time_ns(*pid).unwrap_or(own_ticks * TICK_NS);
            now.cpu_ns += (stat.children_user + stat.children_system) * TICK_NS;
            user += stat.user + stat.children_user;
            system += stat.system + stat.children_system;
        }
        now.cpu_ns = now.cpu_ns.max(self.last.cpu_ns);
        now.user_ns = (user * TICK_NS).max(self.last.user_ns);
        now.system_ns = (system * TICK_NS).max(self.last.system_ns);
        self.last = now;
        now
    }

    /// Adds counters that exist per thread: waiting for a CPU, and context switches.
    pub(super) fn sample_threads(&mut self, reader: &mut Reader, into: &mut TreeSample) {
        let mut now = HashMap::with_capacity(self.threads.len());
        for (pid, _) in &self.members {
            let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
            for tid in tasks.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()) {
                if let Some(counts) = thread_counts(reader, *pid, tid) {
                    now.insert((*pid, tid), counts);
                }
            }
        }
        for (key, counts) in &now {
            let before = self.threads.get(key).copied().unwrap_or_default();
            self.run_delay_ns += counts.run_delay_ns.saturating_sub(before.run_delay_ns);
            self.switches_voluntary += counts.voluntary.saturating_sub(before.voluntary);
            self.switches_involuntary += counts.involuntary.saturating_sub(before.involuntary);
        }
        self.threads = now;
        into.run_delay_ns = Some(self.run_delay_ns);
        into.switches_voluntary = Some(self.switches_voluntary);
        into.switches_involuntary = Some(self.switches_involuntary);
    }

    /// Adds expensive readings: memory with shared pages divided (PSS), and the number of open descriptors.
    pub(super) fn sample_memory(&self, reader: &mut Reader, into: &mut TreeSample) {
        let mut pss = None;
        let mut private = None;
        let mut descriptors = None;
        for (pid, _) in &self.members {
            if let Some(rollup) = reader.read(format_args!("{pid}/smaps_rollup")).and_then(Rollup::parse) {
                *pss.get_or_insert(0) += rollup.pss_bytes;
                *private.get_or_insert(0) += rollup.private_bytes;
            }
            if let Some(count) = open_descriptors(*pid) {
                *descriptors.get_or_insert(0) += count;
            }
        }
        into.pss_bytes = pss;
        into.private_bytes = private;
        into.descriptors = descriptors;
    }
}

fn thread_counts(reader: &mut Reader, pid: u32, tid: u32) -> Option<ThreadCounts> {
    let text = std::str::from_utf8(reader.read(format_args!("{pid}/task/{tid}/schedstat"))?).ok()?;
    let run_delay_ns = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    let text = std::str::from_utf8(reader.read(format_args!("{pid}/task/{tid}/status"))?).ok()?;
    let count = |name: &str| {
        let line = text.lines().rev().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.trim().parse().ok()).unwrap_or(0)
    };
    Some(ThreadCounts {
        run_delay_ns,
        voluntary: count("voluntary_ctxt_switches:"),
        involuntary: count("nonvoluntary_ctxt_switches:"),
    })
}

/// Sums over a process's mappings, each page divided by the number of its users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rollup {
    /// All pages.
    pss_bytes: u64,
    /// Anonymous pages. The share of file pages falls whenever another process maps the same program, so they say
    /// nothing about a server's growth.
    private_bytes: u64,
}

impl Rollup {
    fn parse(smaps: &[u8]) -> Option<Rollup> {
        let text = std::str::from_utf8(smaps).ok()?;
        let bytes = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name))?;
            Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
        };
        // Kernels before 5.9 do not divide by kind.
        let private_bytes = match (bytes("Pss_Anon:"), bytes("Pss_Shmem:")) {
            (Some(anonymous), Some(shared)) => anonymous + shared,
            _ => bytes("Anonymous:")?,
        };
        Some(Rollup { pss_bytes: bytes("Pss:")?, private_bytes })
    }
}

/// Since Linux 6.2 the size of /proc/PID/fd is the number of open descriptors; before, it is 0 and they are counted.
fn open_descriptors(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    match std::fs::metadata(&path).ok()?.len() {
        0 => Some(std::fs::read_dir(&path).ok()?.count() as u64),
        count => Some(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_can_be_sampled() {
        let mut reader = Reader::default();
        let pid = std::process::id();
        let mut tree = Tree::default();
        tree.add(pid, reader.stat(pid).unwrap());
        let mut sample = tree.sample();
        tree.sample_threads(&mut reader, &mut sample);
        tree.sample_memory(&mut reader, &mut sample);
        assert_eq!(sample.processes, 1);
        assert!(sample.threads >= 2, "a test runs in a thread of its own");
        assert!(sample.rss_bytes > 1 << 20 && sample.cpu_ns > 0);
        assert!(sample.switches_voluntary.unwrap() + sample.switches_involuntary.unwrap() > 0);
        assert!(sample.pss_bytes.unwrap() <= sample.rss_bytes * 2);
        assert!((4096..=sample.pss_bytes.unwrap()).contains(&sample.private_bytes.unwrap()));
        assert!(sample.descriptors.unwrap() >= 3);
    }

    #[test]
    fn pages_of_files_are_no_private_memory() {
        let text = "55-7f ---p 00000000 00:00 0 [rollup]\nRss: 2120 kB\nPss: 554 kB\nPss_Anon: 144 kB\n\
                    Pss_File: 410 kB\nPss_Shmem: 4 kB\nAnonymous: 150 kB\n";
        let rollup = Rollup { pss_bytes: 554 << 10, private_bytes: 148 << 10 };
        assert_eq!(Rollup::parse(text.as_bytes()), Some(rollup));
        let old = Rollup::parse(b"Pss: 554 kB\nAnonymous: 150 kB\n");
        assert_eq!(old, Some(Rollup { private_bytes: 150 << 10, ..rollup }));
        assert_eq!(Rollup::parse(b""), None);
    }

    #[test]
    fn counters_of_a_tree_do_not_go_back_when_a_member_is_gone() {
        let mut tree = Tree::default();
        tree.add(u32::MAX, Stat { user: 30, system: 10, ..Stat::default() });
        let before = tree.sample();
        assert_eq!(before.cpu_ns, 40 * TICK_NS);
        tree.clear();
        tree.add(u32::MAX, Stat { user: 1, system: 1, ..Stat::default() });
        assert_eq!(tree.sample().cpu_ns, before.cpu_ns);
    }
}
