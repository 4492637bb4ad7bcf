use super::entry::{BURSTS, HALF_OPEN, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "cache",
    summary: "a cache in memory: many small requests, with latency in microseconds",
    source: "Redis: latency and administration; Documentation/admin-guide/sysctl/vm.rst; docs/host.md",
    settings: &[
        at_least("net.core.somaxconn", "65535", "All clients of an application reconnect at once."),
        HALF_OPEN,
        set("vm.overcommit_memory", "1", "The fork of a cache that saves its data does not fail."),
        set("vm.swappiness", "1", "Reading a swapped value takes a thousand times as long."),
        set("thp.enabled", "madvise", "A page that is copied after a fork is 4 KiB, not 2 MiB."),
        set("thp.defrag", "madvise", "No page fault waits for memory compaction."),
        set("kernel.numa_balancing", "0", "The kernel does not unmap pages to see who uses them."),
        set("net.ipv4.tcp_slow_start_after_idle", "0", "Clients are idle between requests."),
        BURSTS,
        set("cpu.governor", "performance", "No request waits for a CPU to raise its frequency."),
    ],
    gone: &[],
};
