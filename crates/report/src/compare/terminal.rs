//! A comparison for a terminal.

use super::comparison::{MetricTable, RunComparison};
use super::gate::{Gate, GateOutcome};
use super::words::{cautions, entries, headline, run_lines};
use crate::amount::unit_of_run;
use crate::phrase::{Tone, tone};
use crate::terminal::{Page, Screen, Style};
use crate::text::capital;
use pitot_host::HostChange;
use pitot_results::Drawn;

/// More differences than this are counted in a terminal; the other formats have all.
const DIFFERENCES_MAX: usize = 30;
/// A label is cut to fit the line, but not below this.
const LABEL_MIN: usize = 12;

pub(super) fn render(c: &RunComparison<'_>, gates: &[(Gate, GateOutcome)], screen: Screen) -> Drawn {
    let mut out = Page::new(screen);
    out.line(None, "");
    let [of_a, of_b] = run_lines(c);
    out.item("A  ", &of_a);
    out.item("B  ", &of_b);
    out.line(None, "");
    out.styled(Style::Bold, &headline(c));
    if !c.is_within {
        let same = "The machines and versions are the same";
        out.heading(if c.differences.is_empty() { same } else { "Differences in the environment" });
    }
    for change in c.differences.iter().take(DIFFERENCES_MAX) {
        out.item("- ", &change_line(change));
    }
    if c.differences.len() > DIFFERENCES_MAX {
        out.item("- ", &format!("and {} more: see --format html", c.differences.len() - DIFFERENCES_MAX));
    }
    for table in &c.metrics {
        metric_lines(&mut out, c, table);
    }
    for (name, labels) in [("Only in A", &c.only_a), ("Only in B", &c.only_b)] {
        if !labels.is_empty() {
            out.heading(name);
            out.paragraph("  ", &labels.join("; "));
        }
    }
    let cautions = cautions(c);
    if !cautions.is_empty() {
        out.heading("Caveats");
    }
    for caution in cautions {
        out.item("- ", &caution);
    }
    tell_gates(&mut out, gates);
    out.finish()
}

/// What became of the gates, if there are any.
pub(super) fn tell_gates(out: &mut Page, gates: &[(Gate, GateOutcome)]) {
    if !gates.is_empty() {
        out.heading("Gates");
        for (gate, outcome) in gates {
            let style = match outcome {
                GateOutcome::Passed => Style::Good,
                GateOutcome::Met(_) => Style::Bad,
                GateOutcome::Undecided(_) => Style::Care,
            };
            out.item_in(Some(style), "- ", &outcome.sentence(gate));
        }
    }
}

/// What changed, in one line.
fn change_line(change: &HostChange) -> String {
    let value = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".into());
    format!("{} {}: {} → {}", change.group, change.name, value(&change.before), value(&change.after))
}

fn metric_lines(out: &mut Page, c: &RunComparison<'_>, table: &MetricTable) {
    out.heading(&format!("{}; {}", capital(table.metric.summary), table.metric.hint()));
    let rows: Vec<(&str, [String; 4], Option<Style>)> = c
        .pairs
        .iter()
        .zip(&table.rows)
        .map(|(pair, row)| {
            let style = row.comparison.as_ref().and_then(|c| tone(c, table.metric)).map(|tone| match tone {
                Tone::Better => Style::Good,
                Tone::Worse => Style::Bad,
            });
            (pair.label.as_str(), entries(table, row, pair, unit_of_run(c.b)), style)
        })
        .collect();
    let widest = |i: usize, head: &str| {
        rows.iter().map(|(_, row, _)| row[i].chars().count()).max().unwrap_or(0).max(head.len())
    };
    let [a, b, times, verdict] = [widest(0, "A"), widest(1, "B"), widest(2, "B/A"), widest(3, "verdict")];
    let others = a + b + times + 8;
    // Where there is no room for verdicts at the end of a line, they stand below it.
    let is_beside = others + 2 + verdict + LABEL_MIN <= out.width();
    let left = out.width().saturating_sub(others + if is_beside { 2 + verdict } else { 0 }).max(LABEL_MIN);
    let label_width = rows.iter().map(|(label, ..)| label.chars().count()).max().unwrap_or(0).clamp(4, left);
    let end = if is_beside { "  verdict" } else { "" };
    out.line(
        Some(Style::Bold),
        &format!("  {:label_width$}  {:>a$}  {:>b$}  {:>times$}{end}", "cell", "A", "B", "B/A"),
    );
    for (label, [of_a, of_b, ratio, verdict], style) in rows {
        let mut label = label.to_owned();
        if label.chars().count() > label_width {
            label = label.chars().take(label_width - 1).chain(['…']).collect();
        }
        let line = format!("  {label:label_width$}  {of_a:>a$}  {of_b:>b$}  {ratio:>times$}");
        if verdict.is_empty() {
            out.line(None, line.trim_end());
        } else if !is_beside {
            out.line(None, &line);
            out.item_in(style, "      ", &verdict);
        } else {
            out.painted(None, &format!("{line}  "));
            out.line(style, &verdict);
        }
    }
}
