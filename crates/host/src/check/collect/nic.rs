//! Network interfaces: queues, rings, coalescing, offloads, steering, and what they have counted.

use pitot_sys::ethtool;

use super::values::{joined, values_of};
use crate::check::facts::Facts;
use crate::machine::Machine;
use crate::setting;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let nics: Vec<String> = machine.nics().into_iter().filter(|nic| is_up(machine, nic)).collect();
    for name in &nics {
        nic(facts, machine, name);
    }
    facts.add("nics", machine.path("/sys/class/net").is_dir().then(|| nics.join(" ")));
}

fn is_up(machine: &Machine, nic: &str) -> bool {
    machine.read(&format!("/sys/class/net/{nic}/operstate")).is_none_or(|state| state != "down")
}

fn nic(facts: &mut Facts, machine: &Machine, nic: &str) {
    let mut add = |name: &str, value: Option<String>| facts.add(format!("nic.{nic}.{name}"), value);
    for field in ethtool::FIELDS {
        add(field.name, field.read(nic).ok().map(|n| n.to_string()));
        add(&format!("{}.max", field.name), field.max(nic).map(|n| n.to_string()));
    }
    for (name, on) in ethtool::offloads(nic) {
        add(name, Some(if on { "on" } else { "off" }.to_owned()));
    }
    for word in ["gro", "gso", "tso", "sg", "rx-checksum"] {
        let is_fixed = setting::expand(machine, &format!("nic.{nic}.{word}"), "on").is_err();
        add(&format!("{word}.fixed"), is_fixed.then(|| "true".to_owned()));
    }
    let queues = machine.names(&format!("/sys/class/net/{nic}/queues"));
    for (word, prefix) in [("rps-cpus", "rx-"), ("rps-flows", "rx-"), ("xps-cpus", "tx-")] {
        let of_kind: Vec<_> = queues.iter().filter(|queue| queue.starts_with(prefix)).collect();
        add(&format!("{prefix}count"), Some(of_kind.len().to_string()).filter(|_| !queues.is_empty()));
        let mut values = values_of(machine, of_kind.iter().map(|queue| format!("nic.{nic}.{queue}.{word}")));
        values.dedup();
        add(word, joined(&values));
    }
    let affinities: Vec<String> = setting::interrupts_of(machine, nic)
        .iter()
        .filter_map(|irq| machine.read(&format!("/proc/irq/{irq}/effective_affinity_list")))
        .collect();
    add("irq-cpus", joined(&affinities));
    for file in ["rx_packets", "rx_dropped", "rx_missed_errors", "rx_fifo_errors", "tx_dropped"] {
        add(file, machine.read(&format!("/sys/class/net/{nic}/statistics/{file}")));
    }
    for file in ["speed", "duplex", "tx_queue_len", "mtu"] {
        add(
            file,
            machine.read(&format!("/sys/class/net/{nic}/{file}")).filter(|v| v != "-1" && v != "unknown"),
        );
    }
}
