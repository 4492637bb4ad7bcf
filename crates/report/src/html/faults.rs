//! The faults of a run as a table.

use std::fmt::Write as _;

use super::text::marked;
use crate::analysis::Analysis;
use crate::escape::escape;
use crate::faults::{COLUMNS, LEGEND, Row, rows};

/// The section of a run; none if no fault was made.
pub(super) fn faults(a: &Analysis<'_>) -> Option<String> {
    faults_section(&rows(a.run), LEGEND)
}

/// The section; none if there are no rows.
pub(crate) fn faults_section(rows: &[Row<'_>], legend: &str) -> Option<String> {
    rows.first()?;
    let mut html = format!(
        "<section id=\"faults\"><h2>Faults</h2><p class=\"lede\">{}</p><div class=\"scroll\" tabindex=\"0\"><table class=\"wrap\"><caption>Faults</caption><thead><tr>",
        escape(legend)
    );
    for column in COLUMNS.iter().chain(&["errors", "what was done, and what stayed worse"]) {
        let _ = write!(html, "<th scope=\"col\" class=\"left\">{column}</th>");
    }
    html.push_str("</tr></thead>");
    let mut of = None;
    for row in rows {
        if of != Some(&row.of) {
            html.push_str(if of.is_some() { "</tbody><tbody>" } else { "<tbody>" });
            of = Some(&row.of);
            let columns = COLUMNS.len() + 2;
            let label = escape(&row.of);
            let _ = write!(
                html,
                "<tr class=\"level\"><th scope=\"rowgroup\" colspan=\"{columns}\">{label}</th></tr>"
            );
        }
        let mut notes = row.notes();
        if !row.command.is_empty() {
            notes.push(format!("`{}`", row.command));
        }
        notes.extend(row.worse().into_iter().map(|worse| format!("**stayed worse: {worse}**")));
        let _ = write!(html, "<tr><th scope=\"row\" class=\"left\">{}</th>", escape(&row.name()));
        for text in [row.first_reply(), row.full_rate(), row.meanwhile(), row.afterwards(), row.errors()] {
            let _ = write!(html, "<td class=\"left\">{}</td>", escape(&text));
        }
        let _ = write!(html, "<td class=\"left\">{}</td></tr>", marked(&notes.join("; ")));
    }
    html.push_str("</tbody></table></div></section>");
    Some(html)
}
