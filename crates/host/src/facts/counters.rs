//! What the kernel has counted since the machine or the namespace was started, and its load now.

use super::Facts;
use crate::machine::Machine;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
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
    facts.add("steal.permille", times.get(7).map(|steal| (steal * 1000 / busy.max(1)).to_string()));
    let load = machine.read("/proc/loadavg").unwrap_or_default();
    facts.add("load.average", load.split(' ').next().filter(|word| !word.is_empty()).map(str::to_owned));
    // Processes and threads: the second number of the fourth field.
    let tasks = load.split(' ').nth(3).and_then(|field| field.split_once('/'));
    facts.add("tasks", tasks.map(|(_, all)| all.to_owned()));
}
