use super::entry::{PORTS_OF_SERVICES, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "load-generator",
    summary: "the machine of the load generator: many ports, and little noise",
    source: "Documentation/networking/ip-sysctl.rst; docs/host.md",
    settings: &[
        PORTS_OF_SERVICES,
        set(
            "net.ipv4.ip_local_port_range",
            "1024 65535",
            "64,512 connections from each address to each server.",
        ),
        set(
            "net.ipv4.tcp_tw_reuse",
            "1",
            "Ports in TIME-WAIT are reused after a second. The kernel's documentation warns against it without advice of experts.",
        ),
        at_least("net.ipv4.tcp_max_tw_buckets", "2000000", "TIME-WAIT is not cut short."),
        set(
            "net.ipv4.tcp_no_metrics_save",
            "1",
            "A run does not start with the path metrics of an earlier one.",
        ),
        set("net.ipv4.tcp_slow_start_after_idle", "0", "Requests after a pause are not slower than others."),
        at_least("net.core.netdev_max_backlog", "16384", "Replies wait for a CPU, and are not dropped."),
        at_least("net.core.somaxconn", "65535", "For a server on the same machine."),
        set("kernel.nmi_watchdog", "0", "Its counter and its interrupts are free."),
        set("kernel.numa_balancing", "0", "The kernel does not unmap pages to see who uses them."),
        set("cpu.governor", "performance", "CPU time per request does not depend on a varying frequency."),
    ],
    gone: &[],
};
