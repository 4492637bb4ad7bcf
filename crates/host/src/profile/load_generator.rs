use super::entry::{PORTS_OF_SERVICES, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "load-generator",
    summary: "the machine that makes load: many ports, and nothing that adds noise",
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
            "Ports in TIME-WAIT serve again after a second. The kernel's documentation warns against it without advice of experts.",
        ),
        at_least("net.ipv4.tcp_max_tw_buckets", "2000000", "TIME-WAIT is not cut short."),
        set(
            "net.ipv4.tcp_no_metrics_save",
            "1",
            "A run does not start with what an earlier one learnt of the path.",
        ),
        set("net.ipv4.tcp_slow_start_after_idle", "0", "Requests after a pause are like the others."),
        at_least("net.core.netdev_max_backlog", "16384", "Replies wait for a CPU rather than being dropped."),
        at_least("net.core.somaxconn", "65535", "For a server on the same machine."),
        set("kernel.nmi_watchdog", "0", "Its counter and its interrupts are free."),
        set("kernel.numa_balancing", "0", "No page is unmapped to see who uses it."),
        set(
            "cpu.governor",
            "performance",
            "CPU time per request does not depend on the clock of the moment.",
        ),
    ],
    gone: &[],
};
