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
            "-XX:+UseTransparentHugePages requests huge pages for the heap; other programs have none.",
        ),
        set("thp.shmem_enabled", "advise", "The heap of ZGC lies in shared memory."),
        set(
            "thp.defrag",
            "defer+madvise",
            "Threads that did not ask for huge pages do not wait for compaction.",
        ),
        at_least("vm.max_map_count", "262144", "A collector with regions has many mappings."),
        set("vm.swappiness", "1", "A collection touches the whole heap, and waits for each swapped page."),
        at_least("kernel.threads-max", "131072", "Allows a thread for each connection."),
        at_least("kernel.pid_max", "131072", "Each thread takes a number."),
        set(
            "kernel.numa_balancing",
            "0",
            "The kernel does not unmap pages of the heap to see who uses them.",
        ),
        at_least(
            "net.core.somaxconn",
            "65535",
            "A listener's queue holds the connections that arrive in a pause of the collector.",
        ),
        HALF_OPEN,
        set(
            "cpu.governor",
            "performance",
            "Compiler and collector do not wait for a CPU to raise its frequency.",
        ),
    ],
    gone: &[],
};
