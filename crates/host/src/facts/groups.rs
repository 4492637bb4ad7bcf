//! Limits of control groups: of the group of this process and of those above it the tightest counts.

use super::Facts;
use crate::machine::Machine;
use crate::throttle;

/// Version 1 of control groups shows no limit on memory as a very large one.
const NO_LIMIT: u64 = 1 << 60;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let memberships = machine.read("/proc/self/cgroup").unwrap_or_default();
    own(facts, machine, &memberships);
    cpu(facts, machine, &groups_of(machine, &memberships, "cpu"));
    pids(facts, machine, &groups_of(machine, &memberships, "pids"));
    memory(facts, machine, &groups_of(machine, &memberships, "memory"));
}

/// What is set for the group of this process itself, in version 2.
fn own(facts: &mut Facts, machine: &Machine, memberships: &str) {
    let Some(dir) = throttle::group_dir(memberships) else { return };
    facts.record("limits", "control group", Some(dir.clone()));
    for file in ["cpu.max", "cpu.weight", "cpuset.cpus.effective", "memory.max", "memory.high", "pids.max"] {
        facts.record("limits", &format!("cgroup {file}"), machine.read(&format!("{dir}/{file}")));
    }
}

fn number(machine: &Machine, file: &str) -> Option<u64> {
    machine.read(file)?.parse().ok()
}

fn cpu(facts: &mut Facts, machine: &Machine, groups: &[String]) {
    let mut quota: Option<(u64, u64)> = None;
    let mut throttled: Option<u64> = None;
    for group in groups {
        let of_v2 = machine.read(&format!("{group}/cpu.max")).and_then(|text| {
            let (quota, period) = text.split_once(' ')?;
            Some((quota.parse().ok()?, period.parse().ok()?))
        });
        let of_v1 = || {
            let file = |name: &str| number(machine, &format!("{group}/{name}"));
            Some((file("cpu.cfs_quota_us")?, file("cpu.cfs_period_us")?))
        };
        let tightest = [quota, of_v2.or_else(of_v1)].into_iter().flatten();
        quota = tightest.min_by(|a, b| (a.0 * b.1).cmp(&(b.0 * a.1)));
        let stat = machine.read(&format!("{group}/cpu.stat")).unwrap_or_default();
        let periods = stat.lines().find_map(|line| line.strip_prefix("nr_throttled ")?.parse().ok());
        throttled = throttled.max(periods);
    }
    let text = quota.map_or_else(|| "max".to_owned(), |(quota, period)| format!("{quota} {period}"));
    facts.add("group.cpu-quota", (!groups.is_empty()).then_some(text));
    facts.add("group.throttled", throttled.map(|periods| periods.to_string()));
}

fn pids(facts: &mut Facts, machine: &Machine, groups: &[String]) {
    let free = groups.iter().filter_map(|group| {
        let most = number(machine, &format!("{group}/pids.max"))?;
        Some(most.saturating_sub(number(machine, &format!("{group}/pids.current"))?))
    });
    let text = free.min().map_or_else(|| "max".to_owned(), |free| free.to_string());
    facts.add("group.pids-free", (!groups.is_empty()).then_some(text));
}

fn memory(facts: &mut Facts, machine: &Machine, groups: &[String]) {
    let limits = groups.iter().filter_map(|group| {
        let file = |name: &str| number(machine, &format!("{group}/{name}"));
        let either = |v2: &str, v1: &str| file(v2).or_else(|| file(v1));
        let most = either("memory.max", "memory.limit_in_bytes").filter(|bytes| *bytes < NO_LIMIT)?;
        let used = either("memory.current", "memory.usage_in_bytes")?;
        let stat = machine.read(&format!("{group}/memory.stat")).unwrap_or_default();
        // Of what is used, the page cache can be had back.
        let cached: u64 = ["active_file ", "inactive_file "]
            .iter()
            .filter_map(|name| stat.lines().find_map(|line| line.strip_prefix(name)?.parse::<u64>().ok()))
            .sum();
        Some((most.saturating_sub(used.saturating_sub(cached)), most))
    });
    let text = limits.min().map_or_else(|| "max".to_owned(), |(free, most)| format!("{free} {most}"));
    facts.add("group.memory", (!groups.is_empty()).then_some(text));
}

/// The directories of the control group of this process, and of those above it, in which a controller has its files. In
/// version 2 a group has those of the controllers that the group above hands down.
fn groups_of(machine: &Machine, memberships: &str, controller: &str) -> Vec<String> {
    let mut groups = Vec::new();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let mounts = match controllers {
            "" => ["/sys/fs/cgroup".to_owned(), "/sys/fs/cgroup/unified".to_owned()],
            list if list.split(',').any(|name| name == controller) => {
                [format!("/sys/fs/cgroup/{controller}"), format!("/sys/fs/cgroup/{list}")]
            }
            _ => continue,
        };
        for mount in &mounts {
            let mut group = path.trim_end_matches('/');
            loop {
                let directory = format!("{mount}{group}");
                let is_there = match controllers {
                    "" => machine
                        .read(&format!("{directory}/cgroup.controllers"))
                        .is_some_and(|names| names.split(' ').any(|name| name == controller)),
                    _ => machine.path(&format!("{directory}/cgroup.procs")).exists(),
                };
                if is_there && !groups.contains(&directory) {
                    groups.push(directory);
                }
                match group.rfind('/') {
                    Some(end) => group = &group[..end],
                    None => break,
                }
            }
        }
    }
    groups
}
