//! The head of the page: title, answer, trust, findings.

use super::page::BRAND;
use super::text::marked;
use crate::Question;
use crate::analysis::Analysis;
use crate::escape::escape;
use crate::findings::{Answer, answer, findings};
use crate::method::facts;
use crate::trust::Trust;
use pitot_results::VerdictKind;
use std::fmt::Write as _;

/// The verdicts in the order of the tally, with the colour of each.
const VERDICTS: [(VerdictKind, &str); 6] = [
    (VerdictKind::Valid, "good"),
    (VerdictKind::ClientBound, "care"),
    (VerdictKind::NetworkBound, "care"),
    (VerdictKind::RateMissed, "care"),
    (VerdictKind::Noisy, "care"),
    (VerdictKind::Failed, "bad"),
];

pub(super) fn header(a: &Analysis<'_>, title: &str, contents: &[(&str, &str)]) -> String {
    page_header(title, &a.run.plan.question, &facts(a), contents)
}

/// The head of a page: its title, what was asked, facts, and where to find what.
pub(crate) fn page_header(
    title: &str,
    question: &str,
    facts: &[(&str, String)],
    contents: &[(&str, &str)],
) -> String {
    let mut html = format!("<header>{BRAND}<h1>{}</h1>", escape(title));
    if !question.is_empty() {
        let _ = write!(html, "<p class=\"question\">{}</p>", escape(question));
    }
    html.push_str("<ul class=\"facts\">");
    for (name, value) in facts {
        let _ = write!(html, "<li>{} <b>{}</b></li>", escape(name), escape(value));
    }
    html.push_str("</ul><nav aria-label=\"Contents\">");
    for (id, name) in contents {
        let _ = write!(html, "<a href=\"#{id}\">{}</a>", escape(name));
    }
    html.push_str("</nav></header>");
    html
}

pub(super) fn answer_card(a: &Analysis<'_>, questions: &[Question<'_>], trust: &Trust) -> String {
    let answers: Vec<Answer> = questions.iter().map(|question| answer(question.analysis)).collect();
    let asked = questions.iter().zip(&answers).map(|(question, answer)| (question.asked, answer));
    let tiles = match (questions, &answers[..]) {
        ([only], [answer]) => tiles(only.analysis, answer),
        _ => String::new(),
    };
    answers_and_trust(&asked.collect::<Vec<_>>(), trust, &tally(a), &tiles)
}

/// The answers, each with what was asked, beside whether they can be trusted; `below` either of them.
pub(crate) fn answers_and_trust(
    answers: &[(&str, &Answer)],
    trust: &Trust,
    tally: &str,
    below: &str,
) -> String {
    let is_one = answers.len() == 1;
    let kicker = if is_one { "The answer" } else { "The answers" };
    let mut html = format!("<div class=\"answer\"><div class=\"card\"><p class=\"kicker\">{kicker}</p>");
    for (asked, answer) in answers {
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
    html.push_str("</div>");
    html.push_str(&trust_card(trust, tally));
    html.push_str(below);
    html.push_str("</div>");
    html
}

/// The figures of the best cell.
fn tiles(a: &Analysis<'_>, answer: &Answer) -> String {
    let mut html = String::new();
    if !answer.tiles.is_empty() {
        let level = a.top_level().unwrap_or(0);
        let best = a.best_at(level, a.headline).map_or("", |c| a.series_of(c));
        let _ = write!(
            html,
            "<div class=\"tiles\"><p>Figures of <b>{}</b>{}</p>",
            escape(best),
            escape(&a.at_load(level))
        );
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
    html
}

fn trust_card(trust: &Trust, tally: &str) -> String {
    let mut html = format!(
        "<div class=\"card trust {}\"><p class=\"kicker\">Can it be trusted?</p><p class=\"grade\">{}</p><ul class=\"plain\">",
        trust.grade.name(),
        trust.grade.title()
    );
    for reason in trust.reasons.iter().chain(&trust.notes) {
        let _ = write!(html, "<li>{}</li>", marked(reason));
    }
    let _ = write!(html, "</ul>{tally}</div>");
    html
}

/// How many cells have which verdict, as a bar and in words.
fn tally(a: &Analysis<'_>) -> String {
    let mut html = String::from("<div class=\"tally\" aria-hidden=\"true\">");
    let mut words = Vec::new();
    for (kind, colour) in VERDICTS {
        let cells = a.cells.iter().filter(|c| c.verdict.kind == kind).count();
        if cells > 0 {
            let _ = write!(html, "<i style=\"flex:{cells};background:var(--{colour})\"></i>");
            words.push(format!("{cells} {}", kind.name()));
        }
    }
    let _ = write!(html, "</div><p class=\"tally-words\">Cells: {}</p>", words.join(", "));
    html
}

pub(super) fn findings_section(questions: &[Question<'_>]) -> String {
    let mut html = String::from("<section id=\"findings\"><h2>Findings</h2>");
    let empty = html.len();
    for question in questions {
        let findings = findings(question.analysis);
        if findings.is_empty() {
            continue;
        }
        if !question.asked.is_empty() {
            let _ = write!(html, "<h3>{}</h3>", escape(question.asked));
        }
        html.push_str("<ol class=\"findings\">");
        for finding in findings {
            let _ = write!(html, "<li>{}</li>", marked(&finding));
        }
        html.push_str("</ol>");
    }
    if html.len() == empty { String::new() } else { html + "</section>" }
}
