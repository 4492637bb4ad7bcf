//! The report for a terminal: at most 100 columns, plain text.

use super::faults::faults;
use super::table::results;
use super::wrap::{WIDTH, heading, item, paragraph};
use crate::Question;
use crate::analysis::Analysis;
use crate::errors::rows;
use crate::findings::{answer, findings};
use crate::published::published;
use crate::skips::by_reason;
use crate::trust::{outliers, trust};
use pitot_lab::Repetition;
use std::fmt::Write as _;

/// The report of a run.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut out = format!("\n{title}\n{}\n", "─".repeat(title.chars().count().min(WIDTH)));
    let facts: Vec<String> =
        crate::method::facts(a).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    paragraph(&mut out, "", &facts.join(" · "));
    for question in questions {
        let answer = answer(question.analysis);
        out.push('\n');
        let headline = match question.asked {
            "" => answer.headline,
            asked => format!("{asked}: {}", answer.headline),
        };
        paragraph(&mut out, "", &headline);
        for detail in &answer.details {
            paragraph(&mut out, "  ", detail);
        }
    }
    let trust = trust(a);
    out.push('\n');
    paragraph(&mut out, "", &trust.in_short());
    for question in questions {
        match question.asked {
            "" => out.push('\n'),
            asked => heading(&mut out, asked),
        }
        results(&mut out, question.analysis);
    }
    errors(&mut out, a);
    faults(&mut out, a);
    for question in questions {
        let findings = findings(question.analysis);
        if !findings.is_empty() {
            heading(&mut out, &titled("Findings", question.asked));
        }
        for (i, finding) in findings.iter().enumerate() {
            item(&mut out, &format!("{}. ", i + 1), finding);
        }
    }
    published_tables(&mut out, a);
    heading(&mut out, trust.grade.title());
    for reason in &trust.reasons {
        item(&mut out, "- ", reason);
    }
    for note in &trust.notes {
        item(&mut out, "- ", note);
    }
    for outlier in outliers(a) {
        item(&mut out, "- ", &format!("outlier: {outlier}"));
    }
    for cell in a.cells.iter().filter(|c| c.record.failures().next().is_some()) {
        item(&mut out, "- ", &format!("{}: {}", a.name_of(cell), cell.verdict.reason));
        if let Some(last) = cell.record.failures().find_map(Repetition::telling_line) {
            item(&mut out, "    last output: ", last);
        }
    }
    if !a.run.skips.is_empty() {
        heading(&mut out, "Skipped");
        for (reason, combinations) in by_reason(&a.run.skips) {
            item(&mut out, "- ", &format!("{combinations}: {reason}"));
        }
    }
    out
}

/// A heading with what was asked, if the run asks more than one thing: `Findings: /1k`.
fn titled(title: &str, asked: &str) -> String {
    if asked.is_empty() { title.to_owned() } else { format!("{title}: {asked}") }
}

fn published_tables(out: &mut String, a: &Analysis<'_>) {
    for table in published(a) {
        heading(out, &format!("Published and measured: {}, {}", table.metric.title, table.citation()));
        if !table.source.title.is_empty() {
            paragraph(out, "  ", &table.source.title);
        }
        let label = table.rows.iter().map(|r| r.label.chars().count()).max().unwrap_or(0).clamp(8, 50);
        let _ = writeln!(out, "  {:<label$}  {:>10}  {:>10}  interval", "", "published", "this run");
        for row in &table.rows {
            let own = row.measured.map_or_else(|| "–".into(), |m| table.show(m.value));
            let ends = row
                .measured
                .map_or_else(String::new, |m| format!("[{}, {}]", table.show(m.low), table.show(m.high)));
            let line = format!(
                "  {:<label$}  {:>10}  {own:>10}  {ends}",
                row.label,
                table.show_published(row.published)
            );
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// The errors of each cell that had some.
fn errors(out: &mut String, a: &Analysis<'_>) {
    let mut rows = rows(a.run).into_iter().peekable();
    if rows.peek().is_some() {
        heading(out, "Errors");
    }
    while let Some(first) = rows.next() {
        let mut words = vec![first.in_words()];
        while let Some(next) = rows.next_if(|next| next.cell == first.cell) {
            words.push(next.in_words());
        }
        item(out, "- ", &format!("{}: {}", first.cell, words.join("; ")));
    }
}
