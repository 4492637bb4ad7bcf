use super::entry::{Gone, Profile, set};

pub(super) const PROFILE: Profile = Profile {
    name: "memcached-2009",
    summary: "the settings of a published comparison of memcached on Linux and OpenSolaris, to measure their effect today",
    source: "Sun Microsystems, 2009: memcached 1.3.2, two-socket Nehalem, 10 GbE, Linux 2.6.18 and 2.6.29",
    settings: &[
        set(
            "net.ipv4.tcp_timestamps",
            "0",
            "It saves 12 bytes a segment, and gives up the protection against old segments (PAWS).",
        ),
        set("net.ipv4.tcp_sack", "0", "It saves work without packet loss, and costs throughput with it."),
        set("net.ipv4.tcp_dsack", "0", "As SACK, of which it is a part."),
        set(
            "net.ipv4.tcp_window_scaling",
            "0",
            "It limits the window to 64 KiB, enough for small values over a short path.",
        ),
        set(
            "net.core.wmem_default",
            "67108864",
            "Send buffers of 64 MiB, where a program does not set its own.",
        ),
        set("net.core.wmem_max", "67108864", "The most that a program may set."),
        set("net.core.optmem_max", "67108864", "Memory for ancillary data of a socket."),
        set(
            "net.core.netdev_max_backlog",
            "300000",
            "Packets that may wait for a CPU before they are dropped.",
        ),
        set("net.ipv4.tcp_max_syn_backlog", "200000", "Half-open connections."),
        set(
            "nic.queues",
            "2",
            "Two receive and two send queues: the best on Linux, found by experiment (RSS=2,2).",
        ),
        set("nic.rx-usecs", "625", "1,600 interrupts a second at most (InterruptThrottleRate=1600,1600)."),
    ],
    gone: &[
        Gone {
            what: "RSS=2,2 (a parameter of the driver's module)",
            instead: "The driver in the kernel has no parameters; queues are set by ethtool: nic.queues=2.",
        },
        Gone {
            what: "InterruptThrottleRate=1600,1600 (a parameter of the driver's module)",
            instead: "Interrupts are paced by ethtool's coalescing: nic.rx-usecs=625.",
        },
        Gone {
            what: "a rebuilt ixgbe driver",
            instead: "The driver of today's kernel has several send queues.",
        },
        Gone {
            what: "MSI-X limits, 4+4 queues and CPUs 12-15 set aside for the NIC (OpenSolaris)",
            instead: "Try nic.queues=4, nic.irq-cpus=LIST and fence=LIST.",
        },
    ],
};
