//! A comparison as Markdown.

use super::comparison::RunComparison;
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, entries, headline, run_lines};
use crate::amount::unit_of_run;
use crate::escape::{markdown, markdown_paragraph};
use crate::markdown::{grid, list};
use crate::text::capital;
use std::fmt::Write as _;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)]) -> String {
    let mut out = format!("# Comparison\n\n{}\n\n", markdown_paragraph(&headline(c)));
    let [of_a, of_b] = run_lines(c);
    list(&mut out, "- ", &[format!("A: {of_a}"), format!("B: {of_b}")]);
    for (gate, outcome) in gates {
        let _ = writeln!(out, "**{}**\n", markdown(&outcome.sentence(gate)));
    }
    if !c.is_within {
        out.push_str("## Differences in the environment\n\n");
    }
    if c.is_within {
        // A run has one environment.
    } else if c.differences.is_empty() {
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
            capital(table.metric.summary),
            table.metric.hint()
        );
        let rows = c.pairs.iter().zip(&table.rows).map(|(pair, row)| {
            let [a, b, times, verdict] = entries(table, row, pair, unit_of_run(c.b));
            vec![pair.label.clone(), a, b, times, verdict]
        });
        grid(&mut out, &["cell", "A", "B", "B/A", "verdict"].map(String::from), rows);
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            let _ = writeln!(out, "{name}: {}\n", markdown(&labels.join("; ")));
        }
    }
    list(&mut out, "- ", &cautions(c));
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}
