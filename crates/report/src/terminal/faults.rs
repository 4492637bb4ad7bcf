//! The faults of a run in a terminal.

use std::fmt::Write as _;

use super::screen::Page;
use crate::analysis::Analysis;
use crate::faults::{COLUMNS, LEGEND, Row, rows};

/// The faults of a run, if there are any.
pub(super) fn faults(out: &mut Page, a: &Analysis<'_>) {
    faults_table(out, &rows(a.run), LEGEND);
}

/// A table of the faults of each cell or server, with what a table has no room for below each.
pub(crate) fn faults_table(out: &mut Page, rows: &[Row<'_>], legend: &str) {
    if rows.is_empty() {
        return;
    }
    out.heading("Faults");
    out.paragraph("  ", legend);
    let fields: Vec<[String; 5]> = rows
        .iter()
        .map(|row| [row.name(), row.first_reply(), row.full_rate(), row.meanwhile(), row.afterwards()])
        .collect();
    let wide = |column: usize| {
        let longest = fields.iter().map(|f| f[column].chars().count()).max().unwrap_or(0);
        longest.max(COLUMNS[column].chars().count())
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(wide).collect();
    let line = |texts: [&str; 5]| {
        let padded = texts.iter().zip(&widths).map(|(text, width)| format!("{text:<width$}"));
        format!("    {}", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let fits = 4 + widths.iter().sum::<usize>() + 2 * (widths.len() - 1) <= out.width();
    if fits {
        let _ = writeln!(out, "{}", line(COLUMNS));
    }
    let mut of = None;
    for (row, fields) in rows.iter().zip(&fields) {
        if of != Some(&row.of) {
            of = Some(&row.of);
            let _ = writeln!(out, "  {}", row.of);
        }
        if fits {
            let _ = writeln!(out, "{}", line(fields.each_ref().map(String::as_str)));
        } else {
            let [name, values @ ..] = fields;
            let values = COLUMNS[1..].iter().zip(values).map(|(column, value)| format!("{column} {value}"));
            out.item("    ", &format!("{name}: {}", values.collect::<Vec<_>>().join("; ")));
        }
        let mut notes = row.notes();
        notes.push(format!("errors: {}", row.errors()));
        match row.worse() {
            worse if worse.is_empty() => {}
            worse => notes.push(format!("stayed worse: {}", worse.join("; "))),
        }
        out.item("      ", &notes.join("; "));
    }
}
