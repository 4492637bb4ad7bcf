//! The section of a report on what profiles show: what explains the CPU time, on which parts of the kernel it is spent, where threads
//! wait, and what is called and counted.

use pitot_plan::Profiled;

use crate::analysis::Analysis;
use crate::counts;
use crate::document::{Block, PAGES};
use crate::explain::{Explained, cost, each, explained, missing};
use crate::flames::{TimeTree, is_profiled};
use crate::format::Format;
use crate::subsystems;

/// The section in a report of this form, if there are profiles. Flame graphs are made for pages alone.
pub(crate) fn section(a: &Analysis<'_>, format: Format) -> Option<Block> {
    let explained = explained(a);
    let of_cpu = if a.run.cells.iter().any(is_profiled) { of_cpu(a, &explained, format) } else { Vec::new() };
    let blocks: Vec<Block> = of_cpu.into_iter().chain(counts::blocks(a, format)).collect();
    let title = if explained.is_empty() { "What the servers do" } else { "Why" };
    (!blocks.is_empty()).then(|| Block::section("why", title, blocks))
}

/// What profiles of the CPU show.
fn of_cpu(a: &Analysis<'_>, explained: &[Explained], format: Format) -> Vec<Block> {
    let mut blocks: Vec<Block> = explained.iter().flat_map(Explained::blocks).collect();
    blocks.extend(missing(a));
    blocks.extend(subsystems::blocks(a));
    if PAGES.contains(&format) {
        let how = format!(
            "CPU time per {} by function, with all that it calls, sampled in slices of their own; intervals of 95% over \
             generations. Callers of which one or two functions explain most are left out.",
            each(a)
        );
        blocks.extend([Block::paragraph(how)].into_iter().chain(cost(a).map(Block::Paragraph)));
        blocks.extend(TimeTree::of_all(a, Profiled::Cpu).iter().map(TimeTree::folded));
    } else {
        let file = a.run.path.display();
        blocks.push(Block::Paragraph(format!(
            "`pitot report {file} --profile` shows where all of the time goes."
        )));
    }
    blocks
}
