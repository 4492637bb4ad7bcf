//! The table of results, with as many columns and intervals as fit.

use super::screen::{Page, Style};
use crate::analysis::Analysis;
use crate::table::{Mark, Results, Row};
use pitot_results::VerdictKind;
use std::fmt::Write as _;
use std::ops::Range;

/// A server's name is cut to this where the table would not fit otherwise.
const NAME_MIN: usize = 16;

/// The columns of the table that are shown, and which of them with their intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    columns: Vec<usize>,
    notes: Range<usize>,
}

impl Layout {
    /// The layouts from the richest to the poorest: first the intervals of later columns go, then that of the figure itself,
    /// which has the noise of the machine in it as a ratio has not, then the columns that matter least.
    fn all(table: &Results) -> Vec<Layout> {
        let mut columns: Vec<usize> = (0..table.columns.len()).collect();
        let mut layouts = Vec::new();
        while !columns.is_empty() {
            let ratio = columns.iter().position(|i| table.columns[*i].is_ratio).filter(|_| columns.len() > 2);
            let notes = (columns.len().min(2)..=columns.len()).rev().map(|notes| 0..notes);
            let notes = notes.chain(ratio.map(|ratio| ratio..ratio + 1));
            layouts.extend(notes.map(|notes| Layout { columns: columns.clone(), notes }));
            let least = columns.iter().copied().max_by_key(|i| table.columns[*i].rank);
            columns.retain(|i| Some(*i) != least);
        }
        layouts
    }
}

/// A line of the table, and its verdict at the end.
struct Line {
    text: String,
    verdict: String,
    /// Of the verdict; of the text, where there is none.
    style: Option<Style>,
}

impl Line {
    /// A line without a verdict.
    fn of(text: String, style: Option<Style>) -> Line {
        Line { text, verdict: String::new(), style }
    }

    fn length(&self) -> usize {
        self.text.chars().count() + self.verdict.chars().count()
    }
}

pub(super) fn results(out: &mut Page, a: &Analysis<'_>) {
    let table = Results::of(a);
    let (layouts, width) = (Layout::all(&table), out.width());
    let fits = |lines: &Vec<Line>| lines.iter().all(|line| line.length() <= width);
    // Whole names are worth more than a third column.
    let with_whole_names = layouts
        .iter()
        .filter(|layout| layout.columns.len() >= table.columns.len().min(2))
        .map(|layout| lay_out(&table, layout, usize::MAX, width))
        .find(fits);
    let with_cut_names = || {
        let mut all = layouts.iter().map(|layout| lay_out(&table, layout, NAME_MIN, width));
        all.find(fits).or_else(|| layouts.last().map(|layout| lay_out(&table, layout, NAME_MIN, width)))
    };
    let lines = with_whole_names.or_else(with_cut_names).unwrap_or_default();
    for Line { text, verdict, style } in &lines {
        if verdict.is_empty() {
            out.line(*style, text.trim_end());
        } else {
            out.painted(None, text);
            out.line(*style, verdict);
        }
    }
    let mut legend = table.legend.clone();
    let ratio = table.columns.iter().find(|column| column.is_ratio);
    if let Some(ratio) =
        ratio.filter(|ratio| lines.first().is_some_and(|head| !head.text.contains(&ratio.hint)))
    {
        let _ = write!(legend, " The ratio is {}.", ratio.hint);
    }
    let mut others = table.groups.iter().flat_map(|g| &g.rows).flat_map(|row| row.entries.iter().skip(1));
    if others.any(|entry| entry.best) {
        legend.push_str(" * marks the best of another column.");
    }
    out.paragraph("", &legend);
}

/// The lines of the table, in which names longer than `name_max` are cut where a line would be too long otherwise.
fn lay_out(table: &Results, layout: &Layout, name_max: usize, line_width: usize) -> Vec<Line> {
    let rows = || table.groups.iter().flat_map(|g| &g.rows);
    let cell = |index: usize, row: &Row| -> String {
        let entry = &row.entries[layout.columns[index]];
        let best = if entry.best && index > 0 { "*" } else { "" };
        let note = if layout.notes.contains(&index) { entry.note.as_str() } else { "" };
        format!("{}{best} {note}", entry.text).trim_end().to_owned()
    };
    let widest = |index: usize| rows().map(|r| cell(index, r).chars().count()).max().unwrap_or(0);
    // A baseline may have a long name. No column is made wider for it: a line below the table names it.
    let head = |index: usize| -> String {
        let column = &table.columns[layout.columns[index]];
        let with_hint = format!("ratio {}", column.hint);
        let fits = with_hint.chars().count() <= widest(index);
        if column.is_ratio && fits { with_hint } else { column.title.clone() }
    };
    let widths: Vec<usize> =
        (0..layout.columns.len()).map(|index| widest(index).max(head(index).chars().count())).collect();
    let verdict = rows().map(|r| r.verdict_words().len()).max().unwrap_or(0).max("verdict".len());
    let others: usize = widths.iter().map(|w| w + 2).sum::<usize>() + verdict + 4;
    let longest = rows().map(|r| r.name.chars().count()).max().unwrap_or(0).max(table.corner.chars().count());
    let name_width = longest.min(line_width.saturating_sub(others).max(name_max));
    let mut line = format!("  {:<name_width$}", table.corner);
    for (index, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", head(index));
    }
    line.push_str("  verdict");
    let mut lines = vec![Line::of(line, Some(Style::Bold))];
    for group in &table.groups {
        if !group.heading.is_empty() {
            lines.push(Line::of(group.heading.clone(), None));
        }
        let names: Vec<&str> = group.rows.iter().map(|row| row.name.as_str()).collect();
        let names = shortened_apart(&names, name_width);
        let named = group.rows.iter().zip(&names);
        lines.extend(named.map(|(row, name)| row_line(row, name, name_width, &widths, &cell)));
    }
    lines
}

fn row_line(
    row: &Row,
    name: &str,
    name_width: usize,
    widths: &[usize],
    cell: &dyn Fn(usize, &Row) -> String,
) -> Line {
    let mark = match row.mark {
        Mark::Best => "★",
        Mark::Level => "≈",
        Mark::None => " ",
    };
    let mut line = format!("{mark} {name:<name_width$}");
    for (i, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", cell(i, row));
    }
    line.push_str("  ");
    let style = match row.verdict {
        VerdictKind::Valid if row.failures.is_empty() => None,
        VerdictKind::Failed => Some(Style::Bad),
        _ => Some(Style::Care),
    };
    Line { text: line, verdict: row.verdict_words(), style }
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

/// Names of at most `width` characters that stay distinct, if those whose cuts are alike can be told apart by as much as
/// fits of what follows their common beginning.
fn shortened_apart(names: &[&str], width: usize) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| shortened(name, width)).collect();
    let apart = |index: usize| {
        let alike: Vec<&str> = (0..names.len()).filter(|&i| cut[i] == cut[index]).map(|i| names[i]).collect();
        let common = alike.iter().map(|name| common_chars(names[index], name)).min().unwrap_or(0);
        let chars: Vec<char> = names[index].chars().collect();
        if common == chars.len() {
            return cut[index].clone();
        }
        // From the beginning of the word that differs.
        let common = chars[..common].iter().rposition(|&c| c == ' ').map_or(0, |space| space + 1);
        let rest = &chars[common..];
        // At least a third of the width is for the beginning.
        let shown = rest.len().min(width.saturating_sub(2) * 2 / 3);
        let end: &[char] = if shown < rest.len() { &['…'] } else { &[] };
        let start = width.saturating_sub(1 + shown + end.len()).min(common);
        chars[..start].iter().chain(&['…']).chain(&rest[..shown]).chain(end).collect()
    };
    (0..names.len()).map(apart).collect()
}

fn common_chars(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_whose_cuts_are_alike_are_told_apart_by_what_differs() {
        let names = ["apache-event, 1000, on, /1k", "apache-event, 1000, off, /1k", "nginx, 64"];
        assert_eq!(shortened_apart(&names, 12), ["apac…on, /1…", "apac…off, /…", "nginx, 64"]);
        assert_eq!(shortened_apart(&["one and one", "one and one"], 6), ["one…ne", "one…ne"]);
        let long =
            ["a name that begins like the other and goes on", "a name that begins like no other and goes on"];
        assert_eq!(shortened_apart(&long, 10), ["a n…the o…", "a n…no ot…"]);
    }

    #[test]
    fn names_that_start_alike_stay_distinct_when_they_are_cut() {
        assert_eq!(shortened("pool, direct true", 17), "pool, direct true");
        assert_eq!(shortened("pool, direct true", 12), "pool, … true");
        assert_eq!(shortened("pool, direct false", 12), "pool, …false");
        assert!((1..12).all(|width| shortened("größer als ein Zeichen", width).chars().count() == width));
    }
}
