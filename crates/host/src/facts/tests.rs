use std::fs;
use std::path::Path;

use super::*;

#[test]
fn the_fingerprint_is_stable_and_names_each_fact_once() {
    let first = Fingerprint::collect();
    let second = Fingerprint::collect();
    assert_eq!(first.changes_to(&second), []);
    let mut names: Vec<_> = first.facts.iter().map(|f| (&f.group, &f.name)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    for (group, name) in [
        ("system", "kernel"),
        ("system", "kernel option PARAVIRT_TIME_ACCOUNTING"),
        ("system", "kernel option IRQ_TIME_ACCOUNTING"),
        ("cpu", "online"),
        ("memory", "MemTotal"),
        ("limits", "descriptors"),
        ("network", "congestion control"),
        ("sysctl", "net.core.somaxconn"),
        ("sysctl", "vm.overcommit_memory"),
        ("sysctl", "fs.file-max"),
    ] {
        assert!(first.get(group, name).is_some(), "{group} {name}");
    }
    assert!(memory_total_bytes() > 1 << 20);
}

#[test]
fn what_rules_look_at_can_be_seen_on_this_machine() {
    let facts = Facts::collect(&Machine::here());
    for name in
        ["net.ipv4.tcp_timestamps", "fs.file-max", "limits.descriptors.hard", "tasks", "kernel.pid_max"]
    {
        assert!(facts.number(name).is_some(), "{name}");
    }
    for name in ["fs.file-nr", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_mem"] {
        assert!(facts.numbers(name).is_some(), "{name}");
    }
    assert!(facts.kilobytes("memory.MemAvailable") <= facts.kilobytes("memory.MemTotal"));
    assert!(facts.kilobytes("memory.MemAvailable") > Some(1 << 10));
    assert!(facts.count("cpu.online") > Some(0) && facts.is_virtual().is_some());
}

fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_directory_stands_in_for_a_machine() {
    let dir = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "1024\t65535\n"),
        ("proc/sys/net/ipv4/tcp_fastopen_key", "00000001-00000002\n"),
        ("proc/sys/fs/file-nr", "640\t0\t1000\n"),
        ("proc/sys/kernel/random/uuid", "1-2-3\n"),
        ("proc/cpuinfo", "model name\t: Example 9000\nflags\t\t: fpu hypervisor\n"),
        ("proc/meminfo", "MemTotal:       1000 kB\nMemAvailable:    900 kB\nSwapTotal:         0 kB\n"),
        ("proc/loadavg", "0.50 0.40 0.30 2/345 999\n"),
        (
            "proc/self/limits",
            "Limit  Soft Limit  Hard Limit  Units\nMax processes  96365  unlimited  processes\nMax open files  1024  20000  files\n",
        ),
        ("proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n"),
        ("sys/devices/system/cpu/online", "0-3,8\n"),
        ("sys/devices/system/cpu/isolated", "\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/operstate", "up\n"),
        ("sys/class/net/eth0/tx_queue_len", "1000\n"),
        ("sys/class/net/eth0/device/vendor", "0x1\n"),
        ("sys/class/net/tun0/mtu", "1400\n"),
    ] {
        write(dir.path(), file, text);
    }
    let facts = Facts::collect(&Machine::at(dir.path()));
    for (name, word) in [
        ("net.core.somaxconn", "128"),
        ("net.ipv4.ip_local_port_range", "1024 65535"),
        ("network.ephemeral ports", "1024-65535"),
        ("fs.file-nr", "640 0 1000"),
        ("cpu.model name", "Example 9000"),
        ("cpu.isolated", "none"),
        ("cpu.mitigation meltdown", "Mitigation: PTI"),
        ("system.virtualisation", "a virtual machine"),
        ("load.average", "0.50"),
        ("tasks", "345"),
        ("limits.descriptors.soft", "1024"),
        ("limits.descriptors.hard", "20000"),
        ("limits.processes", "96365, at most unlimited"),
        ("rights.lock-memory", "true"),
        ("rights.exceed-limits", "false"),
        ("nics", "eth0"),
        ("nic.eth0.tx_queue_len", "1000"),
        ("network.eth0 transmit queue length", "1000"),
        ("network.tun0 MTU", "1400"),
    ] {
        assert_eq!(facts.word(name), Some(word), "{name}");
    }
    assert_eq!(facts.number("limits.processes.hard"), Some(u64::MAX));
    assert_eq!((facts.count("cpu.online"), facts.kilobytes("memory.MemAvailable")), (Some(5), Some(900)));
    for name in ["net.ipv4.tcp_fastopen_key", "kernel.random.uuid"] {
        assert_eq!(facts.word(name), None, "{name}");
    }
    let print = facts.into_fingerprint();
    assert_eq!(print.get("sysctl", "net.core.somaxconn"), Some("128"));
    // States are for rules alone.
    assert!(print.facts.iter().all(|fact| !["fs.file-nr", "MemAvailable", "tasks"].contains(&&*fact.name)));
    let groups: Vec<&str> = print.groups().map(|(group, _)| group).collect();
    assert_eq!(groups, ["system", "cpu", "memory", "limits", "network", "sysctl"]);
}
