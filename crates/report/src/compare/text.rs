//! A comparison as text: for a terminal, and as Markdown.

use super::{Gate, GateOutcome, MetricRow, MetricTable, RunComparison, cautions, run_line};
use crate::analysis::Analysis;
use crate::markdown::grid;
use crate::number::figure;
use crate::terminal::{WIDTH, heading, item, paragraph};
use crate::words::{decision, ratio};
use pitot_lab::{Better, HostChange, VerdictKind};
use std::fmt::Write as _;

/// More differences than this are counted in a terminal; the other formats have all.
const DIFFERENCES_MAX: usize = 30;
/// A label is cut to fit the line, but not below this.
const LABEL_MIN: usize = 12;

pub(super) fn terminal(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut out = String::from("\n");
    item(&mut out, "A  ", &run_line(c.a));
    item(&mut out, "B  ", &run_line(c.b));
    heading(
        &mut out,
        if c.differences.is_empty() {
            "The machines and versions are the same"
        } else {
            "What differs around them"
        },
    );
    for change in c.differences.iter().take(DIFFERENCES_MAX) {
        item(&mut out, "- ", &change_line(change));
    }
    if c.differences.len() > DIFFERENCES_MAX {
        item(
            &mut out,
            "- ",
            &format!("and {} more: see --format html", c.differences.len() - DIFFERENCES_MAX),
        );
    }
    for table in &c.metrics {
        metric_lines(&mut out, c, table);
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            heading(&mut out, name);
            paragraph(&mut out, "  ", &labels.join("; "));
        }
    }
    heading(&mut out, "Read with it");
    for caution in cautions(c) {
        item(&mut out, "- ", &caution);
    }
    if !gates.is_empty() {
        heading(&mut out, "Gates");
        for (gate, outcome) in gates {
            item(&mut out, "- ", &outcome.sentence(gate));
        }
    }
    out
}

/// What changed, in one line.
pub(super) fn change_line(change: &HostChange) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".into());
    format!("{} {}: {} → {}", change.group, change.name, value(&change.before), value(&change.after))
}

fn metric_lines(out: &mut String, c: &RunComparison<'_>, table: &MetricTable) {
    heading(out, &format!("{}, {}", table.metric.summary, Analysis::hint(table.metric)));
    let rows: Vec<(&str, [String; 4])> = c
        .pairs
        .iter()
        .zip(&table.rows)
        .map(|(pair, row)| (pair.label.as_str(), entries(table, row, (pair.verdict_a, pair.verdict_b))))
        .collect();
    let widest = |i: usize, head: &str| {
        rows.iter().map(|(_, row)| row[i].chars().count()).max().unwrap_or(0).max(head.len())
    };
    let [a, b, times, verdict] = [widest(0, "A"), widest(1, "B"), widest(2, "B/A"), widest(3, "verdict")];
    let left = WIDTH.saturating_sub(a + b + times + verdict + 10).max(LABEL_MIN);
    let label_width = rows.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).clamp(4, left);
    let _ = writeln!(out, "  {:label_width$}  {:>a$}  {:>b$}  {:>times$}  verdict", "cell", "A", "B", "B/A");
    for (label, [of_a, of_b, ratio, verdict]) in rows {
        let mut label = label.to_owned();
        if label.chars().count() > label_width {
            label = label.chars().take(label_width - 1).chain(['…']).collect();
        }
        let line = format!("  {label:label_width$}  {of_a:>a$}  {of_b:>b$}  {ratio:>times$}  {verdict}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The figures of both runs, the ratio, and what may be said of it.
pub(super) fn entries(
    table: &MetricTable,
    row: &MetricRow,
    verdicts: (VerdictKind, VerdictKind),
) -> [String; 4] {
    let show = |e: &Option<pitot_lab::statistics::Estimate>| {
        e.as_ref().map_or_else(|| "–".to_owned(), |e| figure(e.value, table.metric.unit))
    };
    let higher = table.metric.better == Better::Higher;
    let mut verdict = row.comparison.as_ref().map_or_else(String::new, |c| decision(c, higher));
    let doubts = match verdicts {
        (VerdictKind::Valid, VerdictKind::Valid) => String::new(),
        (a, b) if a == b => format!("both {}", a.name()),
        (VerdictKind::Valid, b) => format!("B {}", b.name()),
        (a, VerdictKind::Valid) => format!("A {}", a.name()),
        (a, b) => format!("A {}, B {}", a.name(), b.name()),
    };
    if !doubts.is_empty() {
        let gap = if verdict.is_empty() { "" } else { "; " };
        let _ = write!(verdict, "{gap}{doubts}");
    }
    let times = row.comparison.as_ref().map_or_else(|| "–".to_owned(), ratio);
    [show(&row.a), show(&row.b), times, verdict]
}

pub(super) fn markdown(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut out = format!("# Comparison\n\n- A: {}\n- B: {}\n\n", run_line(c.a), run_line(c.b));
    for (gate, outcome) in gates {
        let _ = writeln!(out, "**{}**\n", outcome.sentence(gate));
    }
    out.push_str("## What differs around them\n\n");
    if c.differences.is_empty() {
        out.push_str("The machines and versions are the same.\n\n");
    } else {
        let rows = c.differences.iter().map(|d| {
            let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "–".into());
            vec![format!("{} {}", d.group, d.name), value(&d.before), value(&d.after)]
        });
        grid(&mut out, &["fact", "A", "B"].map(String::from), rows);
    }
    for table in &c.metrics {
        let _ = writeln!(
            out,
            "## {}\n\n{}; {}\n",
            table.metric.title,
            table.metric.summary,
            Analysis::hint(table.metric)
        );
        let rows = c.pairs.iter().zip(&table.rows).map(|(pair, row)| {
            let [a, b, times, verdict] = entries(table, row, (pair.verdict_a, pair.verdict_b));
            vec![pair.label.clone(), a, b, times, verdict]
        });
        grid(&mut out, &["cell", "A", "B", "B/A", "verdict"].map(String::from), rows);
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            let _ = writeln!(out, "{name}: {}\n", labels.join("; "));
        }
    }
    for caution in cautions(c) {
        let _ = writeln!(out, "- {caution}");
    }
    out
}
