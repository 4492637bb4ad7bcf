//! Queues, rings and interrupt coalescing of network interfaces, as ethtool(8) sets them.

use std::io;

use pitot_sys::ethtool::{FIELDS, Field};

use super::entry::{Change, Expanded, Setting};
use super::value;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "nic",
    keys: "nic.eth0.combined-queues",
    summary: "queues, rings and interrupt coalescing of an interface",
    right: "CAP_NET_ADMIN",
    of_network: true,
    is_exact: |_| false,
    refuses: |_, key, _, value| {
        let (interface, field) = field(key)?;
        let (max, wanted) = (field.max(interface)?, value.parse::<u32>().ok()?);
        (wanted > max).then(|| format!("it is at most {max}"))
    },
    owns: |key| field(key).is_some(),
    expand,
    read: |_, key| {
        let (interface, field) = field(key).ok_or(io::ErrorKind::NotFound)?;
        field.read(interface).map(|n| n.to_string())
    },
    write: |_, key, value| {
        let (interface, field) = field(key).ok_or(io::ErrorKind::NotFound)?;
        field.write(interface, value.parse().map_err(|_| io::ErrorKind::InvalidInput)?)
    },
    may_write: |machine, _| may_administer(machine),
    file_at_boot: |_| None,
};

/// The interface and the last word of `nic.INTERFACE.WORD`. A name of an interface may have dots in it.
pub(super) fn parts(key: &str) -> Option<(&str, &str)> {
    let (interface, word) = key.strip_prefix("nic.")?.rsplit_once('.')?;
    (!interface.is_empty() && !interface.contains('/')).then_some((interface, word))
}

/// The interfaces that `nic.INTERFACE.WORD` or `nic.WORD` means, and the word; without a name all that have a device.
pub(super) fn meant(machine: &Machine, key: &str) -> Option<Result<(Vec<String>, String), String>> {
    let rest = key.strip_prefix("nic.")?;
    let Some((interface, word)) = parts(key) else {
        let nics = machine.nics();
        if nics.is_empty() {
            return Some(Err(format!("this machine has no NIC; name an interface: nic.NAME.{rest}")));
        }
        return Some(Ok((nics, rest.to_owned())));
    };
    if !machine.path(&format!("/sys/class/net/{interface}")).exists()
        && pitot_sys::ethtool::features(interface).is_err()
    {
        return Some(Err(format!("there is no interface {interface}")));
    }
    Some(Ok((vec![interface.to_owned()], word.to_owned())))
}

fn field(key: &str) -> Option<(&str, &'static Field)> {
    let (interface, word) = parts(key)?;
    Some((interface, FIELDS.iter().find(|field| field.name == word)?))
}

/// Queues whatever the driver calls them: combined ones where it has such, else both kinds.
const QUEUES: &str = "queues";

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    let word = key.rsplit_once('.')?.1;
    if word != QUEUES && FIELDS.iter().all(|field| field.name != word) {
        return None;
    }
    let (interfaces, word) = match meant(machine, key)? {
        Ok(meant) => meant,
        Err(why) => return Some(Err(why)),
    };
    let number = match word.starts_with("adaptive").then(|| value::switch(value)) {
        Some(Ok(switch)) => u32::from(switch == "on").to_string(),
        Some(Err(why)) => return Some(Err(why)),
        None => match value::count(value) {
            Ok(number) => number,
            Err(why) => return Some(Err(why)),
        },
    };
    let changes = interfaces.iter().flat_map(|interface| {
        let words: &[&str] = match word.as_str() {
            QUEUES if has_combined(interface) => &["combined-queues"],
            QUEUES => &["rx-queues", "tx-queues"],
            word => &[word],
        };
        let mut changes = Vec::new();
        for word in words {
            if matches!(*word, "rx-queues" | "combined-queues") {
                changes.extend(steering_lost(machine, interface, &number));
            }
            changes.push(Change::new(format!("nic.{interface}.{word}"), number.clone()));
        }
        changes
    });
    Some(Ok(changes.collect()))
}

/// A queue that is taken away takes with it which CPUs its packets are steered to, and comes back without: to be undone,
/// that has to be a change of its own, made before.
fn steering_lost(machine: &Machine, interface: &str, count: &str) -> Vec<Change> {
    let left: usize = count.parse().unwrap_or(0);
    let queues = machine.names(&format!("/sys/class/net/{interface}/queues"));
    let lost = queues.iter().filter(|queue| {
        queue.strip_prefix("rx-").and_then(|n| n.parse::<usize>().ok()).is_some_and(|n| n >= left)
    });
    let changes = lost.flat_map(|queue| {
        [("rps-cpus", "none"), ("rps-flows", "0")]
            .map(|(word, value)| Change::new(format!("nic.{interface}.{queue}.{word}"), value))
    });
    changes.collect()
}

fn has_combined(interface: &str) -> bool {
    let field = FIELDS.iter().find(|field| field.name == "combined-queues");
    field.and_then(|field| field.max(interface)).is_some_and(|max| max > 0)
}

/// `CAP_NET_ADMIN` of linux/capability.h.
const NET_ADMIN: u32 = 12;

/// Whether this process has the capability that interfaces ask for.
pub(super) fn may_administer(machine: &Machine) -> io::Result<()> {
    let status = machine.read("/proc/self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    // Where it cannot be seen, the kernel will tell.
    if bits.is_none_or(|bits| bits >> NET_ADMIN & 1 == 1) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}
