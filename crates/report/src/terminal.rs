//! The report for a terminal: at most 100 columns, plain text.

use crate::analysis::Analysis;
use crate::findings::{answer, findings};
use crate::published::published;
use crate::table::{Mark, Results, Row};
use crate::text::unmarked;
use crate::trust::{outliers, trust};
use std::fmt::Write as _;

/// The width that most terminals have.
pub(crate) const WIDTH: usize = 100;
/// A server's name is cut to this where the table would not fit otherwise.
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
    heading(&mut out, trust.grade.title());
    for reason in &trust.reasons {
        item(&mut out, "- ", reason);
    }
    for outlier in outliers(a) {
        item(&mut out, "- ", &format!("outlier: {outlier}"));
    }
    for cell in a.cells.iter().filter(|c| c.record.failures().next().is_some()) {
        item(&mut out, "- ", &format!("{}: {}", a.name_of(cell), cell.verdict.reason));
        if let Some(last) = cell.record.failures().find_map(|r| r.output_tail.lines().last()) {
            item(&mut out, "    last output: ", last);
        }
    }
    if !a.run.skips.is_empty() {
        heading(&mut out, "Skipped");
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

/// The columns of the table that are shown, and how many of them with their intervals.
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
    let layouts = Layout::all(&table);
    let fits = |lines: &Vec<String>| lines.iter().all(|line| line.chars().count() <= WIDTH);
    // Whole names are worth more than a third column.
    let with_whole_names = layouts
        .iter()
        .filter(|layout| layout.columns.len() >= table.columns.len().min(2))
        .map(|layout| lay_out(&table, layout, usize::MAX))
        .find(fits);
    let with_cut_names = || {
        let mut all = layouts.iter().map(|layout| lay_out(&table, layout, NAME_MIN));
        all.find(fits).or_else(|| layouts.last().map(|layout| lay_out(&table, layout, NAME_MIN)))
    };
    let lines = with_whole_names.or_else(with_cut_names).unwrap_or_default();
    for line in &lines {
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let ratio = table.columns.iter().find(|column| column.is_ratio);
    match ratio.filter(|ratio| lines.first().is_some_and(|head| !head.contains(&ratio.hint))) {
        Some(ratio) => paragraph(out, "", &format!("{} The ratio is {}.", table.legend, ratio.hint)),
        None => paragraph(out, "", &table.legend),
    }
}

/// The lines of the table, in which names longer than `name_max` are cut where a line would be too long otherwise.
fn lay_out(table: &Results, layout: &Layout, name_max: usize) -> Vec<String> {
    let rows = || table.groups.iter().flat_map(|g| &g.rows);
    let cell = |place: usize, row: &Row| -> String {
        let entry = &row.entries[layout.columns[place]];
        let best = if entry.best && place > 0 { "*" } else { "" };
        let note = if place < layout.notes { entry.note.as_str() } else { "" };
        format!("{}{best} {note}", entry.text).trim_end().to_owned()
    };
    let widest = |place: usize| rows().map(|r| cell(place, r).chars().count()).max().unwrap_or(0);
    // A baseline may have a long name. No column is made wider for it: a line below the table names it.
    let head = |place: usize| -> String {
        let column = &table.columns[layout.columns[place]];
        let with_hint = format!("ratio {}", column.hint);
        let fits = with_hint.chars().count() <= widest(place);
        if column.is_ratio && fits { with_hint } else { column.title.clone() }
    };
    let widths: Vec<usize> =
        (0..layout.columns.len()).map(|place| widest(place).max(head(place).chars().count())).collect();
    let verdict = rows().map(|r| r.verdict_words().len()).max().unwrap_or(0).max("verdict".len());
    let others: usize = widths.iter().map(|w| w + 2).sum::<usize>() + verdict + 4;
    let longest = rows().map(|r| r.name.chars().count()).max().unwrap_or(0).max("server".len());
    let name_width = longest.min(WIDTH.saturating_sub(others).max(name_max));
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
    let mut line = format!("{mark} {:<name_width$}", shortened(&row.name, name_width));
    for (i, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", cell(i, row));
    }
    let _ = write!(line, "  {}", row.verdict_words());
    line
}

/// A name of at most `width` characters. It is cut in the middle, since names that start alike differ at the end.
fn shortened(name: &str, width: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= width {
        return name.to_owned();
    }
    let end = width.saturating_sub(1) / 2;
    let start = width.saturating_sub(1 + end);
    chars[..start].iter().chain(&['…']).chain(&chars[chars.len() - end..]).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_start_alike_stay_distinct_when_they_are_cut() {
        assert_eq!(shortened("pool, direct true", 17), "pool, direct true");
        assert_eq!(shortened("pool, direct true", 12), "pool, … true");
        assert_eq!(shortened("pool, direct false", 12), "pool, …false");
        assert!((1..12).all(|width| shortened("größer als ein Zeichen", width).chars().count() == width));
    }
}
