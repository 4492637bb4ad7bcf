//! The report for a terminal: at most 100 columns, plain text.

use crate::analysis::Analysis;
use crate::findings::{answer, findings};
use crate::published::published;
use crate::table::{Mark, Results, Row};
use crate::trust::{outliers, trust};
use crate::words::unmarked;
use std::fmt::Write as _;

/// The width that a terminal is sure to have, near enough.
pub(crate) const WIDTH: usize = 100;
/// A server's name longer than this is cut where the table would not fit otherwise.
const NAME_MIN: usize = 16;

/// The report of a run.
pub(crate) fn render(a: &Analysis<'_>) -> String {
    let plan = &a.run.plan;
    let title = if plan.title.is_empty() { &plan.name } else { &plan.title };
    let mut out = format!("\n{title}\n{}\n", "─".repeat(title.chars().count().min(WIDTH)));
    let facts: Vec<String> =
        crate::method::facts(a).into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    paragraph(&mut out, "", &facts.join(" · "));
    let answer = answer(a);
    out.push('\n');
    paragraph(&mut out, "", &answer.headline);
    for detail in &answer.details {
        paragraph(&mut out, "  ", detail);
    }
    out.push('\n');
    results(&mut out, a);
    heading(&mut out, "Findings");
    for (i, finding) in findings(a).iter().enumerate() {
        item(&mut out, &format!("{}. ", i + 1), finding);
    }
    published_tables(&mut out, a);
    let trust = trust(a);
    heading(&mut out, trust.grade.name());
    for reason in &trust.reasons {
        item(&mut out, "- ", reason);
    }
    for outlier in outliers(a) {
        item(&mut out, "- ", &format!("stands out: {outlier}"));
    }
    for cell in a.cells.iter().filter(|c| c.record.failures().next().is_some()) {
        item(&mut out, "- ", &format!("{}: {}", a.name_of(cell), cell.verdict.reason));
        if let Some(last) = cell.record.failures().find_map(|r| r.last_words.lines().last()) {
            item(&mut out, "    last words: ", last);
        }
    }
    if !a.run.skips.is_empty() {
        heading(&mut out, "Left out");
        for skip in &a.run.skips {
            let levels: Vec<&str> = skip.factors.iter().map(|f| f.level.as_str()).collect();
            item(&mut out, "- ", &format!("{}: {}", levels.join(", "), skip.reason));
        }
    }
    out
}

pub(crate) fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

/// A text wrapped behind an indent.
pub(crate) fn paragraph(out: &mut String, indent: &str, text: &str) {
    wrapped(out, indent, indent, text);
}

/// A text wrapped behind a bullet.
pub(crate) fn item(out: &mut String, bullet: &str, text: &str) {
    wrapped(out, bullet, &" ".repeat(bullet.chars().count()), text);
}

fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut line = first.to_owned();
    let mut empty = true;
    for word in unmarked(text).split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = rest.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

/// What of the table is shown: the columns, and how many of them with their intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    columns: Vec<usize>,
    notes: usize,
}

impl Layout {
    /// The layouts from the richest to the poorest: first the intervals of later columns go, then the columns that
    /// matter least.
    fn all(table: &Results) -> Vec<Layout> {
        let mut columns: Vec<usize> = (0..table.columns.len()).collect();
        let mut layouts = Vec::new();
        while !columns.is_empty() {
            layouts.extend(
                (columns.len().min(2)..=columns.len())
                    .rev()
                    .map(|notes| Layout { columns: columns.clone(), notes }),
            );
            let least = columns.iter().copied().max_by_key(|i| table.columns[*i].rank);
            columns.retain(|i| Some(*i) != least);
        }
        layouts
    }
}

fn results(out: &mut String, a: &Analysis<'_>) {
    let table = Results::of(a);
    let mut lines = Vec::new();
    for layout in Layout::all(&table) {
        lines = lay_out(&table, &layout);
        if lines.iter().all(|line| line.chars().count() <= WIDTH) {
            break;
        }
    }
    for line in lines {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    paragraph(out, "", &table.legend);
}

fn lay_out(table: &Results, layout: &Layout) -> Vec<String> {
    let rows = || table.groups.iter().flat_map(|g| &g.rows);
    let cell = |place: usize, row: &Row| -> String {
        let entry = &row.entries[layout.columns[place]];
        let best = if entry.best && place > 0 { "*" } else { "" };
        let note = if place < layout.notes { entry.note.as_str() } else { "" };
        format!("{}{best} {note}", entry.text).trim_end().to_owned()
    };
    let head = |place: usize| -> String {
        let column = &table.columns[layout.columns[place]];
        if column.title == "ratio" { format!("ratio {}", column.hint) } else { column.title.clone() }
    };
    let widths: Vec<usize> = (0..layout.columns.len())
        .map(|place| {
            let widest = rows().map(|r| cell(place, r).chars().count()).max().unwrap_or(0);
            widest.max(head(place).chars().count())
        })
        .collect();
    let verdict = rows().map(|r| r.verdict_words().len()).max().unwrap_or(0).max("verdict".len());
    let others: usize = widths.iter().map(|w| w + 2).sum::<usize>() + verdict + 4;
    let longest = rows().map(|r| r.name.chars().count()).max().unwrap_or(0).max("server".len());
    let name_width = longest.min(WIDTH.saturating_sub(others).max(NAME_MIN));
    let mut line = format!("  {:<name_width$}", "server");
    for (place, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", head(place));
    }
    line.push_str("  verdict");
    let mut lines = vec![line];
    for group in &table.groups {
        if !group.heading.is_empty() {
            lines.push(group.heading.clone());
        }
        lines.extend(group.rows.iter().map(|row| row_line(row, name_width, &widths, &cell)));
    }
    lines
}

fn row_line(row: &Row, name_width: usize, widths: &[usize], cell: &dyn Fn(usize, &Row) -> String) -> String {
    let mark = match row.mark {
        Mark::Best => "★",
        Mark::Level => "≈",
        Mark::None => " ",
    };
    let mut name: String = row.name.chars().take(name_width).collect();
    if name.chars().count() < row.name.chars().count() {
        name.pop();
        name.push('…');
    }
    let mut line = format!("{mark} {name:<name_width$}");
    for (i, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", cell(i, row));
    }
    let _ = write!(line, "  {}", row.verdict_words());
    line
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
