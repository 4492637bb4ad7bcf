//! Errors, faults and published figures: a section with a table each.

use crate::document::{Block, Column, Entry, Group, Row, Table};
use crate::errors;
use crate::faults;
use crate::published::PublishedTable;
use pitot_record::Run;

const ERRORS: &str = "Errors that the load generator counted while measuring, over all repetitions of a cell, by the phase of the \
                      request and the kind of error.";

pub(super) fn errors(run: &Run) -> Option<Block> {
    let rows: Vec<_> = run.cells.iter().flat_map(errors::of_cell).collect();
    rows.first()?;
    let columns = ["error", "count", "of requests", "in repetitions"].map(Column::of_words).to_vec();
    let rows = rows.iter().map(|row| (row.cell.clone(), row.fields().to_vec()));
    let table = Table::plain("Errors", "cell", columns, rows);
    Some(Block::section("errors", "Errors", vec![Block::paragraph(ERRORS), Block::Table(table)]))
}

pub(crate) fn faults(rows: &[faults::Row<'_>], legend: &str) -> Option<Block> {
    rows.first()?;
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        if groups.last().is_none_or(|group| group.name != row.of) {
            groups.push(Group { heading: row.of.clone(), name: row.of.clone(), rows: Vec::new() });
        }
        let mut done = row.notes();
        if !row.command.is_empty() {
            done.push(format!("`{}`", row.command));
        }
        done.push(format!("errors: {}", row.errors()));
        match row.worse() {
            worse if worse.is_empty() => {}
            worse => done.push(format!("**still worse: {}**", worse.join("; "))),
        }
        let times = [row.first_reply(), row.full_rate(), row.meanwhile(), row.afterwards(), done.join("; ")];
        let entries = times.map(Entry::from).to_vec();
        groups.last_mut()?.rows.push(Row { entries, ..Row::of(row.name()) });
    }
    let columns =
        ["first correct reply", "back at 95%", "replies during", "replies after", "fault and effect"];
    let table = Table {
        caption: "Faults".into(),
        corner: "fault".into(),
        grouped_by: "cell".into(),
        columns: columns.map(Column::of_words).to_vec(),
        groups,
        legend: String::new(),
    };
    Some(Block::section("faults", "Faults", vec![Block::paragraph(legend), Block::Table(table)]))
}

pub(super) fn published(table: &PublishedTable<'_>) -> Block {
    let rows = table.rows.iter().map(|row| {
        let own = row.measured.map_or_else(Entry::dash, |m| Entry {
            text: table.show(m.value),
            note: format!("[{}, {}]", table.show(m.low), table.show(m.high)),
            ..Entry::default()
        });
        (row.label.clone(), vec![Entry::from(table.show_published(row.published)), own])
    });
    let columns = ["published", "this run"].map(Column::of).to_vec();
    let source = Block::Paragraph(format!("{}: {}", table.citation(), table.source.title));
    let shown = Block::Table(Table::plain(&table.citation(), "", columns, rows));
    Block::section("", format!("Published and measured: {}", table.subject()), vec![source, shown])
}
