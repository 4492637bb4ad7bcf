//! How packets wait at a network interface: files of /sys/class/net.

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::nic::{meant, parts};
use super::{file, value};
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "queueing",
    keys: "nic.eth0.gro-flush-timeout",
    summary: "tx-queue-len, gro-flush-timeout (ns), defer-hard-irqs and threaded polling of an interface",
    right: "root (CAP_NET_ADMIN)",
    of_network: true,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| parts(key).is_some_and(|(_, word)| file_of(word).is_some()),
    expand,
    read: |machine, key| file::read(machine, &path(key)?),
    write: |machine, key, value| file::write(machine, &path(key)?, value),
    may_write: |machine, key| file::may_write(machine, &path(key)?),
    file_at_boot: |key| path(key).ok(),
};

/// Words of keys, with the files of an interface.
const FILES: &[(&str, &str)] = &[
    ("defer-hard-irqs", "napi_defer_hard_irqs"),
    ("gro-flush-timeout", "gro_flush_timeout"),
    ("threaded", "threaded"),
    ("tx-queue-len", "tx_queue_len"),
];

fn file_of(word: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == word).map(|(_, file)| *file)
}

fn path(key: &str) -> io::Result<String> {
    let (interface, word) = parts(key).ok_or(io::ErrorKind::NotFound)?;
    let file = file_of(word).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("/sys/class/net/{interface}/{file}"))
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    file_of(key.rsplit_once('.')?.1)?;
    let (interfaces, word) = match meant(machine, key)? {
        Ok(meant) => meant,
        Err(why) => return Some(Err(why)),
    };
    Some(value::count(value).map(|number| {
        interfaces.iter().map(|i| Change::new(format!("nic.{i}.{word}"), number.clone())).collect()
    }))
}
