use super::entry::{HALF_OPEN, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "java",
    summary: "a server on a Java virtual machine with a heap of gigabytes",
    source: "HotSpot Virtual Machine Garbage Collection Tuning Guide (large pages, ZGC); \
             Documentation/admin-guide/mm/transhuge.rst and sysctl/vm.rst; docs/host.md",
    settings: &[
        set(
            "thp.enabled",
            "madvise",
            "-XX:+UseTransparentHugePages asks for huge pages of the heap, and nobody else has them.",
        ),
        set("thp.shmem_enabled", "advise", "The heap of ZGC lies in shared memory."),
        set(
            "thp.defrag",
            "defer+madvise",
            "Memory is compacted beside threads that did not ask for huge pages.",
        ),
        at_least("vm.max_map_count", "262144", "A collector that works in regions has many mappings."),
        set(
            "vm.swappiness",
            "1",
            "A collection touches the whole heap, and waits for each page that is swapped out.",
        ),
        at_least("kernel.threads-max", "131072", "A thread for each connection is not refused."),
        at_least("kernel.pid_max", "131072", "Each thread takes a number."),
        set("kernel.numa_balancing", "0", "No page of the heap is unmapped to see who uses it."),
        at_least(
            "net.core.somaxconn",
            "65535",
            "A listener's queue holds what arrives in a pause of the collector.",
        ),
        HALF_OPEN,
        set("cpu.governor", "performance", "Compiler and collector do not wait for a clock to speed up."),
    ],
    gone: &[],
};
