//! Queues of disks (Documentation/ABI/stable/sysfs-block).

use std::io;
use std::path::PathBuf;

use super::entry::{Change, Expanded, Setting};
use super::file;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "disks",
    keys: "block.vda.scheduler",
    summary: "scheduler, read-ahead-kb, nr-requests, nomerges, rq-affinity and wbt-lat-usec of a disk",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    // A size is rounded to pages, a depth to what the device has.
    is_exact: |_| false,
    owns: |key| parts(key).is_some(),
    expand,
    read: |machine, key| file::choice(&path(machine, key)?),
    write: |machine, key, value| file::write(&path(machine, key)?, value),
    may_write: |machine, key| file::may_write(&path(machine, key)?),
};

/// Words of keys, with the files of a queue.
const FILES: &[(&str, &str)] = &[
    ("nomerges", "nomerges"),
    ("nr-requests", "nr_requests"),
    ("read-ahead-kb", "read_ahead_kb"),
    ("rq-affinity", "rq_affinity"),
    ("scheduler", "scheduler"),
    ("wbt-lat-usec", "wbt_lat_usec"),
];

fn file_of(word: &str) -> Option<&'static str> {
    FILES.iter().find(|(name, _)| *name == word).map(|(_, file)| *file)
}

fn parts(key: &str) -> Option<(&str, &'static str)> {
    let (disk, word) = key.strip_prefix("block.")?.rsplit_once('.')?;
    (!disk.is_empty() && !disk.contains('/')).then_some((disk, file_of(word)?))
}

fn path(machine: &Machine, key: &str) -> io::Result<PathBuf> {
    let (disk, file) = parts(key).ok_or(io::ErrorKind::NotFound)?;
    Ok(machine.path(&format!("/sys/block/{disk}/queue/{file}")))
}

/// `block.scheduler` is that of every disk.
fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    if parts(key).is_some() {
        return Some(Ok(vec![Change::new(key, value)]));
    }
    let word = key.strip_prefix("block.")?;
    file_of(word)?;
    let disks = machine.disks();
    if disks.is_empty() {
        return Some(Err(format!("this machine has no disk; name a block device: block.NAME.{word}")));
    }
    Some(Ok(disks.iter().map(|disk| Change::new(format!("block.{disk}.{word}"), value)).collect()))
}
