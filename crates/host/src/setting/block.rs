//! Queues of disks (Documentation/ABI/stable/sysfs-block).

use std::io;

use super::entry::{Change, Expanded, Setting};
use super::file;
use crate::machine::Machine;

pub(super) const SETTING: Setting = Setting {
    name: "disks",
    keys: "block.vda.scheduler (or io-scheduler and read-ahead)",
    summary: "scheduler, read-ahead-kb, nr-requests, nomerges, rq-affinity and wbt-lat-usec of a disk; io-scheduler and read-ahead (KiB) are those of all disks",
    right: "root (CAP_SYS_ADMIN)",
    of_network: false,
    // A size is rounded to pages, a depth to what the device has.
    is_exact: |_| false,
    refuses: |machine, key, found, value| {
        file::no_choice(machine, &path(key).ok()?, value)
            .or_else(|| super::value::not_as_many_numbers(found, value))
    },
    owns: |key| parts(key).is_some(),
    expand,
    read: |machine, key| file::choice(machine, &path(key)?),
    write: |machine, key, value| file::write(machine, &path(key)?, value),
    may_write: |machine, key| file::may_write(machine, &path(key)?),
    file_at_boot: |key| path(key).ok(),
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

fn path(key: &str) -> io::Result<String> {
    let (disk, file) = parts(key).ok_or(io::ErrorKind::NotFound)?;
    Ok(format!("/sys/block/{disk}/queue/{file}"))
}

/// Other names for what is most often meant, of every disk.
const SHORT: &[(&str, &str)] = &[("io-scheduler", "scheduler"), ("read-ahead", "read-ahead-kb")];

/// `block.scheduler` is that of every disk.
fn expand(machine: &Machine, key: &str, value: &str) -> Option<Expanded> {
    if parts(key).is_some() {
        return Some(Ok(vec![Change::new(key, value)]));
    }
    let short = SHORT.iter().find(|(name, _)| *name == key).map(|(_, word)| *word);
    let word = short.or_else(|| key.strip_prefix("block."))?;
    file_of(word)?;
    let disks = machine.disks();
    if disks.is_empty() {
        return Some(Err(format!("this machine has no disk; name a block device: block.NAME.{word}")));
    }
    Some(Ok(disks.iter().map(|disk| Change::new(format!("block.{disk}.{word}"), value)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_a_disk_and_its_short_name_are_those_of_every_disk() {
        let dir = tempfile::tempdir().unwrap();
        for disk in ["sda", "vda"] {
            std::fs::create_dir_all(dir.path().join(format!("sys/block/{disk}/device"))).unwrap();
        }
        let machine = Machine::at(dir.path());
        let keys = |key: &str, value: &str| -> Vec<String> {
            let changes = expand(&machine, key, value).unwrap().unwrap();
            changes.into_iter().map(|change| change.key).collect()
        };
        assert_eq!(keys("io-scheduler", "none"), ["block.sda.scheduler", "block.vda.scheduler"]);
        assert_eq!(keys("read-ahead", "256"), keys("block.read-ahead-kb", "256"));
        assert!(expand(&machine, "read-behind", "1").is_none());
    }
}
