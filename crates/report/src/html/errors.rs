//! The errors of a run as a table.

use std::fmt::Write as _;

use crate::analysis::Analysis;
use crate::errors::{COLUMNS, LEGEND, rows};
use crate::escape::escape;

/// The section; none if there were no errors.
pub(super) fn errors(a: &Analysis<'_>) -> Option<String> {
    let rows = rows(a.run);
    rows.first()?;
    let mut html = format!(
        "<section id=\"errors\"><h2>Errors</h2><p class=\"lede\">{}</p><div class=\"scroll\" tabindex=\"0\"><table class=\"wrap\"><caption>Errors</caption><thead><tr>",
        escape(LEGEND)
    );
    for column in COLUMNS {
        let _ = write!(html, "<th scope=\"col\" class=\"left\">{column}</th>");
    }
    html.push_str("</tr></thead><tbody>");
    for row in &rows {
        html.push_str("<tr>");
        for (column, field) in row.fields().into_iter().enumerate() {
            let _ = match column {
                0 => write!(html, "<th scope=\"row\" class=\"left\">{}</th>", escape(&field)),
                _ => write!(html, "<td class=\"left\">{}</td>", escape(&field)),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div></section>");
    Some(html)
}
