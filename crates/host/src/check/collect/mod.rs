//! The facts of this machine.

mod groups;
mod nic;
mod values;

use values::{joined, values_of};

use super::facts::Facts;
use crate::machine::Machine;
use crate::setting;

impl Facts {
    /// What can be seen of this machine by this user. Limits are those of this process, which its children inherit.
    pub fn collect(machine: &Machine) -> Facts {
        let mut facts = Facts::default();
        sysctls(&mut facts, machine, "/proc/sys/net/core", "net.core");
        sysctls(&mut facts, machine, "/proc/sys/net/ipv4", "net.ipv4");
        sysctls(&mut facts, machine, "/proc/sys/net/netfilter", "net.netfilter");
        sysctls(&mut facts, machine, "/proc/sys/fs", "fs");
        sysctls(&mut facts, machine, "/proc/sys/fs/epoll", "fs.epoll");
        sysctls(&mut facts, machine, "/proc/sys/kernel", "kernel");
        sysctls(&mut facts, machine, "/proc/sys/kernel/random", "kernel.random");
        sysctls(&mut facts, machine, "/proc/sys/vm", "vm");
        limits(&mut facts, machine);
        counters(&mut facts, machine);
        cpus(&mut facts, machine);
        memory(&mut facts, machine);
        groups::collect(&mut facts, machine);
        disks(&mut facts, machine);
        facts.add("kernel.build", machine.read("/proc/version"));
        facts.add("qdiscs", setting::queueing_disciplines(machine).map(|known| known.join(" ")));
        facts.add("kernel.preempt", preemption(machine));
        facts.add("clocksource", machine.read(&format!("{CLOCK}/current_clocksource")));
        facts.add("clocksources", machine.read(&format!("{CLOCK}/available_clocksource")));
        match pitot_sys::ring::probe() {
            Ok(_) => facts.add("io-uring.works", Some("true".to_owned())),
            Err(unavailable) => {
                facts.add("io-uring.refused", Some(unavailable.cause));
                facts.add("io-uring.cure", Some(unavailable.cure));
            }
        }
        facts.add("time.synchronised", pitot_sys::clock::is_synchronised().map(|yes| yes.to_string()));
        nic::collect(&mut facts, machine);
        facts
    }
}

const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";
const CPU: &str = "/sys/devices/system/cpu";

fn sysctls(facts: &mut Facts, machine: &Machine, directory: &str, prefix: &str) {
    for name in machine.names(directory) {
        // Reading these makes new ones, or is a secret.
        if name == "uuid" || name.contains("key") || name.contains("secret") {
            continue;
        }
        let value = machine.read(&format!("{directory}/{name}"));
        facts.add(
            format!("{prefix}.{name}"),
            value.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        );
    }
}

fn limits(facts: &mut Facts, machine: &Machine) {
    let text = machine.read("/proc/self/limits").unwrap_or_default();
    for (name, start) in
        [("descriptors", "Max open files"), ("processes", "Max processes"), ("locked", "Max locked memory")]
    {
        let line = text.lines().find_map(|line| line.strip_prefix(start));
        let mut words = line.unwrap_or_default().split_whitespace();
        let mut next = || words.next().map(|word| word.replace("unlimited", &u64::MAX.to_string()));
        facts.add(format!("limits.{name}.soft"), next());
        facts.add(format!("limits.{name}.hard"), next());
    }
    let load = machine.read("/proc/loadavg").unwrap_or_default();
    facts.add("load.average", load.split(' ').next().filter(|word| !word.is_empty()).map(str::to_owned));
}

/// What the kernel has counted since the machine or the namespace was started.
fn counters(facts: &mut Facts, machine: &Machine) {
    let text = machine.read("/proc/net/netstat").unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("TcpExt:")).collect();
    if let [names, values] = lines[..] {
        for (name, value) in names.split(' ').zip(values.split(' ')).skip(1) {
            facts.add(format!("count.{name}"), Some(value.to_owned()));
        }
    }
    let softnet = machine.read("/proc/net/softnet_stat").unwrap_or_default();
    let column = |index: usize| {
        let numbers = softnet.lines().filter_map(|line| line.split_whitespace().nth(index));
        let sum: u64 = numbers.filter_map(|hex| u64::from_str_radix(hex, 16).ok()).sum();
        (!softnet.is_empty()).then(|| sum.to_string())
    };
    for (index, name) in ["processed", "dropped", "squeezed"].into_iter().enumerate() {
        facts.add(format!("softnet.{name}"), column(index));
    }
    let stat = machine.read("/proc/stat").unwrap_or_default();
    let times: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let busy: u64 = times.iter().enumerate().filter(|(i, _)| ![3, 4, 8, 9].contains(i)).map(|(_, t)| t).sum();
    if let Some(steal) = times.get(7) {
        facts.add("steal.permille", Some((steal * 1000 / busy.max(1)).to_string()));
    }
}

fn cpus(facts: &mut Facts, machine: &Machine) {
    let cpus = machine.cpus();
    facts.add("cpus.online", Some(cpus.len().to_string()).filter(|_| !cpus.is_empty()));
    facts.add("cpus.allowed", pitot_sys::affinity::allowed().ok().map(|cpus| cpus.len().to_string()));
    let isolated = machine.path(&format!("{CPU}/isolated")).exists();
    facts.add(
        "cpus.isolated",
        isolated.then(|| machine.read(&format!("{CPU}/isolated")).unwrap_or_else(|| "none".into())),
    );
    facts.add("smt.active", machine.read(&format!("{CPU}/smt/active")));
    for word in ["governor", "energy-preference", "idle-latency-us"] {
        let mut values = values_of(machine, cpus.iter().map(|cpu| format!("cpu.{cpu}.{word}")));
        values.sort();
        values.dedup();
        facts.add(format!("cpu.{word}"), joined(&values));
    }
    facts.add("cpu.turbo", setting::of("cpu.turbo").and_then(|s| s.read(machine, "cpu.turbo").ok()));
    facts.add("idle.driver", machine.read(&format!("{CPU}/cpuidle/current_driver")).filter(|d| d != "none"));
    let states = machine.names(&format!("{CPU}/cpu0/cpuidle"));
    let latency = |state: &String| {
        let read = |file: &str| machine.read(&format!("{CPU}/cpu0/cpuidle/{state}/{file}"));
        (read("disable").as_deref() != Some("1")).then(|| read("latency")?.parse::<u64>().ok()).flatten()
    };
    facts.add("idle.latency-us", states.iter().filter_map(latency).max().map(|us| us.to_string()));
    let info = machine.read("/proc/cpuinfo").unwrap_or_default();
    let guest = info.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    facts.add("machine.is-virtual", Some(guest.to_string()).filter(|_| !info.is_empty()));
    let bugs = format!("{CPU}/vulnerabilities");
    let active: Vec<String> = machine
        .names(&bugs)
        .into_iter()
        .filter(|bug| {
            machine.read(&format!("{bugs}/{bug}")).is_some_and(|text| text.starts_with("Mitigation"))
        })
        .collect();
    facts.add("mitigations", machine.path(&bugs).exists().then(|| active.join(" ")));
    facts.add(
        "numa.nodes",
        machine
            .read("/sys/devices/system/node/online")
            .and_then(|list| Some(crate::parse_cpu_list(&list)?.len().to_string())),
    );
}

fn memory(facts: &mut Facts, machine: &Machine) {
    let info = machine.read("/proc/meminfo").unwrap_or_default();
    for (name, start) in [
        ("memory.total-kb", "MemTotal:"),
        ("memory.available-kb", "MemAvailable:"),
        ("swap.total-kb", "SwapTotal:"),
        ("swap.free-kb", "SwapFree:"),
    ] {
        let line = info.lines().find_map(|line| line.strip_prefix(start));
        facts.add(name, line.and_then(|line| line.split_whitespace().next()).map(str::to_owned));
    }
    for key in ["thp.enabled", "thp.defrag"] {
        facts.add(key, setting::of(key).and_then(|s| s.read(machine, key).ok()));
    }
    facts.add("ksm.run", machine.read("/sys/kernel/mm/ksm/run"));
}

fn disks(facts: &mut Facts, machine: &Machine) {
    let disks = machine.disks();
    for disk in &disks {
        for word in ["scheduler", "read-ahead-kb", "nr-requests"] {
            let key = format!("block.{disk}.{word}");
            facts.add(key.clone(), setting::of(&key).and_then(|s| s.read(machine, &key).ok()));
        }
        let queue = format!("/sys/block/{disk}/queue");
        facts.add(format!("block.{disk}.rotational"), machine.read(&format!("{queue}/rotational")));
        facts.add(format!("block.{disk}.schedulers"), machine.read(&format!("{queue}/scheduler")));
    }
    facts.add("disks", machine.path("/sys/block").is_dir().then(|| disks.join(" ")));
    let mounts = machine.read("/proc/self/mountinfo").unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let of_here = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(4);
        let (point, options) = (fields.next()?, fields.next()?);
        here.starts_with(point).then(|| (point.len(), options.to_owned()))
    });
    facts.add("mount.options", of_here.max_by_key(|(length, _)| *length).map(|(_, options)| options));
}

/// The preemption in force, where this user may see it, or what the kernel was built with.
fn preemption(machine: &Machine) -> Option<String> {
    let debug = machine.read("/sys/kernel/debug/sched/preempt");
    let chosen = debug.and_then(|text| {
        let word = text.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'));
        word.map(str::to_owned)
    });
    let build = machine.read("/proc/version")?;
    let built = ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"];
    chosen.or_else(|| {
        Some(built.iter().find(|word| build.contains(*word)).map_or("none", |word| word).to_lowercase())
    })
}
