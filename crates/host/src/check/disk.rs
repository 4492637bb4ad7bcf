//! Queues of disks, and what waits to be written.

use super::judge::{at_least, each, fine, one_of, unknown, wrong, wrong_by_hand};
use super::rule::{Evidence, Rule, Threshold, Use, Verdict};
use crate::facts::Facts;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "io-scheduler",
        looks_at: "the I/O scheduler of each disk",
        uses: &[Use::Files, Use::Mail],
        wanted: "none or mq-deadline or kyber; mq-deadline or bfq where it rotates",
        why: "Sorting requests costs CPU and does not help a fast device; a rotating one needs it.",
        source: "Documentation/block/switching-sched.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: |f| each(f, "disks", NO_DISK, |disk| scheduler(f, disk)),
    },
    Rule {
        name: "read-ahead",
        looks_at: "read-ahead of each disk",
        uses: &[Use::Files],
        wanted: "at least 128",
        why: "Sequential reads are fetched this far ahead; with 0 each read waits for the disk.",
        source: "Documentation/ABI/stable/sysfs-block",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| each(f, "disks", NO_DISK, |disk| read_ahead(f, disk)),
    },
    Rule {
        name: "dirty-limits",
        looks_at: "vm.dirty_ratio and vm.dirty_bytes",
        uses: &[Use::Files, Use::Mail],
        wanted: "at most 4096 MiB",
        why: "Writers are blocked when this much is waiting to be written: on a large machine a percentage is gigabytes, and one fsync waits for all of them.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: dirty,
    },
    Rule {
        name: "dirty-background",
        looks_at: "vm.dirty_background_ratio and vm.dirty_background_bytes",
        uses: &[Use::Files, Use::Mail],
        wanted: "at most 1024 MiB",
        why: "Background writing begins when this much is waiting: a high limit causes bursts.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Experience,
        can_apply: true,
        judge: background,
    },
    Rule {
        name: "dirty-expire",
        looks_at: "vm.dirty_expire_centisecs",
        uses: &[Use::Files, Use::Mail],
        wanted: "at most 3000",
        why: "Data that has waited this long is written; a longer time means larger bursts, and more loss in a crash.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| super::judge::at_most(f, "vm.dirty_expire_centisecs", 3000).consider(),
    },
    Rule {
        name: "access-times",
        looks_at: "access times of the file system of this directory",
        uses: &[Use::Files],
        wanted: "relatime or noatime",
        why: "With strictatime each read of a file is a write of its inode.",
        source: "mount(8)",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: false,
        judge: atime,
    },
    Rule {
        name: "vfs-cache-pressure",
        looks_at: "vm.vfs_cache_pressure",
        uses: &[Use::Files],
        wanted: "at most 100",
        why: "Above 100 the kernel evicts directory entries and inodes before file contents: small files are looked up on the disk again.",
        source: "Documentation/admin-guide/sysctl/vm.rst",
        evidence: Evidence::Documented,
        threshold: Threshold::Default,
        can_apply: true,
        judge: |f| super::judge::at_most(f, "vm.vfs_cache_pressure", 100),
    },
];

const NO_DISK: &str = "there is no disk";

fn scheduler(facts: &Facts, disk: &str) -> Verdict {
    let key = format!("block.{disk}.scheduler");
    if facts.word(&format!("block.{disk}.rotational")) == Some("1") && facts.is_virtual() != Some(true) {
        return one_of(facts, &key, &["mq-deadline", "bfq"]).consider();
    }
    one_of(facts, &key, &["none", "mq-deadline", "kyber"]).consider()
}

fn read_ahead(facts: &Facts, disk: &str) -> Verdict {
    at_least(facts, &format!("block.{disk}.read-ahead-kb"), 128)
}

/// More than a disk writes in some seconds.
const DIRTY_MAX_KB: u64 = 4 << 20;

/// Kilobytes that may wait, by one pair of parameters.
fn waiting_kb(facts: &Facts, bytes: &str, ratio: &str) -> Option<u64> {
    match facts.number(bytes)? {
        0 => Some(facts.kilobytes("memory.MemTotal")? * facts.number(ratio)? / 100),
        bytes => Some(bytes >> 10),
    }
}

fn dirty(facts: &Facts) -> Verdict {
    match waiting_kb(facts, "vm.dirty_bytes", "vm.dirty_ratio") {
        None => unknown("the parameters or the memory cannot be seen"),
        Some(kb) if kb <= DIRTY_MAX_KB => fine(format!("{} MiB", kb >> 10)),
        Some(kb) => {
            wrong(format!("{} MiB", kb >> 10), "at most 4096 MiB", &[("vm.dirty_bytes", "4294967296")])
                .consider()
        }
    }
}

fn background(facts: &Facts) -> Verdict {
    match waiting_kb(facts, "vm.dirty_background_bytes", "vm.dirty_background_ratio") {
        None => unknown("the parameters or the memory cannot be seen"),
        Some(kb) if kb <= DIRTY_MAX_KB / 4 => fine(format!("{} MiB", kb >> 10)),
        Some(kb) => wrong(
            format!("{} MiB", kb >> 10),
            "at most 1024 MiB",
            &[("vm.dirty_background_bytes", "1073741824")],
        )
        .consider(),
    }
}

fn atime(facts: &Facts) -> Verdict {
    match facts.word("disk.mount options") {
        None => unknown("its mount cannot be found"),
        Some(options) => match options.split(',').find(|option| option.ends_with("atime")) {
            Some("strictatime") | None => {
                wrong_by_hand(options, "relatime or noatime", "mount -o remount,relatime")
            }
            Some(found) => fine(found),
        },
    }
}
