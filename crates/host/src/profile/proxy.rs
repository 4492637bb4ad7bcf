use super::entry::{BURSTS, HALF_OPEN, PORTS_OF_SERVICES, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "proxy",
    summary: "a proxy or load balancer: each connection is accepted once and opened once",
    source: "Documentation/networking/ip-sysctl.rst and nf_conntrack-sysctl.rst, docs/host.md",
    settings: &[
        at_least(
            "net.core.somaxconn",
            "65535",
            "A listener's queue holds a burst of connections while the proxy is busy.",
        ),
        HALF_OPEN,
        set("net.ipv4.tcp_syncookies", "1", "A SYN flood does not block other clients."),
        PORTS_OF_SERVICES,
        set(
            "net.ipv4.ip_local_port_range",
            "1024 65535",
            "64,512 connections to each address and port of a backend.",
        ),
        set(
            "net.ipv4.tcp_tw_reuse",
            "1",
            "Ports in TIME-WAIT serve new connections to the same backend after a second. The kernel's documentation warns against it without advice of experts.",
        ),
        at_least("net.ipv4.tcp_max_tw_buckets", "2000000", "TIME-WAIT is not cut short."),
        at_least(
            "net.netfilter.nf_conntrack_max",
            "1048576",
            "With connection tracking, each request has two entries.",
        ),
        set(
            "net.ipv4.tcp_slow_start_after_idle",
            "0",
            "A persistent connection to a backend keeps its congestion window during a pause.",
        ),
        at_least(
            "net.ipv4.tcp_rmem",
            "4096 131072 16777216",
            "Receive windows can grow to what 1 Gbit/s over 100 ms takes.",
        ),
        at_least("net.ipv4.tcp_wmem", "4096 65536 16777216", "Send buffers can, too."),
        set("net.ipv4.tcp_mtu_probing", "1", "Paths that silently drop large segments are detected."),
        BURSTS,
        at_least("fs.nr_open", "1048576", "A process may have a descriptor for each of both connections."),
        set("vm.swappiness", "10", "Buffers of connections stay in memory."),
    ],
    gone: &[],
};
