//! Facts of the machine that differ, as a table.

use crate::escape::escape;
use pitot_host::HostChange;
use std::fmt::Write as _;

/// A table of `changes`, with the headings of the two sides.
pub(crate) fn changes_table(changes: &[HostChange], before: &str, after: &str) -> String {
    let mut html = format!(
        "<div class=\"scroll\"><table class=\"wrap\"><caption>Facts that differ</caption><thead><tr><th scope=\"col\">fact</th><th scope=\"col\">{before}</th><th scope=\"col\">{after}</th></tr></thead><tbody>"
    );
    for change in changes {
        let _ = write!(
            html,
            "<tr><th scope=\"row\">{} {}</th><td>{}</td><td>{}</td></tr>",
            escape(&change.group),
            escape(&change.name),
            escape(change.before.as_deref().unwrap_or("–")),
            escape(change.after.as_deref().unwrap_or("–"))
        );
    }
    html.push_str("</tbody></table></div>");
    html
}
