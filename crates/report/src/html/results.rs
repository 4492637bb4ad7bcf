//! The table of results.

use super::text::marked;
use super::verdict::chips;
use crate::Question;
use crate::analysis::Analysis;
use crate::escape::escape;
use crate::phrase::Tone;
use crate::scene::Ink;
use crate::svg::ink;
use crate::table::{Entry, Mark, Results, Row};
use crate::text::s;
use pitot_plan::{shortened, skips_by_reason};
use std::fmt::Write as _;

pub(super) fn results(a: &Analysis<'_>, questions: &[Question<'_>]) -> String {
    let mut html = String::from("<section id=\"results\"><h2>Results</h2>");
    for question in questions {
        if !question.asked.is_empty() {
            let _ = write!(html, "<h3>{}</h3>", escape(question.asked));
        }
        table(&mut html, question.analysis);
    }
    html.push_str(&skips(a));
    html.push_str("</section>");
    html
}

fn table(html: &mut String, a: &Analysis<'_>) {
    let table = Results::of(a);
    let _ = write!(html, "<p class=\"lede\">{}</p>", escape(&table.legend));
    let _ = write!(
        html,
        "<p class=\"scroll-hint\" hidden>The table goes on to the right: scroll it sideways →</p>\
         <div class=\"scroll results\" tabindex=\"0\"><table><caption>Results</caption><thead><tr><th scope=\"col\">{}</th>",
        escape(&table.corner)
    );
    for column in &table.columns {
        let _ = write!(
            html,
            "<th scope=\"col\">{}<small>{}</small></th>",
            escape(&column.title),
            escape(&column.hint)
        );
    }
    html.push_str("<th scope=\"col\" class=\"left\">verdict</th></tr></thead>");
    for group in &table.groups {
        html.push_str("<tbody>");
        if !group.heading.is_empty() {
            let _ = write!(
                html,
                "<tr class=\"level\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>",
                table.columns.len() + 2,
                escape(&group.heading)
            );
        }
        for line in &group.rows {
            html.push_str(&row(line));
        }
        html.push_str("</tbody>");
    }
    html.push_str("</table></div>");
}

fn row(row: &Row) -> String {
    let (class, _) = ink(Ink::Series(row.series));
    let mark = match row.mark {
        Mark::Best => "<span class=\"mark\" title=\"best\">★</span>",
        Mark::Level => {
            "<span class=\"mark\" title=\"not shown to be worse than the best by more than the tolerance\">≈</span>"
        }
        Mark::None => "<span class=\"mark\"></span>",
    };
    let mut html = format!(
        "<tr><th scope=\"row\" class=\"name\"><i class=\"swatch {class}\"></i>{}{mark}</th>",
        escape(&row.name)
    );
    for (i, field) in row.entries.iter().enumerate() {
        html.push_str(&entry(field, i == 0));
    }
    let _ = write!(html, "<td class=\"left\">{}</td></tr>", chips(row.verdict, &row.failures));
    html
}

/// A field; those of the first column have a bar behind the figure.
fn entry(entry: &Entry, is_first: bool) -> String {
    let mut classes = Vec::new();
    if entry.best {
        classes.push("best");
    }
    classes.extend(entry.tone.map(Tone::name));
    let mut style = String::new();
    if is_first && entry.part > 0.0 {
        classes.push("meter");
        style = format!(" style=\"--part:{:.1}%\"", entry.part * 100.0);
    }
    let note = if entry.note.is_empty() {
        String::new()
    } else {
        format!("<span class=\"i\">{}</span>", escape(&entry.note))
    };
    format!("<td class=\"{}\"{style}>{}{note}</td>", classes.join(" "), escape(&entry.text))
}

/// The combinations that were not measured, folded away.
fn skips(a: &Analysis<'_>) -> String {
    let skips = &a.run.skips;
    if skips.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<details><summary>{} combination{} skipped, with the reason</summary><ul class=\"prose\">",
        skips.len(),
        s(skips.len())
    );
    for (reason, combinations) in skips_by_reason(skips) {
        let _ = write!(html, "<li><b>{}</b>: {}</li>", escape(&shortened(&combinations)), marked(reason));
    }
    html.push_str("</ul></details>");
    html
}
