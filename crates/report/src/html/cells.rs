//! Every cell with the commands that repeat it, and its repetitions.

use super::text::marked;
use super::verdict::{chip, chips};
use crate::actions;
use crate::analysis::{Analysis, Cell};
use crate::escape::escape;
use crate::number::{count, figure_of};
use crate::table::Results;
use crate::text::s;
use pitot_plan::Measure;
use pitot_record::{Metric, Repetition};
use std::fmt::Write as _;

pub(super) fn cells(a: &Analysis<'_>) -> String {
    let how = if a.cells.iter().all(|c| c.record.server_command.is_empty()) {
        "To repeat a cell, type its command."
    } else {
        "To repeat a cell, type its first command in one terminal and the second in another."
    };
    let mut html = format!(
        "<section id=\"cells\"><h2>Every cell and its commands</h2><p class=\"lede\">{how} {}</p>",
        if a.run.is_sliced() {
            "The lab starts the same servers side by side and gives each the same load in slices, once for each generation."
        } else {
            "The lab did the same, once for each repetition."
        }
    );
    for level in 0..a.load.levels.len() {
        let cells: Vec<&Cell<'_>> = a.cells.iter().filter(|c| c.level == level).collect();
        if !cells.is_empty() {
            html.push_str(&group(a, level, &cells));
        }
    }
    html.push_str("</section>");
    html
}

/// The cells of one load level: open at the highest, and where a cell failed.
fn group(a: &Analysis<'_>, level: usize, cells: &[&Cell<'_>]) -> String {
    let is_open = a.top_level() == Some(level) || cells.iter().any(|c| c.failed());
    let open = if is_open { " open" } else { "" };
    let words = if a.load.factor.is_some() { a.load_words(level) } else { "all cells".into() };
    let mut html = format!(
        "<details class=\"group\"{open}><summary>{} <span class=\"soft\">{} cell{}</span></summary><div class=\"cells\">",
        escape(&words),
        cells.len(),
        s(cells.len())
    );
    for one in cells {
        html.push_str(&cell(a, one));
    }
    html.push_str("</div></details>");
    html
}

fn cell(a: &Analysis<'_>, cell: &Cell<'_>) -> String {
    let open = if cell.failed() { " open" } else { "" };
    let mut html = format!(
        "<details{open}><summary><b>{}</b>{}</summary><div class=\"inside\">",
        escape(a.series_of(cell)),
        chips(cell.verdict.kind, &cell.record.failures_in_words().unwrap_or_default())
    );
    if !cell.verdict.reason.is_empty() {
        let _ = write!(html, "<p>{}</p>", marked(&cell.verdict.reason));
    }
    let load = if a.run.plan.program.is_some() { "Program" } else { "Load" };
    let commands = [("Server", &cell.record.server_command), (load, &cell.record.load_command)];
    for (name, command) in commands.into_iter().filter(|(_, command)| !command.is_empty()) {
        let _ = write!(
            html,
            "<h3>{name}</h3><div class=\"command\"><pre>{}</pre><button type=\"button\" class=\"copy\">copy</button></div>",
            escape(command)
        );
    }
    html.push_str(&repetitions(a, cell));
    html.push_str(&actions(cell));
    if let Some(repetition) = cell.record.repetitions.iter().find(|r| !r.output_tail.is_empty()) {
        let _ = write!(
            html,
            "<h3>Last output, block {}</h3><pre class=\"output\">{}</pre>",
            repetition.block + 1,
            escape(&repetition.output_tail)
        );
    }
    html.push_str("</div></details>");
    html
}

/// What became of each action of its sessions, if it has any.
fn actions(cell: &Cell<'_>) -> String {
    let rows = actions::rows(cell.record);
    if rows.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<h3>Actions</h3><div class=\"scroll\"><table><caption>Actions</caption><thead><tr><th scope=\"col\" class=\"left\">action</th>",
    );
    for title in actions::COLUMNS {
        let _ = write!(html, "<th scope=\"col\">{title}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for row in &rows {
        let _ = write!(html, "<tr><th scope=\"row\" class=\"left\">{}</th>", escape(&row.name));
        for field in row.fields() {
            let _ = write!(html, "<td>{}</td>", escape(&field));
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    let database = actions::database(cell.record);
    let of_server =
        if database.is_some() { " Database: its share of the action's time in the server. " } else { "" };
    let _ = write!(
        html,
        "<p class=\"soft\">All repetitions together; times are the medians of theirs.{of_server}{}</p>",
        escape(&database.unwrap_or_default())
    );
    html
}

fn repetitions(a: &Analysis<'_>, cell: &Cell<'_>) -> String {
    let metrics = Results::metrics(a);
    let mut html = match cell.record.measure {
        Measure::Slices => String::from(
            "<h3>Generations</h3><div class=\"scroll\"><table><caption>Generations</caption><thead><tr><th scope=\"col\">generation</th>",
        ),
        Measure::Fresh => String::from(
            "<h3>Repetitions</h3><div class=\"scroll\"><table><caption>Repetitions</caption><thead><tr><th scope=\"col\">block</th>",
        ),
    };
    for metric in &metrics {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(metric.title));
    }
    html.push_str(
        "<th scope=\"col\">errors</th><th scope=\"col\" class=\"left\">verdict</th></tr></thead><tbody>",
    );
    for one in &cell.record.repetitions {
        html.push_str(&repetition(one, &metrics));
    }
    html.push_str("</tbody></table></div>");
    html
}

fn repetition(repetition: &Repetition, metrics: &[&Metric]) -> String {
    let mut html = format!("<tr><th scope=\"row\">{}</th>", repetition.block + 1);
    for metric in metrics {
        let value = metric.of(repetition).map_or_else(|| "–".into(), |v| figure_of(metric, v));
        let _ = write!(html, "<td>{}</td>", escape(&value));
    }
    let _ = write!(
        html,
        "<td>{}</td><td class=\"left\" title=\"{}\">{}</td></tr>",
        escape(&errors(repetition)),
        escape(&repetition.verdict.reason),
        chip(repetition.verdict.kind)
    );
    html
}

/// The errors of a repetition: `connect refused ×3`; 0 if there were none, nothing if there is no result.
fn errors(repetition: &Repetition) -> String {
    let Some(load) = &repetition.load else { return String::new() };
    let errors: Vec<String> =
        load.errors.iter().map(|e| format!("{} {} ×{}", e.phase, e.kind, count(e.count))).collect();
    if errors.is_empty() { "0".to_owned() } else { errors.join(", ") }
}
