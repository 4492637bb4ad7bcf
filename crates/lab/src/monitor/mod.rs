//! The monitor: samples of the server's processes, the load generator's, and the machine, twelve times a second or
//! more.
//!
//! It reads only /proc, so it needs no privilege and works for any server. Cheap counters are read in every sample.
//! Readings whose cost grows with the number of processes or threads have a budget of 1% or 2% of a CPU each, so that a
//! server of 5000 processes is not slowed down. A sample records what was not read. The monitor runs on the load
//! generator's CPUs and records its own cost.

mod machine;
mod other_processes;
mod pace;
mod resources;
mod tree;

use std::time::Duration;

use pitot_meter::{Nanos, now, thread_cpu};

use crate::procfs::{Reader, Sessions};
pub(crate) use machine::StealReader;
use machine::{Machine, MachineReader};
pub(crate) use other_processes::OtherProcessUse;
use other_processes::OtherProcesses;
pub(crate) use pace::{Pace, Pacer};
use pitot_record::{CpuSample, Sample, TreeSample};
pub(crate) use resources::resources;
use tree::Tree;

/// The longest time between samples.
const INTERVAL_MAX: Duration = Duration::from_millis(80);
/// The shortest: a sample costs a few tenths of a millisecond.
const INTERVAL_MIN: Duration = Duration::from_millis(10);
/// The fewest samples of a measurement, if the shortest time between samples allows it. The end is interpolated from
/// the last samples, and the load stops there: with few samples the error would be several percent.
const SAMPLES_MIN: f64 = 24.0;

/// Time between samples of a measurement that takes so long.
pub(crate) fn interval(duration_s: f64) -> Duration {
    Duration::from_secs_f64(duration_s / SAMPLES_MIN).clamp(INTERVAL_MIN, INTERVAL_MAX)
}

/// A reading with a shortest interval and a budget, as a share of one CPU.
#[derive(Debug)]
struct Budget {
    interval: Nanos,
    /// One part of so many.
    share: u64,
    last: Option<Nanos>,
    cost: Nanos,
}

impl Budget {
    const fn new(interval_ms: u64, share: u64) -> Budget {
        Budget { interval: Nanos::from_millis(interval_ms), share, last: None, cost: Nanos::ZERO }
    }

    fn is_due(&self, at: Nanos) -> bool {
        let wait = self.interval.max(Nanos(self.cost.0.saturating_mul(self.share)));
        self.last.is_none_or(|last| at.since(last) >= wait)
    }

    /// A reading was made at `at`, and it cost the CPU time since `from`.
    fn spent(&mut self, at: Nanos, from: Nanos) {
        let cost = thread_cpu().since(from);
        // The cost of the first reading is not typical, since it learns which processes to skip. Later ones are
        // averaged, so that one interrupted reading does not delay the next ones for long.
        self.cost = if self.last.is_none() { Nanos::ZERO } else { Nanos((self.cost.0 + cost.0) / 2) };
        self.last = Some(at);
    }
}

/// Watches one repetition.
#[derive(Debug)]
pub(crate) struct Monitor {
    server_sessions: Vec<u32>,
    load_session: Option<u32>,
    /// Helpers of the load: known processes that count for neither tree.
    helper_sessions: Vec<u32>,
    server_cpus: Vec<usize>,
    load_cpus: Vec<usize>,
    machine: MachineReader,
    origin: Option<Machine>,
    reader: Reader,
    sessions: Sessions,
    server: Tree,
    load: Tree,
    other_processes: OtherProcesses,
    walk: Budget,
    threads: Budget,
    memory: Budget,
    others: Budget,
    samples: Vec<Sample>,
}

impl Monitor {
    /// A monitor of the server that leads `server_session`.
    pub(crate) fn new(server_session: u32, server_cpus: &[usize], load_cpus: &[usize]) -> Monitor {
        Monitor {
            server_sessions: vec![server_session],
            load_session: None,
            helper_sessions: Vec::new(),
            server_cpus: server_cpus.to_vec(),
            load_cpus: load_cpus.to_vec(),
            machine: MachineReader::open(),
            origin: None,
            reader: Reader::default(),
            sessions: Sessions::default(),
            server: Tree::default(),
            load: Tree::default(),
            other_processes: OtherProcesses::default(),
            walk: Budget::new(0, 50),
            threads: Budget::new(0, 100),
            memory: Budget::new(400, 200),
            others: Budget::new(200, 200),
            samples: Vec::new(),
        }
    }

    /// Sets the cookie of the run, whose processes are not "other processes".
    pub(crate) fn of_run(self, cookie: &str) -> Monitor {
        Monitor { other_processes: OtherProcesses::than_of(cookie), ..self }
    }

    /// Sets the session of the restarted server.
    pub(crate) fn watch_server(&mut self, session: u32) {
        self.server_sessions.push(session);
    }

    /// Also watches the load generator that leads this session.
    pub(crate) fn watch_load(&mut self, session: u32) {
        self.load_session = Some(session);
    }

    /// Sets the session of a helper, which counts for neither side.
    pub(crate) fn ignore(&mut self, session: u32) {
        self.helper_sessions.push(session);
    }

    /// Takes a sample. `whole`: read everything, as before and after the load.
    pub(crate) fn sample(&mut self, whole: bool) {
        let start = now();
        let cpu_start = thread_cpu();
        let machine = self.machine.read(&self.server_cpus, &self.load_cpus);
        let origin = *self.origin.get_or_insert(machine);
        let mut sample = Sample { at_ns: start.0, ..since(&machine, &origin) };
        if whole || self.walk.is_due(start) {
            self.walk_trees(&mut sample, start, whole);
        }
        if self.others.is_due(start) {
            let from = thread_cpu();
            self.other_processes.sample(&mut self.reader, self.sessions.others(), start);
            self.others.spent(start, from);
        }
        sample.cost_ns = thread_cpu().since(cpu_start).0;
        self.samples.push(sample);
    }

    fn walk_trees(&mut self, sample: &mut Sample, at: Nanos, whole: bool) {
        let from = thread_cpu();
        self.server.clear();
        self.load.clear();
        let mut wanted = self.server_sessions.clone();
        wanted.extend(self.load_session);
        wanted.extend(&self.helper_sessions);
        self.sessions.walk(&mut self.reader, &wanted, |pid, stat| {
            if self.server_sessions.contains(&stat.session) {
                self.server.add(pid, stat);
            } else if Some(stat.session) == self.load_session {
                self.load.add(pid, stat);
            }
        });
        let mut server = self.server.sample();
        let mut load = self.load.sample();
        self.walk.spent(at, from);
        if whole || self.threads.is_due(at) {
            let from = thread_cpu();
            self.server.sample_threads(&mut self.reader, &mut server);
            self.load.sample_threads(&mut self.reader, &mut load);
            self.threads.spent(at, from);
        }
        if whole || self.memory.is_due(at) {
            let from = thread_cpu();
            self.server.sample_memory(&mut self.reader, &mut server);
            self.load.sample_memory(&mut self.reader, &mut load);
            sample.kernel_bytes = kernel_bytes(&mut self.reader);
            self.memory.spent(at, from);
        }
        let kept = |tree: &Tree, sample: TreeSample| (!tree.is_empty()).then_some(sample);
        sample.server = kept(&self.server, server);
        sample.load = kept(&self.load, load);
    }

    /// The samples, and what other processes used meanwhile.
    pub(crate) fn finish(self) -> (Vec<Sample>, Vec<OtherProcessUse>) {
        (self.samples, self.other_processes.finish())
    }
}

/// Memory of the kernel: slab, stacks and page tables, without the page cache.
fn kernel_bytes(reader: &mut Reader) -> Option<u64> {
    let text = std::str::from_utf8(reader.read(format_args!("meminfo"))?).ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
    };
    // Inodes and dentries of sockets are counted as reclaimable, like those of files.
    let other = ["KernelStack:", "PageTables:", "VmallocUsed:"].into_iter().filter_map(bytes).sum::<u64>();
    Some(bytes("Slab:")? + other)
}

/// The machine's counters since the first sample.
fn since(now: &Machine, origin: &Machine) -> Sample {
    let cpus = |now: &CpuSample, then: &CpuSample| CpuSample {
        user_ns: now.user_ns.saturating_sub(then.user_ns),
        system_ns: now.system_ns.saturating_sub(then.system_ns),
        softirq_ns: now.softirq_ns.saturating_sub(then.softirq_ns),
        steal_ns: now.steal_ns.saturating_sub(then.steal_ns),
    };
    Sample {
        server_cpus: cpus(&now.server_cpus, &origin.server_cpus),
        load_cpus: cpus(&now.load_cpus, &origin.load_cpus),
        tcp_retransmits: now.tcp_retransmits.saturating_sub(origin.tcp_retransmits),
        listen_overflows: now.listen_overflows.saturating_sub(origin.listen_overflows),
        listen_drops: now.listen_drops.saturating_sub(origin.listen_drops),
        pressure_cpu_ns: now.pressure_cpu_ns.saturating_sub(origin.pressure_cpu_ns),
        pressure_memory_ns: now.pressure_memory_ns.saturating_sub(origin.pressure_memory_ns),
        pressure_io_ns: now.pressure_io_ns.saturating_sub(origin.pressure_io_ns),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_measurements_are_sampled_more_often() {
        assert_eq!(interval(0.1), INTERVAL_MIN);
        assert_eq!(interval(0.48), Duration::from_millis(20));
        assert_eq!(interval(10.0), INTERVAL_MAX);
    }

    #[test]
    fn a_costly_reading_is_made_less_often() {
        let mut budget = Budget::new(10, 100);
        assert!(budget.is_due(Nanos::ZERO), "the first one is due at once");
        budget.last = Some(Nanos::from_secs(1));
        budget.cost = Nanos::from_micros(1);
        assert!(!budget.is_due(Nanos::from_millis(1009)));
        assert!(budget.is_due(Nanos::from_millis(1010)));
        budget.cost = Nanos::from_millis(5);
        assert!(!budget.is_due(Nanos::from_millis(1499)));
        assert!(budget.is_due(Nanos::from_millis(1500)));
    }

    #[test]
    fn a_busy_child_is_seen_and_one_that_ended_is_not() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        pitot_sys::spawn::isolate(&mut command, &[]);
        let mut child = command.spawn().unwrap();
        let cpus = pitot_sys::affinity::allowed().unwrap();
        let mut monitor = Monitor::new(child.id(), &cpus, &[]);
        monitor.sample(true);
        let first = monitor.samples[0].server.unwrap();
        let deadline = now() + Nanos::from_secs(10);
        while monitor.samples.last().unwrap().server.unwrap().cpu_ns < first.cpu_ns + 20_000_000 {
            assert!(now() < deadline, "a busy loop uses no CPU");
            std::thread::sleep(Duration::from_millis(5));
            monitor.sample(true);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        monitor.sample(true);
        let (samples, _) = monitor.finish();
        assert_eq!(samples.last().unwrap().server, None);
        assert_eq!(samples[0].server_cpus, CpuSample::default(), "counters count from the first sample");
        assert!(samples.iter().all(|s| s.load.is_none()));
    }
}
