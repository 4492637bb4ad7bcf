//! Processors: models, caches, frequencies, idle states and mitigations.

use super::{Facts, field, value_of};
use crate::cpu_list::show_cpu_list;
use crate::machine::Machine;

const CPU: &str = "/sys/devices/system/cpu";

pub(super) fn collect(facts: &mut Facts, machine: &Machine, info: &str) {
    let mut record = |name: &str, value: Option<String>| facts.record("cpu", name, value);
    for name in [
        "model name",
        "vendor_id",
        "cpu family",
        "model",
        "stepping",
        "microcode",
        "CPU implementer",
        "CPU part",
    ] {
        record(name, field(info, name));
    }
    let read = |file: &str| machine.read(&format!("{CPU}/{file}"));
    record("online", read("online"));
    let tells = machine.path(&format!("{CPU}/isolated")).exists();
    record("isolated", tells.then(|| read("isolated").unwrap_or_else(|| "none".into())));
    record("nohz_full", read("nohz_full").filter(|v| v != "(null)"));
    record("allowed", pitot_sys::affinity::given().ok().map(|cpus| show_cpu_list(&cpus)));
    record("threads on cores", read("smt/control"));
    let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|rest| rest.parse::<usize>().is_ok());
    let cpus: Vec<String> = machine.names(CPU).into_iter().filter(is_cpu).collect();
    let distinct = |file: &str| {
        let mut values: Vec<String> = cpus.iter().filter_map(|cpu| read(&format!("{cpu}/{file}"))).collect();
        values.sort();
        values.dedup();
        (!values.is_empty()).then(|| values.join(" | "))
    };
    let count = |file: &str| distinct(file).map(|values| values.split(" | ").count().to_string());
    record("sockets", count("topology/physical_package_id"));
    record("threads of each core", distinct("topology/thread_siblings_list"));
    let caches = machine.names(&format!("{CPU}/cpu0/cache"));
    for index in caches.iter().filter(|n| n.starts_with("index")) {
        let get = |file: &str| read(&format!("cpu0/cache/{index}/{file}")).unwrap_or_default();
        let name = format!("cache L{} {}", get("level"), get("type").to_lowercase());
        let shared = distinct(&format!("cache/{index}/shared_cpu_list")).unwrap_or_default();
        record(&name, Some(format!("{}, shared by {shared}", get("size"))));
    }
    for (name, file) in [
        ("frequency driver", "cpufreq/scaling_driver"),
        ("governor", "cpufreq/scaling_governor"),
        ("least frequency kHz", "cpufreq/scaling_min_freq"),
        ("most frequency kHz", "cpufreq/scaling_max_freq"),
        ("energy-preference", "cpufreq/energy_performance_preference"),
    ] {
        record(name, distinct(file));
    }
    record("no turbo", read("intel_pstate/no_turbo"));
    record("boost", read("cpufreq/boost"));
    record("idle driver", read("cpuidle/current_driver"));
    record("idle governor", read("cpuidle/current_governor"));
    for name in machine.names(&format!("{CPU}/vulnerabilities")) {
        record(&format!("mitigation {name}"), read(&format!("vulnerabilities/{name}")));
    }
    facts.add("smt.active", read("smt/active"));
    facts.add("cpu.turbo", value_of(machine, "cpu.turbo"));
    let latency = |state: &String| {
        let of_state = |file: &str| read(&format!("cpu0/cpuidle/{state}/{file}"));
        (of_state("disable").as_deref() != Some("1"))
            .then(|| of_state("latency")?.parse::<u64>().ok())
            .flatten()
    };
    let states = machine.names(&format!("{CPU}/cpu0/cpuidle"));
    facts.add("idle.latency-us", states.iter().filter_map(latency).max().map(|us| us.to_string()));
}
