//! Ports that are kept from outgoing connections (net.ipv4.ip_local_reserved_ports).

use std::collections::BTreeSet;

use crate::machine::Machine;

/// The value that stands for the ports that listen now, together with those that are reserved already.
pub(super) const LISTENING: &str = "listening";
/// Ports below are in no range that a profile sets.
const UNPRIVILEGED: u16 = 1024;
/// The state of a listening socket in /proc/net/tcp (include/net/tcp_states.h).
const LISTEN: &str = "0A";

/// What is reserved, as the kernel writes it, and every port on which something listens.
pub(super) fn with_listening(machine: &Machine, reserved: &str) -> String {
    let mut ports = parse(reserved);
    for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
        let table = machine.read(table).unwrap_or_default();
        ports.extend(table.lines().filter_map(listener).filter(|port| *port >= UNPRIVILEGED));
    }
    written(&ports)
}

/// The port of a line of /proc/net/tcp, if it is that of a listening socket.
fn listener(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (local, state) = (words.next()?, words.nth(1)?);
    let port = local.rsplit_once(':')?.1;
    if state == LISTEN { u16::from_str_radix(port, 16).ok() } else { None }
}

fn parse(list: &str) -> BTreeSet<u16> {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        Some(low.trim().parse::<u16>().ok()?..=high.trim().parse::<u16>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Ports in the kernel's way: neighbours are a range.
fn written(ports: &BTreeSet<u16>) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for &port in ports {
        match ranges.last_mut() {
            Some((_, high)) if *high + 1 == port => *high = port,
            _ => ranges.push((port, port)),
        }
    }
    let words = ranges.iter().map(|(low, high)| match low == high {
        true => low.to_string(),
        false => format!("{low}-{high}"),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::PROFILES;
    use crate::setting::{self, Change};

    const KEY: &str = "net.ipv4.ip_local_reserved_ports";

    /// A machine with listeners on 80, 8080 and 8081 (the last on IPv6) and a connection from 40000.
    fn machine(reserved: &str) -> (tempfile::TempDir, Machine) {
        let dir = tempfile::tempdir().unwrap();
        let (net, ipv4) = (dir.path().join("proc/self/net"), dir.path().join("proc/sys/net/ipv4"));
        std::fs::create_dir_all(&net).unwrap();
        std::fs::create_dir_all(&ipv4).unwrap();
        std::fs::write(ipv4.join("ip_local_reserved_ports"), format!("{reserved}\n")).unwrap();
        let tcp = "  sl  local_address rem_address   st tx_queue\n\
                   \x20  0: 00000000:1F90 00000000:0000 0A 00000000:00000000\n\
                   \x20  1: 00000000:0050 00000000:0000 0A 00000000:00000000\n\
                   \x20  2: 0100007F:9C40 0100007F:1F90 01 00000000:00000000\n";
        std::fs::write(net.join("tcp"), tcp).unwrap();
        let zero = "0".repeat(32);
        std::fs::write(net.join("tcp6"), format!("  0: {zero}:1F91 {zero}:0000 0A 0:0\n")).unwrap();
        let machine = Machine::at(dir.path());
        (dir, machine)
    }

    #[test]
    fn ports_that_listen_join_those_that_are_reserved() {
        for (reserved, value) in [("", "8080-8081"), ("3000,8082-8083", "3000,8080-8083")] {
            let (_dir, machine) = machine(reserved);
            let changes = setting::expand(&machine, KEY, LISTENING).unwrap();
            assert_eq!(changes, [Change::new(KEY, value)]);
        }
    }

    #[test]
    fn a_machine_where_nothing_listens_has_nothing_to_reserve() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(setting::expand(&Machine::at(dir.path()), KEY, LISTENING).unwrap(), []);
    }

    #[test]
    fn a_profile_that_widens_the_range_of_ports_reserves_those_that_listen_first() {
        for profile in PROFILES {
            let place = |key| profile.settings.iter().position(|set| set.key == key);
            if let Some(range) = place("net.ipv4.ip_local_port_range") {
                let reserve = place(KEY).expect(profile.name);
                assert!(reserve < range && profile.settings[reserve].value == LISTENING, "{}", profile.name);
            }
        }
    }
}
