//! A page in the lines of a terminal, with colours if it has them.

mod flames;
mod screen;
mod table;

pub use screen::Screen;

use crate::document::{Block, Document, Item, Verdict};
use crate::format::Format;
use pitot_results::Drawn;
use screen::{Page, Style};

/// Names of pairs are put in one column up to this width.
const NAME_MAX: usize = 24;

pub(super) fn render(document: &Document, screen: Screen) -> Drawn {
    let mut out = Page::new(screen);
    if !document.title.is_empty() {
        out.line(None, "");
        out.line(Some(Style::Bold), &document.title);
        out.line(None, &"─".repeat(document.title.chars().count().min(screen.width)));
    }
    let facts: Vec<String> = document.facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if !facts.is_empty() {
        out.paragraph("", &facts.join(" · "));
    }
    let mut later = Vec::new();
    blocks(&mut out, &document.blocks, &mut later);
    for said in later {
        out.heading(&said.title);
        list(&mut out, &said.reasons, |_| "- ".into());
        list(&mut out, &said.notes, |_| "- ".into());
    }
    out.finish()
}

/// Draws blocks. All reasons of a verdict but the worst come `later`, at the end.
fn blocks<'d>(out: &mut Page, all: &'d [Block], later: &mut Vec<&'d Verdict>) {
    for block in all {
        match block {
            Block::Section(section) => {
                if block.is_shown_in(Format::Terminal) {
                    out.heading(&section.title);
                    blocks(out, &section.blocks, later);
                }
            }
            Block::Heading(text) => out.heading(text),
            Block::Paragraph(text) => out.paragraph("", text),
            Block::List(items) => list(out, items, |_| "- ".into()),
            Block::Numbered(items) => list(out, items, |number| format!("{number}. ")),
            Block::Pairs(pairs) => {
                let width = pairs.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
                let width = width.min(NAME_MAX);
                for (name, item) in pairs {
                    out.labelled(item.tone.map(Style::from), &format!("{name:width$}  "), &item.text);
                    item.more.iter().for_each(|line| out.paragraph(&" ".repeat(width + 2), line));
                }
            }
            Block::Verdict(said) => {
                verdict(out, said);
                if !has_one_reason(said) {
                    later.push(said);
                }
            }
            Block::Table(of) => table::table(out, of),
            Block::Commands(commands) => {
                for (name, command) in commands {
                    if !name.is_empty() {
                        out.line(None, &format!("{name}:"));
                    }
                    out.line(None, command.trim_end());
                }
            }
            Block::Output(text) => {
                for line in text.lines() {
                    out.line(None, format!("  {line}").trim_end());
                }
            }
            Block::Fold(fold) => {
                out.heading(&fold.title);
                blocks(out, &fold.blocks, later);
            }
            Block::Only(formats, within) if formats.contains(&Format::Terminal) => blocks(out, within, later),
            Block::Flames(flame, _) => flames::tree(out, flame),
            Block::Only(..) | Block::Chart(..) | Block::Note(_) => {}
        }
    }
}

fn list(out: &mut Page, items: &[Item], bullet: impl Fn(usize) -> String) {
    for (number, item) in (1..).zip(items) {
        let bullet = bullet(number);
        out.item_in(item.tone.map(Style::from), &bullet, &item.text);
        let indent = " ".repeat(bullet.len() + 2);
        item.more.iter().for_each(|line| out.item(&indent, line));
    }
}

/// The answers, and the worst reason to distrust them.
fn verdict(out: &mut Page, said: &Verdict) {
    for (asked, answer) in &said.answers {
        out.line(None, "");
        let colon = if asked.is_empty() { "" } else { ": " };
        out.styled(Style::Bold, &format!("{asked}{colon}{}", answer.headline));
        answer.details.iter().for_each(|detail| out.paragraph("  ", detail));
    }
    if let Some(first) = said.reasons.first() {
        let more = if said.reasons.len() > 1 { " More below." } else { "" };
        out.line(None, "");
        out.styled(
            said.tone.into(),
            &match first.tone {
                None => format!("{}: {}{more}", said.title, first.text),
                Some(_) => format!("{}: see below.", said.title),
            },
        );
    }
}

/// Whether a verdict has only one reason, which is shown with the answers.
fn has_one_reason(said: &Verdict) -> bool {
    let is_whole = |reason: &Item| reason.tone.is_none() && reason.more.is_empty();
    matches!(&said.reasons[..], [only] if is_whole(only)) && said.notes.is_empty()
}
