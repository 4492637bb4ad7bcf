//! Counters by name: of the CPU and of the scheduler for some processes, and of the machine's softirqs.

use std::collections::BTreeMap;
use std::io;

use pitot_sys::Unavailable;
use pitot_sys::perf::{Count, Counters, tracepoint};

use crate::amount::Amount;

const COUNTED: [(Count, &str); 8] = [
    (Count::Instructions, "instructions"),
    (Count::Cycles, "cycles"),
    (Count::CacheMisses, "cache misses"),
    (Count::BranchMisses, "branch misses"),
    (Count::ContextSwitches, "context switches"),
    (Count::Migrations, "migrations"),
    (Count::MinorFaults, "page faults"),
    (Count::MajorFaults, "major page faults"),
];
/// Threads that the processes woke.
const WAKE_UPS: &str = "wake-ups";

/// Running counters.
#[derive(Debug)]
pub(crate) struct Counted {
    counters: Counters,
    softirqs: BTreeMap<String, u64>,
}

impl Counted {
    pub(crate) fn open(threads: &[u32], is_of_children: bool) -> Result<Counted, Unavailable> {
        let wake_ups = tracepoint("sched/sched_waking").ok().map(Count::Tracepoint);
        let counts: Vec<Count> = COUNTED.iter().map(|(count, _)| *count).chain(wake_ups).collect();
        let counters = Counters::open(&counts, threads, is_of_children)?;
        Ok(Counted { counters, softirqs: BTreeMap::new() })
    }

    pub(crate) fn sees_kernel(&self) -> bool {
        self.counters.sees_kernel()
    }

    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.softirqs = softirqs();
        self.counters.start()
    }

    /// Ends it: what was counted since the start.
    pub(crate) fn stop(&mut self) -> io::Result<BTreeMap<String, Amount>> {
        self.counters.stop()?;
        let before = std::mem::take(&mut self.softirqs);
        let name =
            |count: Count| COUNTED.iter().find(|(of, _)| *of == count).map_or(WAKE_UPS, |(_, name)| name);
        let own = self.counters.read()?.into_iter().map(|(count, value)| (name(count).to_owned(), value));
        let of_machine = softirqs().into_iter().map(|(name, after)| {
            let since = after.saturating_sub(before.get(&name).copied().unwrap_or(after));
            (format!("softirqs {name}"), since)
        });
        let amount = |(name, count)| (name, Amount { count, ns: 0 });
        Ok(own.chain(of_machine.filter(|(_, count)| *count > 0)).map(amount).collect())
    }
}

/// By kind, over all CPUs (proc_softirqs, Documentation/filesystems/proc.rst).
fn softirqs() -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string("/proc/softirqs").unwrap_or_default();
    let row = |line: &str| {
        let (name, counts) = line.split_once(':')?;
        let counts = counts.split_ascii_whitespace().filter_map(|count| count.parse::<u64>().ok());
        Some((name.trim().to_owned(), counts.sum()))
    };
    text.lines().filter_map(row).collect()
}
