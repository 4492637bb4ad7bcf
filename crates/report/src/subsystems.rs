//! On what cells spend their CPU time, by part of the system: their own code, or which part of the kernel.
//!
//! The innermost function of a stack that belongs to a part decides, so that each sample counts once: waking a thread at the end of
//! sending a reply is scheduling.

use std::collections::BTreeMap;

use pitot_meter::stack::frames;
use pitot_plan::Profiled;
use pitot_record::CellRecord;

use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, Table};
use crate::explain::entered;
use crate::flames::profiles;
use crate::number::percent;
use crate::text::sentence;

/// The kernel's parts: as titles of columns, in sentences, and how their functions begin.
const PARTS: [(&str, &str, &[&str]); 5] = [
    (
        "scheduling",
        "on scheduling threads",
        &[
            "__schedule",
            "schedule",
            "try_to_wake_up",
            "__wake_up",
            "wake_",
            "ttwu_",
            "select_task_rq",
            "pick_",
            "enqueue_",
            "dequeue_",
            "update_",
            "finish_task_switch",
            "futex_",
            "do_futex",
            "default_wake",
            "autoremove_wake",
            "ep_autoremove_wake",
        ],
    ),
    (
        "polling",
        "on asking which connections are ready",
        &[
            "ep_",
            "do_epoll",
            "do_poll",
            "do_sys_poll",
            "do_select",
            "core_sys_select",
            "__pollwait",
            "poll_",
            "sock_poll",
            "tcp_poll",
        ],
    ),
    (
        "network",
        "in the network stack",
        &[
            "tcp_",
            "__tcp_",
            "ip_",
            "__ip_",
            "inet_",
            "__inet_",
            "sock_",
            "__sock_",
            "net_",
            "__net",
            "skb_",
            "__skb_",
            "sk_",
            "__sk_",
            "dev_",
            "__dev_",
            "loopback_",
            "__napi",
            "napi_",
            "process_backlog",
            "unix_",
            "udp_",
            "lock_sock",
            "release_sock",
            "__sys_sendto",
            "__sys_recvfrom",
            "__sys_accept",
            "move_addr",
            "nf_",
        ],
    ),
    (
        "files",
        "in file systems",
        &[
            "ext4_",
            "xfs_",
            "btrfs_",
            "f2fs_",
            "shmem_",
            "jbd2_",
            "filemap_",
            "generic_file",
            "path_",
            "link_path",
            "do_filp",
            "do_sys_open",
            "dput",
            "splice_",
            "do_sendfile",
            "submit_bio",
            "blk_",
        ],
    ),
    (
        "memory",
        "on memory",
        &[
            "asm_exc_page_fault",
            "exc_page_fault",
            "do_page_fault",
            "handle_mm_fault",
            "clear_page",
            "do_mmap",
            "__do_mmap",
            "do_munmap",
            "__vm_munmap",
            "unmap_",
            "zap_",
            "madvise_",
            "do_madvise",
            "exit_mmap",
            "copy_page_range",
        ],
    ),
];
/// A part that takes less in all cells is not shown.
const SHOWN_MIN: f64 = 0.005;
/// Shares that differ by less are not told.
const TOLD: f64 = 0.05;

/// Shares of CPU time: of the program and its libraries, of each of the kernel's parts, and of the rest of the kernel.
type Shares = [f64; PARTS.len() + 2];

const PROGRAM: usize = PARTS.len();
const REST: usize = PARTS.len() + 1;

fn part_of(stack: &str) -> usize {
    let mut is_of_kernel = false;
    for frame in frames(stack).rev().take_while(|frame| frame.is_of_kernel()) {
        is_of_kernel = true;
        let belongs = |(_, _, prefixes): &(_, _, &[&str])| {
            prefixes.iter().any(|prefix| frame.function.starts_with(prefix))
        };
        if let Some(part) = PARTS.iter().position(belongs) {
            return part;
        }
    }
    if is_of_kernel { REST } else { PROGRAM }
}

/// None of a cell without profiles.
fn shares(cell: &CellRecord) -> Option<Shares> {
    let mut counts = [0u64; PARTS.len() + 2];
    for (_, profile) in profiles(cell, Profiled::Cpu).filter(|(_, profile)| profile.sees_kernel) {
        for entry in &profile.entries {
            counts[part_of(&entry.name)] += entry.count;
        }
    }
    let all: u64 = counts.iter().sum();
    (all > 0).then(|| counts.map(|count| count as f64 / all as f64))
}

/// The table of all cells, and a sentence on each that differs much from its baseline.
pub(crate) fn blocks(a: &Analysis<'_>) -> Vec<Block> {
    let all: Vec<(&Cell<'_>, Shares)> =
        a.cells.iter().filter_map(|cell| Some((cell, shares(cell.record)?))).collect();
    let told = all.iter().filter_map(|(cell, own)| {
        let baseline = a.run.baseline_of(cell.record)?;
        let (of_baseline, base) = all.iter().find(|(other, _)| other.record.id == baseline.id)?;
        let (at, difference) = most_different(own, base)?;
        (difference.abs() >= TOLD).then(|| {
            Block::Paragraph(sentence(&format!(
                "**{}** spends {} of its CPU time {}; **{}** spends {}",
                a.name_of(cell),
                percent(own[at]),
                PARTS[at].1,
                a.name_of(of_baseline),
                percent(base[at])
            )))
        })
    });
    let told: Vec<Block> = told.collect();
    // What no cell does has no column.
    let order = [PROGRAM].into_iter().chain(0..PARTS.len()).chain([REST]);
    let shown: Vec<usize> =
        order.filter(|&at| all.iter().any(|(_, shares)| shares[at] >= SHOWN_MIN)).collect();
    let title = |at: &usize| match *at {
        PROGRAM => "program",
        REST => "other",
        at => PARTS[at].0,
    };
    let titles = shown.iter().map(title);
    let rows = all.iter().map(|(cell, shares)| {
        (a.name_of(cell), shown.iter().map(|&at| Entry::from(percent(shares[at]))).collect::<Vec<_>>())
    });
    let table = Table::plain(
        "CPU time by part of the system",
        "cell",
        titles.map(Column::of).collect(),
        rows.collect::<Vec<_>>(),
    );
    let table = (!all.is_empty()).then_some(Block::Table(table));
    told.into_iter().chain(table).collect()
}

/// The part of the kernel whose share differs most.
fn most_different(own: &Shares, base: &Shares) -> Option<(usize, f64)> {
    let differences = (0..PARTS.len()).map(|at| (at, own[at] - base[at]));
    differences.max_by(|(_, x), (_, y)| x.abs().total_cmp(&y.abs()))
}

/// CPU time per request of a cell in each system call, in page faults, in its own code and elsewhere in the kernel, nanoseconds, the
/// most first; empty without profiles.
pub fn spent(cell: &CellRecord) -> Vec<(String, f64)> {
    let mut spent: BTreeMap<String, f64> = BTreeMap::new();
    let profiles: Vec<_> = profiles(cell, Profiled::Cpu).map(|(_, profile)| profile).collect();
    for profile in &profiles {
        for entry in &profile.entries {
            let what = entered(&entry.name).unwrap_or_else(|| match part_of(&entry.name) {
                PROGRAM => "its own code".to_owned(),
                _ => "interrupts".to_owned(),
            });
            *spent.entry(what).or_default() +=
                profile.ns_per_request(entry).unwrap_or_default() / profiles.len() as f64;
        }
    }
    let mut spent: Vec<_> = spent.into_iter().collect();
    spent.sort_by(|(_, x), (_, y)| y.total_cmp(x));
    spent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_part_has_the_sample() {
        let title = |stack| match part_of(stack) {
            PROGRAM => "program",
            REST => "rest",
            at => PARTS[at].0,
        };
        assert_eq!(title("a`main;a`serve"), "program");
        assert_eq!(title("a`main;kernel`do_syscall_64"), "rest");
        assert_eq!(title("a`main;kernel`do_syscall_64;kernel`tcp_sendmsg;kernel`_copy_from_iter"), "network");
        let woken = "a`main;kernel`tcp_sendmsg;kernel`sock_def_readable;kernel`__wake_up_sync_key;kernel`_raw_spin_unlock_irqrestore";
        assert_eq!(title(woken), "scheduling");
        assert_eq!(title("a`main;kernel`asm_exc_page_fault;kernel`error_entry"), "memory");
    }
}
