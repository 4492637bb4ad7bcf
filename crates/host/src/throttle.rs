//! Whether the CPUs were slowed: by heat, or by the quota of a control group.

use std::fs;
use std::path::Path;

/// Times that any of `cpus` was throttled for heat, plus periods in which the control group of this process was.
/// Both count from boot, so only differences are meaningful. Zero where the machine does not report it.
pub fn throttle_count(cpus: &[usize]) -> u64 {
    let number = |path: String| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let heat: u64 = cpus
        .iter()
        .filter_map(|cpu| {
            number(format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/core_throttle_count"))
        })
        .sum();
    let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| group_dir(&text));
    heat + group.map_or(0, |dir| throttled_periods(Path::new(&dir)))
}

/// The directory of a process's control group (version 2), by its /proc/self/cgroup.
pub(crate) fn group_dir(memberships: &str) -> Option<String> {
    let path = memberships.lines().find_map(|l| l.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{path}"))
}

fn throttled_periods(dir: &Path) -> u64 {
    let text = fs::read_to_string(dir.join("cpu.stat")).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("nr_throttled "));
    line.and_then(|l| l.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttled_periods_are_read_by_name() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(throttled_periods(dir.path()), 0);
        fs::write(dir.path().join("cpu.stat"), "usage_usec 5\nnr_periods 10\nnr_throttled 4\n").unwrap();
        assert_eq!(throttled_periods(dir.path()), 4);
    }
}
