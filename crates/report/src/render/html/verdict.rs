//! The answers of a page, the trust in them, and verdicts as labels.

use super::text::marked;
use crate::document::{Item, Verdict};
use crate::escape::escape;
use crate::tone::Tone;
use pitot_results::VerdictKind;
use std::fmt::Write as _;

pub(super) fn verdict(html: &mut String, said: &Verdict) {
    let is_one = said.answers.len() == 1;
    let kicker = if is_one { "The answer" } else { "The answers" };
    let _ = write!(html, "<div class=\"answer\"><div class=\"card\"><p class=\"kicker\">{kicker}</p>");
    for (asked, answer) in &said.answers {
        if !asked.is_empty() {
            let _ = write!(html, "<h3>{}</h3>", escape(asked));
        }
        let class = if is_one { "verdict-line" } else { "verdict-line one-of-several" };
        let _ = write!(html, "<p class=\"{class}\">{}</p><ul class=\"plain\">", marked(&answer.headline));
        for detail in &answer.details {
            let _ = write!(html, "<li>{}</li>", marked(detail));
        }
        html.push_str("</ul>");
    }
    let grade = grade(said.tone);
    let _ = write!(
        html,
        "</div><div class=\"card trust {grade}\"><p class=\"kicker\">Can it be trusted?</p><p class=\"grade\">{}</p><ul class=\"plain\">",
        escape(&said.title)
    );
    for Item { text, .. } in said.reasons.iter().chain(&said.notes) {
        let _ = write!(html, "<li>{}</li>", marked(text));
    }
    html.push_str("</ul>");
    tally(html, &said.tally);
    html.push_str("</div>");
    tiles(html, said);
    html.push_str("</div>");
}

/// The class and colour of a grade.
fn grade(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Care => "care",
        Tone::Bad => "bad",
    }
}

/// How many cells have which verdict, as a bar and in words.
fn tally(html: &mut String, tally: &[(VerdictKind, usize)]) {
    if tally.is_empty() {
        return;
    }
    html.push_str("<div class=\"tally\" aria-hidden=\"true\">");
    for (kind, cells) in tally {
        let colour = grade(Tone::from(*kind));
        let _ = write!(html, "<i style=\"flex:{cells};background:var(--{colour})\"></i>");
    }
    let words: Vec<String> = tally.iter().map(|(kind, cells)| format!("{cells} {}", kind.name())).collect();
    let _ = write!(html, "</div><p class=\"tally-words\">Cells: {}</p>", words.join(", "));
}

/// The figures of a single answer.
fn tiles(html: &mut String, said: &Verdict) {
    let [(_, answer)] = &said.answers[..] else { return };
    if answer.tiles.is_empty() {
        return;
    }
    let _ = write!(html, "<div class=\"tiles\"><p>Figures of {}</p>", marked(&said.tiles_of));
    for tile in &answer.tiles {
        let _ = write!(
            html,
            "<div class=\"tile\"><div class=\"label\">{}</div><div class=\"value\">{}</div><div class=\"note\">{}</div></div>",
            escape(&tile.label),
            escape(&tile.value),
            escape(&tile.note)
        );
    }
    html.push_str("</div>");
}

/// The label of a cell's verdict, with `2 of 6 failed` or nothing.
pub(super) fn chips(kind: VerdictKind, failures: &str) -> String {
    let chip = format!("<span class=\"chip {0}\">{0}</span>", kind.name());
    match failures {
        "" => chip,
        failures => format!("{chip} <span class=\"chip failed\">{}</span>", escape(failures)),
    }
}
