use super::entry::{Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "postgresql",
    summary: "a PostgreSQL server: shared memory, long-lived processes, and a synchronised log",
    source: "PostgreSQL documentation, Managing Kernel Resources; Documentation/admin-guide/sysctl/vm.rst; docs/host.md",
    settings: &[
        set(
            "thp.enabled",
            "madvise",
            "Its huge pages come from huge_pages and vm.nr_hugepages; no other memory needs compaction.",
        ),
        set(
            "vm.zone_reclaim_mode",
            "0",
            "Its cache may use every node; local page cache is not evicted first.",
        ),
        set(
            "kernel.numa_balancing",
            "0",
            "The kernel does not unmap pages of the shared memory to see who uses them.",
        ),
        set(
            "kernel.sched_autogroup_enabled",
            "0",
            "Its processes do not share the CPU as one group with each terminal.",
        ),
        set("vm.swappiness", "1", "Shared buffers stay in memory."),
        set(
            "vm.dirty_background_bytes",
            "67108864",
            "Pages are written early, so that a checkpoint's fsync(2) has few left.",
        ),
        set("vm.dirty_bytes", "536870912", "At most this much waits for a checkpoint."),
        at_least("net.core.somaxconn", "4096", "All clients of a pool reconnect at once."),
        at_least("fs.aio-max-nr", "1048576", "Engines with asynchronous reads have slots."),
        set("cpu.governor", "performance", "No statement waits for a CPU to raise its frequency."),
    ],
    gone: &[],
};
