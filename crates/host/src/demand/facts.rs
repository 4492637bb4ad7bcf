//! What rules look at: read once, from /proc and /sys.

use std::fs::read_to_string;

/// Figures of a machine and of the limits of this process; `None` where one cannot be seen, or does not limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The hard limit on descriptors of a process.
    pub descriptors_max: Option<u64>,
    /// The most that this limit can be raised to (fs.nr_open).
    pub nr_open: Option<u64>,
    /// Open files of the whole machine: the limit, and those that are open.
    pub files_max: Option<u64>,
    /// Those that are open.
    pub files_open: u64,
    /// Ports for outgoing connections of one address.
    pub ports: Option<u64>,
    /// The longest queue of a listener.
    pub somaxconn: Option<u64>,
    /// Descriptors that a user may watch with epoll.
    pub epoll_watches_max: Option<u64>,
    /// The smallest of the limits on processes and threads.
    pub tasks_max: Option<u64>,
    /// Processes and threads that there are.
    pub tasks: u64,
    /// Memory that can be used without pushing anything out, bytes: that of the machine, or of the control group if that
    /// is less.
    pub memory_available: Option<u64>,
    /// Pages that all TCP sockets may use for data in flight: the third figure of net.ipv4.tcp_mem.
    pub tcp_pages_max: Option<u64>,
    /// Memory that a user may lock, bytes; `None` if this user may lock any.
    pub locked_bytes_max: Option<u64>,
    /// Connections that the firewall tracks: the limit, where it tracks any.
    pub tracked_max: Option<u64>,
    /// Those that it tracks now.
    pub tracked: u64,
}

impl Facts {
    /// Those of this machine and of this process, whose limits its children inherit.
    pub fn collect() -> Facts {
        let limits = read_to_string("/proc/self/limits").unwrap_or_default();
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let files = numbers("/proc/sys/fs/file-nr");
        // The module alone tracks nothing: rules of a firewall make it do so, and then it has entries.
        let tracked = number("/proc/sys/net/netfilter/nf_conntrack_count").unwrap_or(0);
        let tracked_max = number("/proc/sys/net/netfilter/nf_conntrack_max").filter(|_| tracked > 0);
        let processes =
            soft_limit(&limits, "Max processes").filter(|_| !has_capability(&status, SYS_RESOURCE));
        let tasks_max =
            [number("/proc/sys/kernel/pid_max"), number("/proc/sys/kernel/threads-max"), processes];
        Facts {
            descriptors_max: hard_limit(&limits, "Max open files"),
            nr_open: number("/proc/sys/fs/nr_open"),
            files_max: files.get(2).copied(),
            files_open: files.first().copied().unwrap_or(0),
            ports: match numbers("/proc/sys/net/ipv4/ip_local_port_range")[..] {
                [low, high] => Some((high + 1).saturating_sub(low)),
                _ => None,
            },
            somaxconn: number("/proc/sys/net/core/somaxconn"),
            epoll_watches_max: number("/proc/sys/fs/epoll/max_user_watches"),
            tasks_max: tasks_max.into_iter().flatten().chain(group_limit("pids.max", "pids")).min(),
            tasks: tasks(),
            memory_available: [memory_available(), group_memory_left()].into_iter().flatten().min(),
            tcp_pages_max: numbers("/proc/sys/net/ipv4/tcp_mem").get(2).copied(),
            locked_bytes_max: soft_limit(&limits, "Max locked memory")
                .filter(|_| !has_capability(&status, IPC_LOCK)),
            tracked_max,
            tracked,
        }
    }
}

/// Capabilities by their number in linux/capability.h.
const IPC_LOCK: u32 = 14;
const SYS_RESOURCE: u32 = 24;

fn has_capability(status: &str, number: u32) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    bits.is_some_and(|bits| bits >> number & 1 == 1)
}

/// The numbers of a file.
fn numbers(path: &str) -> Vec<u64> {
    let text = read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn number(path: &str) -> Option<u64> {
    numbers(path).first().copied()
}

/// The soft limit of a line of /proc/self/limits; `None` if there is no limit.
fn soft_limit(limits: &str, name: &str) -> Option<u64> {
    limit(limits, name, 0)
}

fn hard_limit(limits: &str, name: &str) -> Option<u64> {
    limit(limits, name, 1)
}

fn limit(limits: &str, name: &str, column: usize) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().nth(column)?.parse().ok()
}

/// Processes and threads: the second number of the fourth field of /proc/loadavg.
fn tasks() -> u64 {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    let field = text.split_ascii_whitespace().nth(3).and_then(|field| field.split_once('/'));
    field.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

fn memory_available() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
}

/// A limit of the control group of this process: in a file of version 2, or in the folder of a controller of version 1.
fn group_limit(file: &str, controller: &str) -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        match controllers {
            "" => Some(format!("/sys/fs/cgroup{path}/{file}")),
            list if list.split(',').any(|c| c == controller) => {
                Some(format!("/sys/fs/cgroup/{controller}{path}/{file}"))
            }
            _ => None,
        }
        .filter(|path| std::path::Path::new(path).exists())
    })?;
    number(&path)
}

/// Memory that the control group may still use.
fn group_memory_left() -> Option<u64> {
    let left = |limit: &str, used: &str| {
        Some(group_limit(limit, "memory")?.saturating_sub(group_limit(used, "memory").unwrap_or(0)))
    };
    left("memory.max", "memory.current").or_else(|| left("memory.limit_in_bytes", "memory.usage_in_bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_name_and_column() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             96365                unlimited            processes \n\
                      Max open files            1024                 20000                files     \n\
                      Max locked memory         8388608              8388608              bytes     \n";
        assert_eq!(
            (soft_limit(limits, "Max open files"), hard_limit(limits, "Max open files")),
            (Some(1024), Some(20000))
        );
        assert_eq!(
            (soft_limit(limits, "Max processes"), hard_limit(limits, "Max processes")),
            (Some(96365), None)
        );
        assert_eq!(soft_limit(limits, "Max nothing"), None);
        let status = "Name:\tx\nCapEff:\t0000000000004000\n";
        assert!(has_capability(status, IPC_LOCK) && !has_capability(status, SYS_RESOURCE));
    }

    #[test]
    fn this_machine_can_be_read() {
        let facts = Facts::collect();
        assert!(
            facts.files_max.is_some() && facts.ports.is_some() && facts.tcp_pages_max.is_some(),
            "{facts:?}"
        );
        assert!(facts.tasks > 0 && facts.tasks_max > Some(facts.tasks), "{facts:?}");
        assert!(facts.memory_available > Some(1 << 20), "{facts:?}");
    }
}
