//! Memory: how much there is of it, and how the kernel manages it.

use super::{Facts, field, value_of};
use crate::machine::Machine;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let info = machine.read("/proc/meminfo").unwrap_or_default();
    for name in ["MemAvailable", "SwapFree"] {
        facts.add(format!("memory.{name}"), field(&info, name));
    }
    let mut record = |name: &str, value: Option<String>| facts.record("memory", name, value);
    for name in ["MemTotal", "SwapTotal", "HugePages_Total", "Hugepagesize"] {
        record(name, field(&info, name));
    }
    record("page size", Some(rustix::param::page_size().to_string()));
    record("NUMA nodes", machine.read("/sys/devices/system/node/online"));
    for file in ["enabled", "defrag", "shmem_enabled"] {
        let value = machine.read(&format!("/sys/kernel/mm/transparent_hugepage/{file}"));
        record(&format!("transparent huge pages {file}"), value);
    }
    record("same-page merging", machine.read("/sys/kernel/mm/ksm/run"));
    for key in ["thp.enabled", "thp.defrag"] {
        facts.add(key, value_of(machine, key));
    }
}

/// Physical memory in bytes.
pub fn memory_total_bytes() -> u64 {
    let mut facts = Facts::default();
    collect(&mut facts, &Machine::here());
    facts.kilobytes("memory.MemTotal").unwrap_or(0) * 1024
}
