//! Tables, with as many columns and intervals as fit.

use super::screen::{Line, Page, Style};
use crate::document::{Entry, Mark, Row, Table};
use std::ops::Range;

/// If the table does not fit, names of rows are cut to this.
const NAME_MIN: usize = 16;

/// The columns of the table that are shown, and which of them with their intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layout {
    columns: Vec<usize>,
    notes: Range<usize>,
    /// If a line is too long, names are cut to this.
    name_max: usize,
    /// Whether the words of the last column are below the row.
    words_below: bool,
}

impl Layout {
    /// The layouts from the richest to the poorest: intervals of later columns are dropped first, then that of the figure, which
    /// includes the noise of the machine, then the columns of the highest rank.
    fn all(table: &Table) -> Vec<Layout> {
        let last = last_words(table);
        let mut columns: Vec<usize> = (0..table.columns.len()).filter(|i| Some(*i) != last).collect();
        let count = columns.len();
        let mut layouts = Vec::new();
        loop {
            let ratio = columns.iter().position(|i| table.columns[*i].is_ratio).filter(|_| columns.len() > 2);
            let notes = (columns.len().min(2)..=columns.len()).rev().map(|notes| 0..notes);
            let notes = notes.chain(ratio.map(|ratio| ratio..ratio + 1));
            layouts.extend(notes.map(|notes| Layout {
                columns: columns.clone(),
                notes,
                name_max: usize::MAX,
                words_below: false,
            }));
            let least = columns.iter().copied().max_by_key(|i| table.columns[*i].rank);
            let least = least.filter(|i| columns.len() > 1 && table.columns[*i].rank > 0);
            let Some(least) = least else { break };
            columns.retain(|i| *i != least);
        }
        // Whole names matter more than a third column.
        let whole = layouts.iter().filter(|layout| layout.columns.len() >= count.min(2)).cloned();
        let cut = |layout: &Layout| Layout { name_max: NAME_MIN, ..layout.clone() };
        let beside: Vec<Layout> = whole.chain(layouts.iter().map(cut)).collect();
        let below = |layout: &Layout| Layout { words_below: true, ..layout.clone() };
        let below: Vec<Layout> = last.iter().flat_map(|_| beside.iter().map(below)).collect();
        [beside, below].concat()
    }
}

/// The last column, if it has words.
fn last_words(table: &Table) -> Option<usize> {
    table.columns.len().checked_sub(1).filter(|last| table.columns[*last].is_words)
}

/// A line of the table, and what stands below it.
struct Laid {
    line: Line,
    below: Option<(Option<Style>, String)>,
}

pub(super) fn table(out: &mut Page, table: &Table) {
    let width = out.width();
    let layouts = Layout::all(table);
    let laid_out = layouts.iter().map(|layout| (layout, lay_out(table, layout, width)));
    let fitting = laid_out.into_iter().find(|(_, lines)| lines.iter().all(|one| one.line.length() <= width));
    match &fitting {
        None => items(out, table),
        Some((_, lines)) => {
            for Laid { line, below } in lines {
                out.pieces(line);
                if let Some((style, text)) = below {
                    out.item_in(*style, "      ", text);
                }
            }
        }
    }
    let mut legend = table.legend.clone();
    let ratio = table.columns.iter().find(|column| column.is_ratio);
    let is_shown = |hint: &str| {
        fitting.as_ref().is_some_and(|(_, lines)| lines.first().is_some_and(|head| head.line.has(hint)))
    };
    if let Some(ratio) = ratio.filter(|ratio| !is_shown(&ratio.hint)) {
        legend += &format!(" The ratio is {}.", ratio.hint);
    }
    let mut others = table.groups.iter().flat_map(|g| &g.rows).flat_map(|row| row.entries.iter().skip(1));
    if others.any(|entry| entry.is_best) {
        legend.push_str(" * marks the best figure of another column.");
    }
    if !legend.is_empty() {
        out.paragraph("", &legend);
    }
}

/// The rows as items, if no layout fits.
fn items(out: &mut Page, table: &Table) {
    for group in &table.groups {
        if !group.heading.is_empty() {
            out.line(None, &group.heading);
        }
        for row in &group.rows {
            let shown = table.columns.iter().zip(&row.entries).filter(|(_, entry)| !entry.text.is_empty());
            let shown = shown.map(|(column, entry)| format!("{} {}", column.title, entry.words()));
            out.item("  ", &format!("{}: {}", row.name, shown.collect::<Vec<_>>().join("; ")));
        }
    }
}

fn lay_out(table: &Table, layout: &Layout, line_width: usize) -> Vec<Laid> {
    let rows = || table.groups.iter().flat_map(|g| &g.rows);
    let cell = |index: usize, row: &Row| -> String {
        let Some(entry) = row.entries.get(layout.columns[index]) else { return String::new() };
        let best = if entry.is_best && index > 0 { "*" } else { "" };
        let note = if layout.notes.contains(&index) { entry.note.as_str() } else { "" };
        format!("{}{best} {note}", entry.text).trim_end().to_owned()
    };
    let widest = |index: usize| rows().map(|r| cell(index, r).chars().count()).max().unwrap_or(0);
    // A long baseline name does not widen the column: the legend has it.
    let head = |index: usize| -> String {
        let column = &table.columns[layout.columns[index]];
        let with_hint = format!("{} {}", column.title, column.hint);
        let fits = with_hint.chars().count() <= widest(index);
        if column.is_ratio && fits { with_hint } else { column.title.clone() }
    };
    let widths: Vec<usize> =
        (0..layout.columns.len()).map(|index| widest(index).max(head(index).chars().count())).collect();
    let last = last_words(table);
    let words = |row: &Row| last.and_then(|last| row.entries.get(last)).map(Entry::words);
    let beside = last.filter(|_| !layout.words_below).map(|last| {
        let longest = rows().filter_map(|row| Some(words(row)?.chars().count())).max().unwrap_or(0);
        longest.max(table.columns[last].title.chars().count())
    });
    let others: usize = widths.iter().map(|w| w + 2).sum::<usize>() + beside.map_or(0, |words| words + 2) + 2;
    let longest = rows().map(|r| r.name.chars().count()).max().unwrap_or(0).max(table.corner.chars().count());
    let name_width = longest.min(line_width.saturating_sub(others).max(layout.name_max));
    let aligned = |index: usize, text: &str| {
        let width = widths[index];
        match table.columns[layout.columns[index]].is_words {
            true => format!("  {text:<width$}"),
            false => format!("  {text:>width$}"),
        }
    };
    let mut line = format!("  {:<name_width$}", table.corner);
    (0..widths.len()).for_each(|index| line += &aligned(index, &head(index)));
    if let Some(last) = last.filter(|_| beside.is_some()) {
        line += &format!("  {}", table.columns[last].title);
    }
    let has_head = !line.trim().is_empty();
    let mut lines = Vec::new();
    if has_head {
        lines.push(Laid { line: Line::of(Some(Style::Bold), &line), below: None });
    }
    for group in &table.groups {
        if !group.heading.is_empty() {
            lines.push(Laid { line: Line::of(None, &group.heading), below: None });
        }
        let names: Vec<&str> = group.rows.iter().map(|row| row.name.as_str()).collect();
        for (row, name) in group.rows.iter().zip(shortened_apart(&names, name_width)) {
            let sign = if row.mark == Mark::None { " " } else { row.mark.sign() };
            let mut line = Line::of(None, &format!("{sign} {name:<name_width$}"));
            for index in 0..widths.len() {
                let style = row.entries.get(layout.columns[index]).and_then(style);
                line.push(style, &aligned(index, &cell(index, row)));
            }
            let words = words(row).filter(|words| !words.is_empty());
            let words = words.map(|words| (last.and_then(|last| style(&row.entries[last])), words));
            let below = match words {
                Some((style, words)) if beside.is_some() => {
                    line.push(None, "  ");
                    line.push(style, &words);
                    None
                }
                words => words,
            };
            lines.push(Laid { line, below });
        }
    }
    lines
}

fn style(entry: &Entry) -> Option<Style> {
    entry.tone.map(Style::from)
}

/// A name of at most `width` characters, cut in the middle, since names often differ at the end.
pub(super) fn shortened(name: &str, width: usize) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= width {
        return name.to_owned();
    }
    let end = width.saturating_sub(1) / 2;
    let start = width.saturating_sub(1 + end);
    chars[..start].iter().chain(&['…']).chain(&chars[chars.len() - end..]).collect()
}

/// Names of at most `width` characters that stay distinct, if possible: names whose cuts are alike show the part after their common
/// beginning.
fn shortened_apart(names: &[&str], width: usize) -> Vec<String> {
    let cut: Vec<String> = names.iter().map(|name| shortened(name, width)).collect();
    let apart = |index: usize| {
        let alike: Vec<&str> = (0..names.len()).filter(|&i| cut[i] == cut[index]).map(|i| names[i]).collect();
        let common = alike.iter().map(|name| common_chars(names[index], name)).min().unwrap_or(0);
        let chars: Vec<char> = names[index].chars().collect();
        if common == chars.len() {
            return cut[index].clone();
        }
        // From the start of the word that differs.
        let common = chars[..common].iter().rposition(|&c| c == ' ').map_or(0, |space| space + 1);
        let rest = &chars[common..];
        // At least a third of the width shows the beginning.
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
