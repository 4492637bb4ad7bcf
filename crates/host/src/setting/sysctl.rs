//! Kernel parameters: files of /proc/sys, by the names of sysctl(8).

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::file;
use super::ports;
use super::qdisc;
use super::value::{not_as_many_numbers, same};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "sysctl",
    keys: "net.core.somaxconn",
    summary: "kernel parameters below /proc/sys",
    right: "root, or CAP_NET_ADMIN in its network namespace for net.*",
    of_network: false,
    is_exact: |key| !ROUNDED.contains(&key) && !key.ends_with(OF_TICKS),
    refuses,
    owns,
    expand,
    read,
    write,
    may_write: |machine, key| file::may_write(machine, &path(key)),
    file_at_boot: |key| Some(path(key)),
};

/// The directories of /proc/sys that have parameters.
const TOPS: &[&str] = &["abi", "debug", "dev", "fs", "kernel", "net", "user", "vm"];

/// What cannot be undone, and why. A star stands for anything.
const REFUSED: &[(&str, &str)] = &[
    ("fs.binfmt_misc.*", "it registers programs and has no value"),
    ("kernel.kexec_load_disabled", "it cannot be undone before a reboot"),
    ("kernel.modules_disabled", "it cannot be undone before a reboot"),
    ("kernel.ns_last_pid", "it changes by itself"),
    ("kernel.random.*", "it is a state, not a setting"),
    ("kernel.tainted", "what is set in it cannot be undone before a reboot"),
    ("kernel.unprivileged_bpf_disabled", "it cannot be undone before a reboot"),
    (
        "kernel.watchdog",
        "it switches kernel.nmi_watchdog and kernel.soft_watchdog, each of which can be set alone",
    ),
    ("net.ipv4.conf.all.forwarding", "it changes that of every interface, which could not be undone"),
    ("net.ipv4.ip_forward", "it changes settings of every interface, which could not be undone"),
    ("net.ipv4.route.flush", "it is an action without a value"),
    ("net.ipv4.tcp_fastopen_key", "it is a secret, which no journal should hold"),
    ("net.ipv6.conf.*.addr_gen_mode", "it regenerates addresses, which could not be undone"),
    ("net.ipv6.conf.*.disable_ipv6", "it removes addresses, which could not be undone"),
    ("net.ipv6.conf.*.forwarding", "it removes routes from router advertisements, which could not be undone"),
    (
        "net.ipv6.conf.*.stable_secret",
        "it is a secret, which no journal should hold and which cannot be unset",
    ),
    (
        "net.ipv6.conf.all.ignore_routes_with_linkdown",
        "it changes that of every interface, which could not be undone",
    ),
    ("net.ipv6.route.flush", "it is an action without a value"),
    ("vm.compact_memory", "it is an action without a value"),
    ("vm.drop_caches", "it is an action without a value"),
    ("vm.stat_refresh", "it is an action without a value"),
];

/// Values from which there is no way back.
const LAST: &[(&str, &str, &str)] =
    &[("kernel.yama.ptrace_scope", "3", "3 cannot be undone before a reboot")];

/// Of these the kernel gives what it has, or what a table or a buffer can have.
const ROUNDED: &[&str] = &[
    "fs.pipe-max-size",
    "net.core.rps_sock_flow_entries",
    "net.netfilter.nf_conntrack_buckets",
    "vm.nr_hugepages",
    "vm.nr_hugepages_mempolicy",
    "vm.nr_overcommit_hugepages",
];

/// The end of the names of times that are rounded to ticks of the kernel.
const OF_TICKS: &str = "_ms";

/// Words that may look like numbers: names, masks, and lists with ranges.
const WORDS: &[&str] = &[
    "kernel.core_pattern",
    "kernel.domainname",
    "kernel.hostname",
    "kernel.watchdog_cpumask",
    "net.core.flow_limit_cpu_bitmap",
    "net.core.rps_default_mask",
    RESERVED_PORTS,
];

const RESERVED_PORTS: &str = "net.ipv4.ip_local_reserved_ports";

/// What is found as numbers is set to as many; a discipline is one that the kernel has.
fn refuses(machine: &Machine, key: &str, found: &str, value: &str) -> Option<String> {
    match key {
        qdisc::KEY => qdisc::refuses(machine, value),
        _ if WORDS.contains(&key) => None,
        _ => not_as_many_numbers(found, value),
    }
}

/// Two names for one thing in two units: to set one makes the other 0, and 0 cannot be written to all of them
/// (Documentation/admin-guide/sysctl/vm.rst). The value of the first is then told as that of the second.
const TWINS: &[(&str, &str)] = &[
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.overcommit_kbytes", "vm.overcommit_ratio"),
];

fn twin(key: &str) -> Option<&'static str> {
    TWINS.iter().find_map(|&(a, b)| match key {
        _ if key == a => Some(b),
        _ if key == b => Some(a),
        _ => None,
    })
}

fn owns(key: &str) -> bool {
    let mut names = key.split('.');
    // A slash is a dot of the name: `/` and `//` are the directory itself and the one above.
    let is_name = |name: &str| !matches!(name, "" | "/" | "//");
    names.next().is_some_and(|top| TOPS.contains(&top)) && key.contains('.') && names.all(is_name)
}

/// A dot of a file's name (that of an interface such as eth0.5) is written as a slash.
fn path(key: &str) -> String {
    let swap = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    let name: String = key.chars().map(swap).collect();
    format!("/proc/sys/{name}")
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    if !owns(key) {
        return None;
    }
    let is = |pattern: &str| {
        pattern.split_once('*').map_or(key == pattern, |(prefix, suffix)| {
            key.strip_prefix(prefix).is_some_and(|rest| rest.ends_with(suffix))
        })
    };
    let is_last = |&&(name, last, _): &&(&str, &str, &str)| name == key && same(last, value);
    Some(match (REFUSED.iter().find(|(pattern, _)| is(pattern)), LAST.iter().find(is_last)) {
        (Some((_, why)), _) | (_, Some((_, _, why))) => Err((*why).into()),
        _ if key == RESERVED_PORTS && value == ports::LISTENING => {
            let reserved = file::read(machine, &path(key)).unwrap_or_default();
            let value = ports::with_listening(machine, &reserved);
            Ok(if value.is_empty() { Vec::new() } else { vec![Change::new(key, value)] })
        }
        _ => Ok(vec![Change::new(key, value)]),
    })
}

fn read(machine: &Machine, key: &str) -> io::Result<String> {
    let value = file::read(machine, &path(key))?;
    if let Some(twin) = twin(key)
        && value == "0"
        && let Ok(other) = file::read(machine, &path(twin))
        && other != "0"
    {
        return Ok(format!("{twin}={other}"));
    }
    Ok(value)
}

fn write(machine: &Machine, key: &str, value: &str) -> io::Result<()> {
    match value.split_once('=') {
        Some((other, value)) if twin(key) == Some(other) => file::write(machine, &path(other), value),
        _ => file::write(machine, &path(key), value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_undone_is_refused_with_its_reason() {
        for key in [
            "vm.drop_caches",
            "net.ipv4.ip_forward",
            "kernel.random.uuid",
            "kernel.modules_disabled",
            "kernel.tainted",
            "net.ipv6.conf.eth0.disable_ipv6",
            "net.ipv6.conf.default.stable_secret",
            "net.ipv6.conf.all.forwarding",
            "kernel.watchdog",
        ] {
            let why = expand(&Machine::here(), key, "1").unwrap().unwrap_err();
            assert!(!why.is_empty(), "{key}");
        }
        assert!(expand(&Machine::here(), "vm.swappiness", "1").unwrap().is_ok());
        let ptrace = |value: &str| expand(&Machine::here(), "kernel.yama.ptrace_scope", value).unwrap();
        assert!(ptrace("1").is_ok() && ptrace("3").is_err());
        assert!(expand(&Machine::here(), "net.ipv6.conf.all.hop_limit", "9").unwrap().is_ok());
        assert!(expand(&Machine::here(), "thp.enabled", "never").is_none());
    }

    #[test]
    fn what_is_found_as_numbers_takes_as_many_numbers() {
        let refused =
            |key: &str, found: &str, value: &str| refuses(&Machine::here(), key, found, value).is_some();
        assert!(refused("net.core.somaxconn", "4096", "abc") && refused("net.core.somaxconn", "4096", "1 2"));
        assert!(refused("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096"));
        assert!(!refused("net.core.somaxconn", "4096", "128") && !refused("kernel.shmmax", "5", "0x10"));
        assert!(!refused("net.ipv4.tcp_rmem", "1\t2\t3", "4 5 6"));
        assert!(!refused("net.ipv4.tcp_congestion_control", "cubic", "bbr"));
        assert!(!refused("net.ipv4.ip_local_reserved_ports", "8080", "8080,9000-9010"));
    }

    #[test]
    fn what_the_kernel_rounds_is_not_refused_for_that() {
        for key in ["net.netfilter.nf_conntrack_buckets", "net.ipv4.neigh.eth0.base_reachable_time_ms"] {
            assert!(!SETTING.is_exact(key), "{key}");
        }
        assert!(SETTING.is_exact("net.core.somaxconn"));
    }

    #[test]
    fn of_twins_the_one_that_rules_is_told_and_written_back() {
        let dir = tempfile::tempdir().unwrap();
        let vm = dir.path().join("proc/sys/vm");
        std::fs::create_dir_all(&vm).unwrap();
        std::fs::write(vm.join("dirty_bytes"), "0\n").unwrap();
        std::fs::write(vm.join("dirty_ratio"), "20\n").unwrap();
        let machine = Machine::at(dir.path());
        let found = read(&machine, "vm.dirty_bytes").unwrap();
        assert_eq!(found, "vm.dirty_ratio=20");
        std::fs::write(vm.join("dirty_ratio"), "00\n").unwrap();
        write(&machine, "vm.dirty_bytes", &found).unwrap();
        assert_eq!(read(&machine, "vm.dirty_ratio").unwrap(), "20");
    }

    #[test]
    fn no_key_leads_out_of_its_tree() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        std::fs::create_dir_all(dir.path().join("sys/class/net/x")).unwrap();
        std::fs::write(dir.path().join("outside"), "1\n").unwrap();
        std::os::unix::fs::symlink("../../../outside", dir.path().join("proc/sys/kernel/link")).unwrap();
        std::os::unix::fs::symlink("../../../../outside", dir.path().join("sys/class/net/x/threaded"))
            .unwrap();
        let machine = Machine::at(dir.path());
        for key in
            ["kernel.//.//.//.outside", "kernel.//.kernel.link", "kernel./.link", "kernel..link", "kernel."]
        {
            assert!(!owns(key) && expand(&machine, key, "2").is_none(), "{key}");
        }
        // Those that a journal could hold get no further.
        for key in ["kernel.//.//.//.outside", "kernel.link"] {
            assert!(read(&machine, key).is_err() && write(&machine, key, "2").is_err(), "{key}");
            assert!((SETTING.may_write)(&machine, key).is_err(), "{key}");
        }
        let threaded = super::super::of("nic.x.threaded").unwrap();
        assert!(threaded.write(&machine, "nic.x.threaded", "2").is_err());
        assert_eq!(std::fs::read_to_string(dir.path().join("outside")).unwrap(), "1\n");
    }

    #[test]
    fn a_slash_of_a_key_is_a_dot_of_a_name() {
        assert_eq!(path("net.ipv4.conf.eth0/5.rp_filter"), "/proc/sys/net/ipv4/conf/eth0.5/rp_filter");
    }
}
