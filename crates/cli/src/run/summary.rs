//! A plan in counts: what `pitot run --dry-run --summary` prints, for plans whose commands fill screens.

use std::fmt::Write as _;

use pitot_lab::Prepared;
use pitot_meter::units::counted;
use pitot_plan::{FactorLevel, skips_by_reason};

/// Combinations that are named of those that are skipped for one reason.
const EXAMPLES: usize = 3;

/// Cells and skipped combinations by level of each factor, and the reasons for skipping. `extent` is the sentence on
/// how much will be run.
pub(super) fn summary(prepared: &Prepared, extent: &str) -> String {
    let plan = &prepared.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut text = format!("{title}\n{extent}\n");
    let rows: Vec<[String; 4]> = plan
        .factors
        .iter()
        .flat_map(|factor| {
            let row = |(index, level): (usize, &pitot_plan::Value)| {
                let level = level.to_string();
                let has = |factors: &[FactorLevel]| {
                    factors.iter().any(|f| f.name == factor.name && f.level == level)
                };
                let cells = prepared.cells.iter().filter(|cell| has(&cell.factors)).count();
                let skips = prepared.skips.iter().filter(|skip| has(&skip.factors)).count();
                let name = if index == 0 { factor.name.clone() } else { String::new() };
                [name, level, cells.to_string(), skips.to_string()]
            };
            factor.levels.iter().enumerate().map(row).collect::<Vec<_>>()
        })
        .collect();
    let head = ["factor", "level", "cells", "skipped"].map(str::to_owned);
    let width = |column: usize| {
        rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2), width(3)];
    text.push('\n');
    for [factor, level, cells, skipped] in std::iter::once(&head).chain(&rows) {
        let [a, b, c, d] = widths;
        let _ = writeln!(text, "{factor:a$}  {level:b$}  {cells:>c$}  {skipped:>d$}");
    }
    if !prepared.skips.is_empty() {
        text.push_str("\nSkipped\n");
    }
    for (reason, labels) in skips_by_reason(&prepared.skips) {
        let _ = writeln!(text, "  {}: {reason}", examples(&labels));
    }
    text
}

/// How many there are, and the first of them.
fn examples(labels: &[String]) -> String {
    let first = labels[..labels.len().min(EXAMPLES)].join("; ");
    let more = if labels.len() > EXAMPLES { "; ..." } else { "" };
    format!("{} ({first}{more})", counted(labels.len() as u64, "combination", "combinations"))
}
