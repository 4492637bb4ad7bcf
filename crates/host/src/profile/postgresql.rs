use super::entry::{Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "postgresql",
    summary: "a PostgreSQL server: memory that is shared, processes that stay, and a log that is synchronised",
    source: "PostgreSQL documentation, Managing Kernel Resources; Documentation/admin-guide/sysctl/vm.rst; docs/host.md",
    settings: &[
        set(
            "thp.enabled",
            "madvise",
            "Its own huge pages are huge_pages and vm.nr_hugepages; no other memory is compacted for it.",
        ),
        set(
            "vm.zone_reclaim_mode",
            "0",
            "Its cache may lie on every node: memory nearby is not emptied first.",
        ),
        set("kernel.numa_balancing", "0", "No page of the shared memory is unmapped to see who uses it."),
        set("kernel.sched_autogroup_enabled", "0", "Its processes are not one group beside each terminal."),
        set("vm.swappiness", "1", "Shared buffers stay in memory."),
        set(
            "vm.dirty_background_bytes",
            "67108864",
            "Pages are written early, so that a checkpoint's fsync(2) finds few.",
        ),
        set("vm.dirty_bytes", "536870912", "No more than that waits for it."),
        at_least("net.core.somaxconn", "4096", "All clients of a pool reconnect at once."),
        at_least("fs.aio-max-nr", "1048576", "Engines with asynchronous reads have slots."),
        set("cpu.governor", "performance", "No statement waits for a clock to speed up."),
    ],
    gone: &[],
};
