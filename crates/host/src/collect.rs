//! The fingerprint of this machine, read from /proc, /sys and /etc/os-release: no other program is asked.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cpu_list::show_cpu_list;
use crate::files::{names, read};
use crate::fingerprint::Fingerprint;
use crate::{kernel_config, network, sysctl, throttle};

impl Fingerprint {
    /// What this machine is and how it is set, as far as this user may read it. Nothing in it changes from one moment
    /// to the next by itself, and no secret of the kernel (keys, seeds) is in it.
    pub fn collect() -> Fingerprint {
        let mut print = Fingerprint::default();
        system(&mut print);
        cpu(&mut print);
        memory(&mut print);
        limits(&mut print);
        network::collect(&mut print);
        disk(&mut print);
        sysctl::collect(&mut print);
        print
    }
}

/// The value behind `name:` in a file of such lines.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|l| l.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}

struct Group<'a> {
    print: &'a mut Fingerprint,
    name: &'static str,
}

impl Group<'_> {
    fn add(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.print.push(self.name, name, value);
        }
    }
}

fn system(print: &mut Fingerprint) {
    let mut group = Group { print, name: "system" };
    let release = read("/etc/os-release").unwrap_or_default();
    let pretty = release.lines().find_map(|l| l.strip_prefix("PRETTY_NAME="));
    group.add("host name", read("/proc/sys/kernel/hostname"));
    group.add("distribution", pretty.map(|name| name.trim_matches('"').to_owned()));
    group.add("architecture", Some(std::env::consts::ARCH.to_owned()));
    group.add("kernel", read("/proc/sys/kernel/osrelease"));
    group.add("kernel build", read("/proc/version"));
    group.add("kernel command line", read("/proc/cmdline"));
    for (option, value) in kernel_config::cpu_time_options() {
        group.add(&format!("kernel option {option}"), Some(value.to_owned()));
    }
    for (name, file) in [("maker", "sys_vendor"), ("product", "product_name"), ("firmware", "bios_version")] {
        group.add(name, read(format!("/sys/class/dmi/id/{file}")));
    }
    let info = read("/proc/cpuinfo").unwrap_or_default();
    let guest = field(&info, "flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor"));
    let kind = read("/sys/hypervisor/type").unwrap_or_else(|| "a virtual machine".into());
    group.add("virtualisation", Some(if guest { kind } else { "none seen".into() }));
    let clock = "/sys/devices/system/clocksource/clocksource0";
    group.add("clock source", read(format!("{clock}/current_clocksource")));
    group.add("clock sources", read(format!("{clock}/available_clocksource")));
    group.add("security modules", read("/sys/kernel/security/lsm"));
}

fn cpu(print: &mut Fingerprint) {
    let mut group = Group { print, name: "cpu" };
    let info = read("/proc/cpuinfo").unwrap_or_default();
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
        group.add(name, field(&info, name));
    }
    let base = "/sys/devices/system/cpu";
    group.add("online", read(format!("{base}/online")));
    group.add("isolated", read(format!("{base}/isolated")));
    group.add("nohz_full", read(format!("{base}/nohz_full")).filter(|v| v != "(null)"));
    let given = pitot_sys::affinity::given().ok();
    group.add("allowed", given.map(|cpus| show_cpu_list(&cpus)));
    group.add("threads on cores", read(format!("{base}/smt/control")));
    let cpus: Vec<String> = names(base)
        .into_iter()
        .filter(|n| n.strip_prefix("cpu").is_some_and(|rest| rest.parse::<usize>().is_ok()))
        .collect();
    let distinct = |file: &str| {
        let mut values: Vec<String> =
            cpus.iter().filter_map(|cpu| read(format!("{base}/{cpu}/{file}"))).collect();
        values.sort();
        values.dedup();
        (!values.is_empty()).then(|| values.join(" | "))
    };
    let count = |file: &str| distinct(file).map(|values| values.split(" | ").count().to_string());
    group.add("sockets", count("topology/physical_package_id"));
    group.add("threads of each core", distinct("topology/thread_siblings_list"));
    for index in names(format!("{base}/cpu0/cache")).iter().filter(|n| n.starts_with("index")) {
        let get = |file: &str| read(format!("{base}/cpu0/cache/{index}/{file}")).unwrap_or_default();
        let name = format!("cache L{} {}", get("level"), get("type").to_lowercase());
        let shared = distinct(&format!("cache/{index}/shared_cpu_list")).unwrap_or_default();
        group.add(&name, Some(format!("{}, shared by {shared}", get("size"))));
    }
    for (name, file) in [
        ("frequency driver", "cpufreq/scaling_driver"),
        ("governor", "cpufreq/scaling_governor"),
        ("least frequency kHz", "cpufreq/scaling_min_freq"),
        ("most frequency kHz", "cpufreq/scaling_max_freq"),
        ("energy preference", "cpufreq/energy_performance_preference"),
    ] {
        group.add(name, distinct(file));
    }
    group.add("no turbo", read(format!("{base}/intel_pstate/no_turbo")));
    group.add("boost", read(format!("{base}/cpufreq/boost")));
    group.add("idle driver", read(format!("{base}/cpuidle/current_driver")));
    group.add("idle governor", read(format!("{base}/cpuidle/current_governor")));
    for name in names(format!("{base}/vulnerabilities")) {
        group.add(&format!("mitigation {name}"), read(format!("{base}/vulnerabilities/{name}")));
    }
}

fn memory(print: &mut Fingerprint) {
    let mut group = Group { print, name: "memory" };
    let info = read("/proc/meminfo").unwrap_or_default();
    for name in ["MemTotal", "SwapTotal", "HugePages_Total", "Hugepagesize"] {
        group.add(name, field(&info, name));
    }
    group.add("page size", Some(rustix::param::page_size().to_string()));
    group.add("NUMA nodes", read("/sys/devices/system/node/online"));
    for file in ["enabled", "defrag", "shmem_enabled"] {
        let value = read(format!("/sys/kernel/mm/transparent_hugepage/{file}"));
        group.add(&format!("transparent huge pages {file}"), value);
    }
    group.add("same-page merging", read("/sys/kernel/mm/ksm/run"));
}

/// Physical memory in bytes.
pub fn memory_total_bytes() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = field(&info, "MemTotal").and_then(|v| v.trim_end_matches("kB").trim().parse::<u64>().ok());
    total.unwrap_or(0) * 1024
}

fn limits(print: &mut Fingerprint) {
    let mut group = Group { print, name: "limits" };
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    for line in text.lines() {
        for (name, start) in [
            ("descriptors", "Max open files"),
            ("processes", "Max processes"),
            ("locked memory", "Max locked memory"),
            ("stack", "Max stack size"),
        ] {
            if let Some(rest) = line.strip_prefix(start) {
                let mut words = rest.split_whitespace();
                let (soft, hard) = (words.next().unwrap_or("?"), words.next().unwrap_or("?"));
                // The soft limit is the shell's affair and is raised; the hard one binds.
                group.add(
                    name,
                    Some(if name == "descriptors" { hard.into() } else { format!("{soft}, at most {hard}") }),
                );
            }
        }
    }
    if let Some(dir) = throttle::cgroup_dir() {
        group.add("control group", Some(dir.clone()));
        for file in
            ["cpu.max", "cpu.weight", "cpuset.cpus.effective", "memory.max", "memory.high", "pids.max"]
        {
            group.add(&format!("cgroup {file}"), read(format!("{dir}/{file}")));
        }
    }
}

/// The file system and the disk of the working directory, where run files and served files usually lie.
fn disk(print: &mut Fingerprint) {
    let mut group = Group { print, name: "disk" };
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let mounts = read("/proc/self/mountinfo").unwrap_or_default();
    let Some(mount) = mount_of(&mounts, &here) else { return };
    group.add("mount point", Some(mount.point.to_owned()));
    group.add("file system", Some(mount.kind.to_owned()));
    group.add("mount options", Some(mount.options.to_owned()));
    group.add("device", Some(mount.device.to_owned()));
    // A partition's queue is that of the disk above it.
    let block = fs::canonicalize(format!("/sys/dev/block/{}", mount.number)).ok();
    let disk = block.as_deref().and_then(|b| b.ancestors().take(2).find(|p| p.join("queue").is_dir()));
    let Some(disk) = disk else { return };
    group.add("model", read(disk.join("device/model")));
    group.add("size in 512-byte sectors", read(disk.join("size")));
    for file in [
        "scheduler",
        "rotational",
        "nr_requests",
        "read_ahead_kb",
        "write_cache",
        "max_sectors_kb",
        "logical_block_size",
    ] {
        group.add(&file.replace('_', " "), read(disk.join("queue").join(file)));
    }
}

struct Mount<'a> {
    number: &'a str,
    point: &'a str,
    options: &'a str,
    kind: &'a str,
    device: &'a str,
}

/// The mount that holds `path`, of the lines of mountinfo (proc_pid_mountinfo(5)).
fn mount_of<'a>(mounts: &'a str, path: &Path) -> Option<Mount<'a>> {
    let parse = |line: &'a str| -> Option<Mount<'a>> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let (number, _root, point, options) = (left.next()?, left.next()?, left.next()?, left.next()?);
        let mut right = right.split(' ');
        Some(Mount { number, point, options, kind: right.next()?, device: right.next()? })
    };
    // The last of the longest: a later mount hides an earlier one at the same point.
    mounts.lines().filter_map(parse).filter(|m| path.starts_with(m.point)).max_by_key(|m| m.point.len())
}

#[cfg(test)]
mod tests {
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
    fn the_innermost_mount_holds_a_path() {
        let mounts = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                      30 22 0:40 / /srv rw shared:3 - tmpfs tmpfs rw\n31 22 8:2 / /srv/data rw - xfs /dev/sdb rw\n";
        let of = |path: &str| mount_of(mounts, Path::new(path)).map(|m| (m.kind, m.number)).unwrap();
        assert_eq!(of("/home/x"), ("ext4", "8:1"));
        assert_eq!(of("/srv/data/x"), ("xfs", "8:2"));
        assert_eq!(of("/srv/database"), ("tmpfs", "0:40"));
    }
}
