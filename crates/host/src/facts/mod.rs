//! What is known of a machine: one set of facts, read once from /proc, /sys and /etc/os-release; no other program is asked.
//!
//! Those that last are the fingerprint, which `pitot host` shows and every run file has. Others are of the moment, such as what
//! the kernel has counted. Rules ([`crate::check`]) look at both.

mod asked;
mod counters;
mod cpu;
mod disk;
mod groups;
mod limits;
mod memory;
mod network;
mod set;
mod sysctl;
mod system;
mod values;

use crate::fingerprint::Fingerprint;
use crate::machine::Machine;

pub use asked::Demand;
pub use memory::memory_total_bytes;
pub use set::Facts;
use set::SYSCTL;

impl Facts {
    /// What can be seen of a machine by this user. Limits are those of this process, which its children inherit.
    pub fn collect(machine: &Machine) -> Facts {
        let mut facts = Facts::default();
        let parameters = sysctl::read(&mut facts, machine);
        let cpu_info = machine.read("/proc/cpuinfo").unwrap_or_default();
        system::collect(&mut facts, machine, &cpu_info);
        cpu::collect(&mut facts, machine, &cpu_info);
        memory::collect(&mut facts, machine);
        limits::collect(&mut facts, machine);
        groups::collect(&mut facts, machine);
        network::collect(&mut facts, machine);
        disk::collect(&mut facts, machine);
        for (name, value) in parameters {
            facts.record(SYSCTL, &name, Some(value));
        }
        counters::collect(&mut facts, machine);
        facts
    }
}

impl Fingerprint {
    /// That of this machine.
    pub fn collect() -> Fingerprint {
        Facts::collect(&Machine::here()).into_fingerprint()
    }
}

#[cfg(test)]
mod tests;
