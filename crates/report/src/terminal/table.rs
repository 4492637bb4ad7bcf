//! The table of results, with as many columns and intervals as fit.

use super::wrap::{WIDTH, paragraph};
use crate::analysis::Analysis;
use crate::table::{Mark, Results, Row};
use std::fmt::Write as _;

/// A server's name is cut to this where the table would not fit otherwise.
const NAME_MIN: usize = 16;

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

pub(super) fn results(out: &mut String, a: &Analysis<'_>) {
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
    let cell = |index: usize, row: &Row| -> String {
        let entry = &row.entries[layout.columns[index]];
        let best = if entry.best && index > 0 { "*" } else { "" };
        let note = if index < layout.notes { entry.note.as_str() } else { "" };
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
    let name_width = longest.min(WIDTH.saturating_sub(others).max(name_max));
    let mut line = format!("  {:<name_width$}", table.corner);
    for (index, width) in widths.iter().enumerate() {
        let _ = write!(line, "  {:>width$}", head(index));
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
