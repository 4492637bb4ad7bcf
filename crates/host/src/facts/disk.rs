//! Disks, and the file system of the working directory, where run files and served files usually lie.

use std::fs;
use std::path::Path;

use super::{Facts, value_of};
use crate::machine::Machine;

pub(super) fn collect(facts: &mut Facts, machine: &Machine) {
    let disks = machine.disks();
    for disk in &disks {
        for word in ["scheduler", "read-ahead-kb"] {
            let key = format!("block.{disk}.{word}");
            facts.add(key.clone(), value_of(machine, &key));
        }
        let rotational = machine.read(&format!("/sys/block/{disk}/queue/rotational"));
        facts.add(format!("block.{disk}.rotational"), rotational);
    }
    facts.add("disks", machine.path("/sys/block").is_dir().then(|| disks.join(" ")));
    of_directory(facts, machine);
}

fn of_directory(facts: &mut Facts, machine: &Machine) {
    let mut record = |name: &str, value: Option<String>| facts.record("disk", name, value);
    let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let mounts = machine.read("/proc/self/mountinfo").unwrap_or_default();
    let Some(mount) = mount_of(&mounts, &here) else { return };
    record("mount point", Some(mount.point.to_owned()));
    record("file system", Some(mount.kind.to_owned()));
    record("mount options", Some(mount.options.to_owned()));
    record("device", Some(mount.device.to_owned()));
    // A partition's queue is that of the disk above it.
    let block = fs::canonicalize(machine.path(&format!("/sys/dev/block/{}", mount.number))).ok();
    let disk = block.as_deref().and_then(|b| b.ancestors().take(2).find(|p| p.join("queue").is_dir()));
    let Some(disk) = disk else { return };
    let read = |file: String| crate::files::read(disk.join(file));
    record("model", read("device/model".into()));
    record("size in 512-byte sectors", read("size".into()));
    for file in [
        "scheduler",
        "rotational",
        "nr_requests",
        "read_ahead_kb",
        "write_cache",
        "max_sectors_kb",
        "logical_block_size",
    ] {
        record(&file.replace('_', " "), read(format!("queue/{file}")));
    }
}

struct Mount<'a> {
    number: &'a str,
    point: &'a str,
    options: &'a str,
    kind: &'a str,
    device: &'a str,
}

/// The mount that holds `path`, of the lines of mountinfo (proc_pid_mountinfo(5)).
fn mount_of<'a>(mounts: &'a str, path: &Path) -> Option<Mount<'a>> {
    let parse = |line: &'a str| -> Option<Mount<'a>> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let (number, _root, point, options) = (left.next()?, left.next()?, left.next()?, left.next()?);
        let mut right = right.split(' ');
        Some(Mount { number, point, options, kind: right.next()?, device: right.next()? })
    };
    // The last of the longest: a later mount hides an earlier one at the same point.
    mounts.lines().filter_map(parse).filter(|m| path.starts_with(m.point)).max_by_key(|m| m.point.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_holds_a_path() {
        let mounts = "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
                      30 22 0:40 / /srv rw shared:3 - tmpfs tmpfs rw\n31 22 8:2 / /srv/data rw - xfs /dev/sdb rw\n";
        let of = |path: &str| mount_of(mounts, Path::new(path)).map(|m| (m.kind, m.number)).unwrap();
        assert_eq!(of("/home/x"), ("ext4", "8:1"));
        assert_eq!(of("/srv/data/x"), ("xfs", "8:2"));
        assert_eq!(of("/srv/database"), ("tmpfs", "0:40"));
    }
}
