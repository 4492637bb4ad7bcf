//! The report for a terminal.

use super::faults::faults;
use super::screen::{Page, Screen, Style};
use super::table::results;
use crate::Question;
use crate::analysis::{Analysis, Cell};
use crate::errors::rows;
use crate::findings::{answer, findings};
use crate::published::published;
use crate::text::sentence;
use crate::trust::{Grade, outliers, trust};
use pitot_plan::{shortened, skips_by_reason};
use pitot_record::Repetition;
use pitot_results::Drawn;
use std::fmt::Write as _;

/// The report of a run.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>], screen: Screen) -> Drawn {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut out = Page::new(screen);
    out.heading(title);
    let _ = writeln!(out, "{}", "─".repeat(title.chars().count().min(screen.width)));
    let facts: Vec<String> =
        crate::method::facts(a).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    out.paragraph("", &facts.join(" · "));
    for question in questions {
        let answer = answer(question.analysis);
        out.line(None, "");
        let headline = match question.asked {
            "" => answer.headline,
            asked => format!("{asked}: {}", answer.headline),
        };
        out.styled(Style::Bold, &headline);
        for detail in &answer.details {
            out.paragraph("  ", detail);
        }
    }
    let trust = trust(a);
    out.line(None, "");
    out.styled(grade_style(trust.grade), &trust.in_short());
    for question in questions {
        match question.asked {
            "" => out.line(None, ""),
            asked => out.heading(asked),
        }
        results(&mut out, question.analysis);
    }
    errors(&mut out, a);
    faults(&mut out, a);
    for question in questions {
        let findings = findings(question.analysis);
        if !findings.is_empty() {
            out.heading(&titled("Findings", question.asked));
        }
        for (i, finding) in findings.iter().enumerate() {
            out.item(&format!("{}. ", i + 1), finding);
        }
    }
    published_tables(&mut out, a);
    out.heading(trust.grade.title());
    let last_output = |out: &mut Page, cell: &Cell<'_>| {
        if let Some(last) = cell.record.failures().find_map(Repetition::telling_line) {
            out.item("    last output: ", last);
        }
    };
    let failed: Vec<(&Cell<'_>, String)> = a
        .cells
        .iter()
        .filter(|c| c.record.failures().next().is_some())
        .map(|c| (c, sentence(&format!("**{}**: {}", a.name_of(c), c.verdict.reason))))
        .collect();
    for reason in &trust.reasons {
        out.item("- ", reason);
        failed.iter().filter(|(_, said)| said == reason).for_each(|(cell, _)| last_output(&mut out, cell));
    }
    for note in &trust.notes {
        out.item("- ", note);
    }
    for outlier in outliers(a) {
        out.item("- ", &format!("outlier: {outlier}"));
    }
    for (cell, said) in failed.iter().filter(|(_, said)| !trust.reasons.contains(said)) {
        out.item("- ", said);
        last_output(&mut out, cell);
    }
    if !a.run.skips.is_empty() {
        out.heading("Skipped");
        for (reason, combinations) in skips_by_reason(&a.run.skips) {
            out.item("- ", &format!("{}: {reason}", shortened(&combinations)));
        }
    }
    out.finish()
}

/// In what a grade of trust is shown.
pub(crate) fn grade_style(grade: Grade) -> Style {
    match grade {
        Grade::Good => Style::Good,
        Grade::Care => Style::Care,
        Grade::Bad | Grade::Untrusted => Style::Bad,
    }
}

/// A heading with what was asked, if the run asks more than one thing: `Findings: /1k`.
fn titled(title: &str, asked: &str) -> String {
    if asked.is_empty() { title.to_owned() } else { format!("{title}: {asked}") }
}

fn published_tables(out: &mut Page, a: &Analysis<'_>) {
    for table in published(a) {
        out.heading(&format!("Published and measured: {}, {}", table.metric.title, table.citation()));
        if !table.source.title.is_empty() {
            out.paragraph("  ", &table.source.title);
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
fn errors(out: &mut Page, a: &Analysis<'_>) {
    let mut rows = rows(a.run).into_iter().peekable();
    if rows.peek().is_some() {
        out.heading("Errors");
    }
    while let Some(first) = rows.next() {
        let mut words = vec![first.in_words()];
        while let Some(next) = rows.next_if(|next| next.cell == first.cell) {
            words.push(next.in_words());
        }
        out.item("- ", &format!("{}: {}", first.cell, words.join("; ")));
    }
}
