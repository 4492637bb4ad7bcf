use super::entry::{BURSTS, HALF_OPEN, PORTS_OF_SERVICES, Profile, at_least, set};

pub(super) const PROFILE: Profile = Profile {
    name: "web",
    summary: "an HTTP server with many connections that open and close",
    source: "Documentation/networking/ip-sysctl.rst, listen(2), docs/host.md",
    settings: &[
        at_least(
            "net.core.somaxconn",
            "65535",
            "A listener's queue holds a burst of connections while the server is busy.",
        ),
        HALF_OPEN,
        set("net.ipv4.tcp_syncookies", "1", "A SYN flood does not block other clients."),
        set(
            "net.ipv4.tcp_abort_on_overflow",
            "0",
            "A client that finds the queue full tries again, and is not reset.",
        ),
        set(
            "net.ipv4.tcp_slow_start_after_idle",
            "0",
            "A persistent connection keeps its congestion window during a pause.",
        ),
        at_least(
            "net.ipv4.tcp_rmem",
            "4096 131072 16777216",
            "Receive windows can grow to what 1 Gbit/s over 100 ms takes.",
        ),
        at_least("net.ipv4.tcp_wmem", "4096 65536 16777216", "Send buffers can, too."),
        set("net.ipv4.tcp_moderate_rcvbuf", "1", "The kernel sizes them by need."),
        PORTS_OF_SERVICES,
        set("net.ipv4.ip_local_port_range", "1024 65535", "A proxy has more ports towards its backends."),
        set(
            "net.ipv4.tcp_tw_reuse",
            "1",
            "Ports in TIME-WAIT serve new outgoing connections. The kernel's documentation warns against it without advice of experts.",
        ),
        at_least("net.ipv4.tcp_max_tw_buckets", "2000000", "TIME-WAIT is not cut short."),
        BURSTS,
        set("thp.enabled", "madvise", "Huge pages only for programs that ask for them."),
        set("vm.swappiness", "10", "The server is not swapped out."),
    ],
    gone: &[],
};
