//! The report as Markdown, for an issue or a wiki.

use crate::Question;
use crate::analysis::Analysis;
use crate::errors;
use crate::escape::{markdown, markdown_code, markdown_field, markdown_paragraph};
use crate::faults::{COLUMNS, LEGEND, rows};
use crate::findings::{answer, findings};
use crate::hosts;
use crate::method::{facts, method_sentences};
use crate::published::published;
use crate::table::{Mark, Results};
use crate::trust::{outliers, trust};
use pitot_host::HostChange;
use std::fmt::Write as _;

/// The report of a run.
pub(crate) fn render(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut out = format!("# {}\n\n", markdown(title));
    if !plan.question.is_empty() {
        paragraph(&mut out, &plan.question);
    }
    let facts: Vec<String> = facts(a).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    paragraph(&mut out, &facts.join(" · "));
    out.push_str("## Answer\n\n");
    for question in questions {
        let answer = answer(question.analysis);
        asked(&mut out, question);
        paragraph(&mut out, &answer.headline);
        list(&mut out, "- ", &answer.details);
    }
    let trust = trust(a);
    let _ = writeln!(out, "**{}.**\n", trust.grade.title());
    list(&mut out, "- ", &[trust.reasons, trust.notes].concat());
    out.push_str("## Findings\n\n");
    for question in questions {
        asked(&mut out, question);
        list(&mut out, "1. ", &findings(question.analysis));
    }
    out.push_str("## Results\n\n");
    for question in questions {
        asked(&mut out, question);
        results(&mut out, question.analysis);
    }
    errors(&mut out, a);
    faults(&mut out, a);
    published_tables(&mut out, a);
    commands(&mut out, a);
    hosts(&mut out, a);
    method(&mut out, a);
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// What was asked, above what is said of it, if the run asks more than one thing.
fn asked(out: &mut String, question: &Question<'_>) {
    if !question.asked.is_empty() {
        let _ = writeln!(out, "### {}\n", markdown(question.asked));
    }
}

fn errors(out: &mut String, a: &Analysis<'_>) {
    let rows = errors::rows(a.run);
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Errors\n\n{}\n", errors::LEGEND);
    grid(out, &errors::COLUMNS.map(String::from), rows.iter().map(|row| row.fields().to_vec()));
}

/// The hosts of the run, if it has others than the lab's own.
fn hosts(out: &mut String, a: &Analysis<'_>) {
    let hosts = a.run.hosts_side_by_side();
    if hosts.is_empty() {
        return;
    }
    out.push_str("## Hosts\n\n");
    let heads: Vec<String> = std::iter::once("fact")
        .chain(hosts.iter().map(|host| host.name.as_str()))
        .map(String::from)
        .collect();
    grid(out, &heads, hosts::rows(&hosts).into_iter());
    for host in &hosts {
        let changed = |change: HostChange| {
            let value = |value: Option<String>| value.unwrap_or_else(|| "none".into());
            let (before, after) = (value(change.before), value(change.after));
            format!(
                "changed on {} during the run: {} {}: {before} → {after}",
                host.name, change.group, change.name
            )
        };
        list(out, "- ", &hosts::changes(host).into_iter().map(changed).collect::<Vec<_>>());
    }
}

fn faults(out: &mut String, a: &Analysis<'_>) {
    let rows = rows(a.run);
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "## Faults\n\n{LEGEND}\n");
    let heads: Vec<String> = ["cell"]
        .iter()
        .chain(&COLUMNS)
        .chain(&["errors", "stayed worse"])
        .map(|head| (*head).to_owned())
        .collect();
    let rows = rows.iter().map(|row| {
        let name = format!("{} ({})", row.name(), row.notes().join("; "));
        let times = [row.first_reply(), row.full_rate(), row.meanwhile(), row.afterwards(), row.errors()];
        let worse = row.worse().join("; ");
        [row.of.clone(), name].into_iter().chain(times).chain([worse]).collect()
    });
    grid(out, &heads, rows);
}

fn published_tables(out: &mut String, a: &Analysis<'_>) {
    for table in published(a) {
        let _ = writeln!(out, "## Published and measured: {}\n", markdown(&table.subject()));
        paragraph(out, &format!("{}: {}", table.citation(), table.source.title));
        let rows = table.rows.iter().map(|row| {
            let own = row.measured.map_or_else(
                || "–".to_owned(),
                |m| format!("{} [{}, {}]", table.show(m.value), table.show(m.low), table.show(m.high)),
            );
            vec![row.label.clone(), table.show_published(row.published), own]
        });
        grid(out, &["", "published", "this run"].map(String::from), rows);
    }
}

fn commands(out: &mut String, a: &Analysis<'_>) {
    out.push_str("## Commands\n\n");
    for cell in &a.cells {
        let record = cell.record;
        let commands = [record.server_command.as_str(), &record.load_command];
        let commands: Vec<&str> = commands.into_iter().filter(|c| !c.is_empty()).collect();
        paragraph(out, &format!("**{}** ({})", record.label(), cell.verdict.kind.name()));
        let _ = writeln!(out, "{}", markdown_code("sh", &commands.join("\n")));
        if !cell.verdict.reason.is_empty() {
            paragraph(out, &cell.verdict.reason);
        }
    }
}

fn method(out: &mut String, a: &Analysis<'_>) {
    out.push_str("## Method\n\n");
    let mut method = method_sentences(a);
    method.extend(a.run.plan.notes.iter().cloned());
    method.extend(outliers(a).into_iter().map(|o| format!("outlier: {o}")));
    list(out, "- ", &method);
}

fn paragraph(out: &mut String, text: &str) {
    let _ = writeln!(out, "{}\n", markdown_paragraph(text));
}

pub(crate) fn list(out: &mut String, bullet: &str, items: &[String]) {
    for item in items {
        let _ = writeln!(out, "{bullet}{}", markdown_paragraph(item));
    }
    if !items.is_empty() {
        out.push('\n');
    }
}

fn results(out: &mut String, a: &Analysis<'_>) {
    let table = Results::of(a);
    paragraph(out, &table.legend);
    let load = a.load.factor.as_ref().filter(|_| a.series.len() > 1).map(|_| a.load.title.clone());
    let mut heads: Vec<String> = load.iter().cloned().chain([table.corner.clone()]).collect();
    heads.extend(
        table.columns.iter().map(|c| if c.is_ratio { format!("ratio {}", c.hint) } else { c.title.clone() }),
    );
    heads.push("verdict".into());
    let mut rows = Vec::new();
    for group in &table.groups {
        for row in &group.rows {
            let mark = match row.mark {
                Mark::Best => " ★",
                Mark::Level => " ≈",
                Mark::None => "",
            };
            let mut line: Vec<String> = load.iter().map(|_| a.load.levels[row.level].0.clone()).collect();
            line.push(format!("{}{mark}", row.name));
            line.extend(row.entries.iter().map(|e| {
                let text = format!("{} {}", e.text, e.note).trim_end().to_owned();
                if e.best { format!("**{text}**") } else { text }
            }));
            line.push(row.verdict_words());
            rows.push(line);
        }
    }
    grid(out, &heads, rows.into_iter());
}

/// A table.
pub(crate) fn grid(out: &mut String, heads: &[String], rows: impl Iterator<Item = Vec<String>>) {
    let line = |cells: &[String]| {
        format!("| {} |\n", cells.iter().map(|c| markdown_field(c)).collect::<Vec<_>>().join(" | "))
    };
    out.push_str(&line(heads));
    out.push_str(&line(&heads.iter().map(|_| "---".to_owned()).collect::<Vec<_>>()));
    for row in rows {
        out.push_str(&line(&row));
    }
    out.push('\n');
}
