//! Network interfaces: driver, queues, rings, coalescing, offloads, steering, and what they have counted.

use std::fs;

use pitot_sys::ethtool;

use super::{Facts, joined, values_of};
use crate::machine::Machine;
use crate::setting;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let parameter = |facts: &Facts, name: &str| facts.word(name).map(str::to_owned);
    for (name, key) in [
        ("congestion control", "net.ipv4.tcp_congestion_control"),
        ("congestion controls", "net.ipv4.tcp_available_congestion_control"),
        ("queueing discipline", "net.core.default_qdisc"),
    ] {
        facts.record("network", name, parameter(facts, key));
    }
    let ports = parameter(facts, "net.ipv4.ip_local_port_range");
    facts.record("network", "ephemeral ports", ports.map(|range| range.replace(' ', "-")));
    let mut nics = Vec::new();
    for name in machine.names("/sys/class/net") {
        let interface = Interface::read(machine, &name);
        interface.record(facts);
        if interface.is_nic() {
            interface.add_as_nic(facts);
            nics.push(name);
        }
    }
    facts.add("nics", machine.path("/sys/class/net").is_dir().then(|| nics.join(" ")));
}

/// One interface, with what is both recorded and looked at by rules.
struct Interface<'m> {
    machine: &'m Machine,
    name: &'m str,
    state: Option<String>,
    /// Reading the speed of a virtual interface is an error, and -1 means that it has none.
    speed: Option<String>,
    driver: Option<String>,
    queues: Vec<String>,
    /// Packets that may wait to be sent.
    queue_length: Option<String>,
    offloads: Vec<(&'static str, bool)>,
}

impl<'m> Interface<'m> {
    fn read(machine: &'m Machine, name: &'m str) -> Interface<'m> {
        let dir = format!("/sys/class/net/{name}");
        let driver = fs::read_link(machine.path(&format!("{dir}/device/driver"))).ok();
        Interface {
            machine,
            name,
            state: machine.read(&format!("{dir}/operstate")),
            speed: machine.read(&format!("{dir}/speed")).filter(|v| v != "-1"),
            driver: driver.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())),
            queues: machine.names(&format!("{dir}/queues")),
            queue_length: machine.read(&format!("{dir}/tx_queue_len")),
            offloads: ethtool::offloads(name),
        }
    }

    /// Whether it has a device behind it, and is up.
    fn is_nic(&self) -> bool {
        let has_device = self.machine.path(&format!("/sys/class/net/{}/device", self.name)).exists();
        has_device && self.state.as_deref().is_none_or(|state| state != "down")
    }

    fn file(&self, file: &str) -> Option<String> {
        self.machine.read(&format!("/sys/class/net/{}/{file}", self.name))
    }

    fn queues(&self, prefix: &str) -> impl Iterator<Item = &String> {
        self.queues.iter().filter(move |queue| queue.starts_with(prefix))
    }

    fn record(&self, facts: &mut Facts) {
        let Some(mtu) = self.file("mtu") else { return };
        let mut record = |name: &str, value: Option<String>| {
            facts.record("network", &format!("{} {name}", self.name), value);
        };
        record("MTU", Some(mtu));
        record("state", self.state.clone());
        record("Mbit/s", self.speed.clone());
        if let Some(driver) = &self.driver {
            record("driver", Some(driver.clone()));
            record("driver version", self.machine.read(&format!("/sys/module/{driver}/version")));
        }
        let (receive, transmit) = (self.queues("rx-").count(), self.queues("tx-").count());
        record("queues", Some(format!("{receive} receive, {transmit} transmit")));
        record("transmit queue length", self.queue_length.clone());
        if self.name != "lo" && self.driver.is_none() {
            return;
        }
        for queue in &self.queues {
            let file = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
            let mask = self.file(&format!("queues/{queue}/{file}"));
            record(&format!("{queue} {file}"), mask.filter(|m| m.chars().any(|c| !"0,".contains(c))));
        }
        for file in ["gro_flush_timeout", "napi_defer_hard_irqs", "threaded"] {
            record(file, self.file(file));
        }
        let show = |(name, on): &(&str, bool)| format!("{name} {}", if *on { "on" } else { "off" });
        let offloads: Vec<String> = self.offloads.iter().map(show).collect();
        record("offloads", (!offloads.is_empty()).then(|| offloads.join(", ")));
    }

    /// What rules for NICs look at, under `nic.NAME`.
    fn add_as_nic(&self, facts: &mut Facts) {
        let Interface { machine, name: nic, .. } = *self;
        let mut add = |name: &str, value: Option<String>| facts.add(format!("nic.{nic}.{name}"), value);
        for field in ethtool::FIELDS {
            add(field.name, field.read(nic).ok().map(|n| n.to_string()));
            add(&format!("{}.max", field.name), field.max(nic).map(|n| n.to_string()));
        }
        for (name, on) in &self.offloads {
            add(name, Some(if *on { "on" } else { "off" }.to_owned()));
        }
        for word in ["gro", "gso", "tso", "sg", "rx-checksum"] {
            let is_fixed = setting::expand(machine, &format!("nic.{nic}.{word}"), "on").is_err();
            add(&format!("{word}.fixed"), is_fixed.then(|| "true".to_owned()));
        }
        for (word, prefix) in [("rps-cpus", "rx-"), ("rps-flows", "rx-"), ("xps-cpus", "tx-")] {
            let count = self.queues(prefix).count().to_string();
            add(&format!("{prefix}count"), (!self.queues.is_empty()).then_some(count));
            let keys = self.queues(prefix).map(|queue| format!("nic.{nic}.{queue}.{word}"));
            let mut values = values_of(machine, keys);
            values.dedup();
            add(word, joined(&values));
        }
        let affinities: Vec<String> = setting::interrupts_of(machine, nic)
            .iter()
            .filter_map(|irq| machine.read(&format!("/proc/irq/{irq}/effective_affinity_list")))
            .collect();
        add("irq-cpus", joined(&affinities));
        for file in ["rx_packets", "rx_dropped", "rx_missed_errors", "rx_fifo_errors", "tx_dropped"] {
            add(file, self.file(&format!("statistics/{file}")));
        }
        add("speed", self.speed.clone());
        add("duplex", self.file("duplex").filter(|v| v != "unknown"));
        add("tx_queue_len", self.queue_length.clone());
    }
}
