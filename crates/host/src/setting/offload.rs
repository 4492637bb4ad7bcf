//! Offloads and other features of network interfaces, as ethtool(8) sets them.
//!
//! They are set one by one under the names of `ethtool -k`, in the kernel's words. The old commands that set several at
//! once (`ethtool -K eth0 tso on`) cannot be undone to the bit where one of them was off before.

use std::io;

use pitot_sys::ethtool;

use super::entry::{Change, Expanded, Setting};
use super::nic::{may_administer, meant, parts};
use super::value;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "offloads",
    keys: "nic.eth0.rx-gro",
    summary: "features of an interface, and gro, gso, tso, sg, lro and rx-checksum for those of that kind",
    right: "CAP_NET_ADMIN",
    of_network: true,
    is_exact: |_| true,
    refuses: |_, _, _, _| None,
    owns: |key| parts(key).is_some_and(|(_, word)| !word.is_empty()),
    expand,
    read: |_, key| {
        let (interface, name) = parts(key).ok_or(io::ErrorKind::NotFound)?;
        let found = ethtool::features(interface)?.into_iter().find(|feature| feature.name == name);
        found.map(|feature| word(feature.is_requested)).ok_or(io::ErrorKind::NotFound.into())
    },
    write: |_, key, value| {
        let (interface, name) = parts(key).ok_or(io::ErrorKind::NotFound)?;
        ethtool::set_feature(interface, name, value == "on")
    },
    may_write: |machine, _| may_administer(machine),
    file_at_boot: |_| None,
};

/// Short names, with the features that they stand for.
const SHORT: &[(&str, &[&str])] = &[
    ("gro", &["rx-gro"]),
    ("gso", &["tx-generic-segmentation"]),
    ("lro", &["rx-lro"]),
    ("rx-checksum", &["rx-checksum"]),
    ("sg", &["tx-scatter-gather"]),
    ("tso", &["tx-tcp-segmentation", "tx-tcp6-segmentation"]),
];

fn word(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}

fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    let (interfaces, word) = match meant(machine, key)? {
        Ok(meant) => meant,
        Err(why) => return Some(Err(why)),
    };
    let value = match value::switch(value) {
        Ok(value) => value,
        Err(why) => return Some(Err(why)),
    };
    let short = SHORT.iter().find(|(name, _)| *name == word);
    let mut changes = Vec::new();
    for interface in &interfaces {
        let features = match ethtool::features(interface) {
            Ok(features) => features,
            Err(e) => return Some(Err(format!("{interface} shows no features: {e}"))),
        };
        let wanted: Vec<&str> = short.map_or_else(|| vec![word.as_str()], |(_, names)| names.to_vec());
        let known: Vec<_> = features.iter().filter(|f| wanted.contains(&f.name.as_str())).collect();
        if known.is_empty() {
            return Some(Err(format!("{interface} has no feature {word}")));
        }
        let can_change: Vec<_> = known.into_iter().filter(|f| f.can_change).collect();
        if can_change.is_empty() {
            return Some(Err(format!("the driver of {interface} cannot change {word}")));
        }
        changes.extend(can_change.iter().map(|f| Change::new(format!("nic.{interface}.{}", f.name), value)));
    }
    Some(Ok(changes))
}
