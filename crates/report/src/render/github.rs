//! The notes of a page as workflow commands of GitHub Actions, which it shows as annotations of a job.
//!
//! The form is `::error title=...::message`; see "Workflow commands for GitHub Actions" in its documentation.

use crate::document::{Block, Document, Note};
use crate::format::Format;
use crate::text::unmarked;
use crate::tone::Tone;
use std::fmt::Write as _;

pub(super) fn render(document: &Document) -> String {
    let mut out = String::new();
    blocks(&mut out, &document.blocks);
    out
}

fn blocks(out: &mut String, all: &[Block]) {
    for block in all {
        match block {
            Block::Note(note) => annotation(out, note),
            Block::Only(formats, within) if formats.contains(&Format::Github) => blocks(out, within),
            Block::Section(section) => blocks(out, &section.blocks),
            _ => {}
        }
    }
}

/// An annotation, escaped so that nothing ends it or its title early.
fn annotation(out: &mut String, note: &Note) {
    let word = match note.tone {
        Tone::Bad => "error",
        Tone::Care => "warning",
        Tone::Good => "notice",
    };
    let escaped = |text: &str| unmarked(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = escaped(&note.title).replace(':', "%3A").replace(',', "%2C");
    let _ = writeln!(out, "::{word} title={title}::{}", escaped(&note.text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_one_line_whatever_it_says() {
        let note = Note { tone: Tone::Bad, title: "a: b, c".into(), text: "100% of\nall: x, y".into() };
        let document = Document { blocks: vec![Block::Note(note)], ..Document::default() };
        assert_eq!(render(&document), "::error title=a%3A b%2C c::100%25 of%0Aall: x, y\n");
    }
}
