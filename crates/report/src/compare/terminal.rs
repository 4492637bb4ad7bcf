//! A comparison for a terminal.

use super::comparison::{MetricTable, RunComparison};
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, entries, headline, run_lines};
use crate::amount::unit_of_run;
use crate::terminal::{WIDTH, heading, item, paragraph};
use crate::text::capital;
use pitot_host::HostChange;
use std::fmt::Write as _;

/// More differences than this are counted in a terminal; the other formats have all.
const DIFFERENCES_MAX: usize = 30;
/// A label is cut to fit the line, but not below this.
const LABEL_MIN: usize = 12;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut out = String::from("\n");
    let [of_a, of_b] = run_lines(c);
    item(&mut out, "A  ", &of_a);
    item(&mut out, "B  ", &of_b);
    out.push('\n');
    paragraph(&mut out, "", &headline(c));
    if !c.is_within {
        let same = "The machines and versions are the same";
        heading(&mut out, if c.differences.is_empty() { same } else { "Differences in the environment" });
    }
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
    let cautions = cautions(c);
    if !cautions.is_empty() {
        heading(&mut out, "Caveats");
    }
    for caution in cautions {
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
fn change_line(change: &HostChange) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".into());
    format!("{} {}: {} → {}", change.group, change.name, value(&change.before), value(&change.after))
}

fn metric_lines(out: &mut String, c: &RunComparison<'_>, table: &MetricTable) {
    heading(out, &format!("{}; {}", capital(table.metric.summary), table.metric.hint()));
    let rows: Vec<(&str, [String; 4])> = c
        .pairs
        .iter()
        .zip(&table.rows)
        .map(|(pair, row)| (pair.label.as_str(), entries(table, row, pair, unit_of_run(c.b))))
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
