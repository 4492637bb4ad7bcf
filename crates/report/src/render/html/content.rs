//! What a page says, in elements.

use super::text::{class, marked};
use super::{figure, flames, table, verdict};
use crate::document::{Block, Document, Fold, Item};
use crate::escape::escape;
use crate::format::Format;
use std::fmt::Write as _;

/// Everything that the page says: the mark at its head, and `before` before the blocks.
pub(crate) fn content(document: &Document, brand: &str, before: &str) -> String {
    let mut html = format!("<header>{brand}<h1>{}</h1>", escape(&document.title));
    if !document.question.is_empty() {
        let _ = write!(html, "<p class=\"question\">{}</p>", escape(&document.question));
    }
    html.push_str("<ul class=\"facts\">");
    for (name, value) in &document.facts {
        let _ = write!(html, "<li>{} <b>{}</b></li>", escape(name), escape(value));
    }
    html.push_str("</ul>");
    let mut listed = String::new();
    contents(&mut listed, &document.blocks);
    if !listed.is_empty() {
        let _ = write!(html, "<nav aria-label=\"Contents\">{listed}</nav>");
    }
    let _ = write!(html, "</header><main id=\"content\">{before}");
    blocks(&mut html, &document.blocks);
    html.push_str("</main>");
    if !document.origin.is_empty() {
        let _ = write!(html, "<footer><p>{}</p></footer>", escape(&document.origin));
    }
    html
}

fn contents(html: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Section(section) if !section.id.is_empty() && block.is_shown_in(Format::Html) => {
                let _ = write!(html, "<a href=\"#{}\">{}</a>", section.id, escape(&section.title));
            }
            Block::Only(formats, within) if formats.contains(&Format::Html) => contents(html, within),
            _ => {}
        }
    }
}

fn blocks(html: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Section(section) => {
                let id =
                    if section.id.is_empty() { String::new() } else { format!(" id=\"{}\"", section.id) };
                if block.is_shown_in(Format::Html) {
                    let _ = write!(html, "<section{id}><h2>{}</h2>", escape(&section.title));
                    blocks(html, &section.blocks);
                    html.push_str("</section>");
                }
            }
            Block::Heading(text) => {
                let _ = write!(html, "<h3>{}</h3>", escape(text));
            }
            Block::Paragraph(text) => {
                let _ = write!(html, "<p class=\"lede\">{}</p>", marked(text));
            }
            Block::List(items) => list(html, "<ul class=\"prose\">", items, "</ul>"),
            Block::Numbered(items) => list(html, "<ol class=\"findings\">", items, "</ol>"),
            Block::Pairs(pairs) => {
                html.push_str("<dl class=\"pairs\">");
                for (name, of) in pairs {
                    let _ = write!(html, "<dt{}>{}</dt><dd>", toned(of), escape(name));
                    item(html, of);
                    html.push_str("</dd>");
                }
                html.push_str("</dl>");
            }
            Block::Verdict(said) => verdict::verdict(html, said),
            Block::Table(of) => table::table(html, of),
            Block::Chart(how, figure) => {
                let _ = write!(html, "<p class=\"lede\">{}</p>{}", escape(how), figure::render(figure));
            }
            Block::Flames(flame, baseline) => flames::render(html, flame, baseline),
            Block::Commands(commands) => {
                for (name, command) in commands {
                    if !name.is_empty() {
                        let _ = write!(html, "<h3>{}</h3>", escape(name));
                    }
                    let _ = write!(
                        html,
                        "<div class=\"command\"><pre>{}</pre><button type=\"button\" class=\"copy\">copy</button></div>",
                        escape(command)
                    );
                }
            }
            Block::Output(text) => {
                let _ = write!(html, "<pre class=\"output\">{}</pre>", escape(text));
            }
            Block::Fold(of) => fold(html, of),
            Block::Only(formats, within) if formats.contains(&Format::Html) => blocks(html, within),
            Block::Only(..) | Block::Note(_) => {}
        }
    }
}

fn list(html: &mut String, opened: &str, items: &[Item], closed: &str) {
    if items.is_empty() {
        return;
    }
    html.push_str(opened);
    for of in items {
        let _ = write!(html, "<li{}>", toned(of));
        item(html, of);
        html.push_str("</li>");
    }
    html.push_str(closed);
}

fn toned(item: &Item) -> String {
    item.tone.map_or_else(String::new, |tone| format!(" class=\"{}\"", class(tone)))
}

fn item(html: &mut String, item: &Item) {
    html.push_str(&marked(&item.text));
    if !item.more.is_empty() {
        let lines = item.more.iter().map(|line| format!("<li>{}</li>", marked(line)));
        let _ = write!(html, "<ul>{}</ul>", lines.collect::<String>());
    }
}

/// A fold: a group of folds, a cell of a group, or a single one.
fn fold(html: &mut String, fold: &Fold) {
    let open = if fold.is_open { " open" } else { "" };
    let title = escape(&fold.title);
    let count = fold.blocks.iter().filter(|block| matches!(block, Block::Fold(_))).count();
    let (class, summary, within) = match (count, &fold.verdict) {
        (0, None) => ("", title, "folded"),
        (0, Some((kind, failures))) => {
            ("", format!("<b>{title}</b>{}", verdict::chips(*kind, failures)), "inside")
        }
        (count, _) => (
            " class=\"group\"",
            format!("{title} <span class=\"soft\">{count} cell{}</span>", crate::text::s(count)),
            "cells",
        ),
    };
    let _ = write!(html, "<details{class}{open}><summary>{summary}</summary><div class=\"{within}\">");
    blocks(html, &fold.blocks);
    html.push_str("</div></details>");
}
