//! Every cell with the commands that repeat it, and its repetitions.

use super::results::metrics;
use crate::actions;
use crate::analysis::{Analysis, Cell};
use crate::document::{Block, Column, Entry, Fold, Table};
use crate::format::Format;
use crate::number::{count, figure_of};
use pitot_plan::Measure;
use pitot_record::Repetition;

pub(super) fn cells(a: &Analysis<'_>) -> Block {
    let how = if a.cells.iter().all(|c| c.record.server_command.is_empty()) {
        "To repeat a cell, type its command."
    } else {
        "To repeat a cell, type its first command in one terminal and the second in another."
    };
    let lab = if a.run.is_sliced() {
        "The lab starts the same servers side by side and gives each the same load in slices, once for each generation."
    } else {
        "The lab did the same, once for each repetition."
    };
    let groups = (0..a.load.levels.len()).filter_map(|level| group(a, level));
    let blocks = std::iter::once(Block::Paragraph(format!("{how} {lab}"))).chain(groups).collect();
    Block::section("cells", "Commands", blocks)
}

/// The cells of one load level: open at the highest, and where a cell failed.
fn group(a: &Analysis<'_>, level: usize) -> Option<Block> {
    let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.level == level).collect();
    (!cells.is_empty()).then(|| {
        Block::Fold(Fold {
            title: if a.load.factor.is_some() { a.load_words(level) } else { "all cells".into() },
            verdict: None,
            is_open: a.top_level() == Some(level) || cells.iter().any(|c| c.failed()),
            blocks: cells.iter().map(|one| cell(a, one)).collect(),
        })
    })
}

fn cell(a: &Analysis<'_>, cell: &Cell<'_>) -> Block {
    let reason = &cell.verdict.reason;
    let reason = (!reason.is_empty()).then(|| Block::paragraph(reason));
    let load = if a.run.plan.program.is_some() { "Program" } else { "Load" };
    let commands = [("Server", &cell.record.server_command), (load, &cell.record.load_command)];
    let commands = commands.into_iter().filter(|(_, command)| !command.is_empty());
    let commands = commands.map(|(name, command)| (name.to_owned(), command.clone())).collect();
    let mut more = repetitions(a, cell);
    more.extend(actions(cell));
    if let Some(repetition) = cell.record.repetitions.iter().find(|r| !r.output_tail.is_empty()) {
        more.push(Block::Heading(format!("Last output, block {}", repetition.block + 1)));
        more.push(Block::Output(repetition.output_tail.clone()));
    }
    let blocks = reason.into_iter().chain([Block::Commands(commands), Block::Only(&[Format::Html], more)]);
    Block::Fold(Fold {
        title: a.series_of(cell).to_owned(),
        verdict: Some((cell.verdict.kind, cell.record.failures_in_words().unwrap_or_default())),
        is_open: cell.failed(),
        blocks: blocks.collect(),
    })
}

/// The actions of its sessions, if it has any.
fn actions(cell: &Cell<'_>) -> Vec<Block> {
    let rows = actions::rows(cell.record);
    if rows.is_empty() {
        return Vec::new();
    }
    let columns = actions::COLUMNS.map(Column::of).to_vec();
    let rows = rows.iter().map(|row| (row.name.clone(), row.fields().to_vec()));
    let database = actions::database(cell.record);
    let of_server =
        if database.is_some() { " Database: its share of the action's time in the server. " } else { "" };
    vec![
        Block::Heading("Actions".into()),
        Block::Table(Table::plain("Actions", "action", columns, rows)),
        Block::Paragraph(format!(
            "Sums over all repetitions; times are medians over repetitions.{of_server}{}",
            database.unwrap_or_default()
        )),
    ]
}

fn repetitions(a: &Analysis<'_>, cell: &Cell<'_>) -> Vec<Block> {
    let metrics = metrics(a);
    let (title, corner) = match cell.record.measure {
        Measure::Slices => ("Generations", "generation"),
        Measure::Fresh => ("Repetitions", "block"),
    };
    let all = &cell.record.repetitions;
    let has_reasons = all.iter().any(|repetition| !repetition.verdict.reason.is_empty());
    let mut columns: Vec<Column> = metrics.iter().map(|metric| Column::of(metric.title)).collect();
    columns.extend([Column::of("errors"), Column::of_words("verdict")]);
    columns.extend(has_reasons.then(|| Column::of_words("reason")));
    let rows = all.iter().map(|repetition| {
        let figures = metrics.iter().map(|metric| {
            metric.of(repetition).map_or_else(Entry::dash, |value| figure_of(metric, value).into())
        });
        let verdict = &repetition.verdict;
        let rest = [errors(repetition).into(), Entry::verdict(verdict.kind, String::new())];
        let reason = has_reasons.then(|| Entry::from(&*verdict.reason));
        let entries: Vec<Entry> = figures.chain(rest).chain(reason).collect();
        ((repetition.block + 1).to_string(), entries)
    });
    let table = Table::plain(title, corner, columns, rows);
    vec![Block::Heading(title.into()), Block::Table(table)]
}

/// The errors of a repetition: `connect refused ×3`; 0 if there were none, nothing if there is no result.
fn errors(repetition: &Repetition) -> String {
    let Some(load) = &repetition.load else { return String::new() };
    let errors: Vec<String> =
        load.errors.iter().map(|e| format!("{} {} ×{}", e.phase, e.kind, count(e.count))).collect();
    if errors.is_empty() { "0".to_owned() } else { errors.join(", ") }
}
