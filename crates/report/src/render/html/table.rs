//! Tables as HTML. A table of figures scrolls; a table of words wraps.

use super::text::{class, linked, marked};
use super::verdict::chips;
use crate::document::{Entry, Mark, Row, Table};
use crate::escape::escape;
use crate::scene::Ink;
use crate::svg::ink;
use std::fmt::Write as _;

pub(super) fn table(html: &mut String, table: &Table) {
    if !table.legend.is_empty() {
        let _ = write!(html, "<p class=\"lede\">{}</p>", escape(&table.legend));
    }
    html.push_str(match table.is_of_words() {
        true if is_list(table) => "<div class=\"scroll\" tabindex=\"0\"><table class=\"wrap rows\">",
        true => "<div class=\"scroll\" tabindex=\"0\"><table class=\"wrap\">",
        false => {
            "<p class=\"scroll-hint\" hidden>Scroll sideways for more columns →</p>\
             <div class=\"scroll results\" tabindex=\"0\"><table>"
        }
    });
    let _ = write!(
        html,
        "<caption>{}</caption><thead><tr><th scope=\"col\">{}</th>",
        escape(&table.caption),
        escape(&table.corner)
    );
    let is_of_words = table.is_of_words();
    for column in &table.columns {
        let left = if column.is_words && !is_of_words { " class=\"left\"" } else { "" };
        let hint = match column.hint.as_str() {
            "" => String::new(),
            hint => format!("<small>{}</small>", escape(hint)),
        };
        let _ = write!(html, "<th scope=\"col\"{left}>{}{hint}</th>", escape(&column.title));
    }
    html.push_str("</tr></thead>");
    for group in &table.groups {
        html.push_str("<tbody>");
        if !group.heading.is_empty() {
            let _ = write!(
                html,
                "<tr class=\"level\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>",
                table.columns.len() + 1,
                escape(&group.heading)
            );
        }
        for one in &group.rows {
            row(html, table, one);
        }
        html.push_str("</tbody>");
    }
    html.push_str("</table></div>");
}

/// Whether its rows lead to pages: a small screen shows the entries of each below each other.
fn is_list(table: &Table) -> bool {
    table.groups.iter().flat_map(|group| &group.rows).any(|row| row.link.is_some())
}

fn row(html: &mut String, table: &Table, row: &Row) {
    let swatch = row.series.map_or_else(String::new, |series| {
        format!("<i class=\"swatch {}\"></i>", ink(Ink::Series(series)).0)
    });
    let title = match row.mark {
        Mark::Best => " title=\"best\"",
        Mark::Level => " title=\"not shown to be worse than the best by more than the tolerance\"",
        Mark::Aside | Mark::None => "",
    };
    let mark = match row.series {
        Some(_) => format!("<span class=\"mark\"{title}>{}</span>", row.mark.sign()),
        None => String::new(),
    };
    let choice = row.choice.as_ref().map_or_else(String::new, |choice| {
        let [form, name, value, of] = [choice.form, choice.name, &choice.value, &row.name].map(escape);
        format!("<input type=\"checkbox\" form=\"{form}\" name=\"{name}\" value=\"{value}\" aria-label=\"Choose {of}\">")
    });
    let name = linked(&row.name, row.link.as_deref());
    let _ = write!(html, "<tr><th scope=\"row\" class=\"name\">{choice}{swatch}{mark}{name}</th>");
    for (number, (field, column)) in row.entries.iter().zip(&table.columns).enumerate() {
        entry(html, field, number == 0, column.is_words && !table.is_of_words());
    }
    html.push_str("</tr>");
}

/// A field; the first column has a bar behind the figure.
fn entry(html: &mut String, entry: &Entry, is_first: bool, is_left: bool) {
    if let Some(kind) = entry.verdict {
        let _ = write!(html, "<td class=\"left\">{}</td>", chips(kind, &entry.note));
        return;
    }
    let mut classes: Vec<&str> = Vec::new();
    classes.extend(is_left.then_some("left"));
    classes.extend(entry.is_best.then_some("best"));
    classes.extend(entry.tone.map(class));
    let mut style = String::new();
    if is_first && entry.part > 0.0 {
        classes.push("meter");
        style = format!(" style=\"--part:{:.1}%\"", entry.part * 100.0);
    }
    let note = match entry.note.as_str() {
        "" => String::new(),
        note => format!("<span class=\"i\">{}</span>", escape(note)),
    };
    let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
    let _ = write!(html, "<td{class}{style}>{}{note}</td>", marked(&entry.text));
}
