//! Sentences as HTML.

use crate::escape::escape;
use crate::tone::Tone;
use std::fmt::Write as _;

/// A sentence with `**names**` in bold and back quotes as code.
pub(super) fn marked(sentence: &str) -> String {
    let bold = between(&glued(&escape(sentence)), "**", "strong");
    between(&bold, "`", "code")
}

pub(super) fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "better",
        Tone::Care => "doubtful",
        Tone::Bad => "worse",
    }
}

/// Keeps a figure and its unit on one line: `142 k`, `4.93 µs`.
fn glued(text: &str) -> String {
    const UNITS: &[&str] = &["k", "M", "G", "s", "ms", "µs", "ns", "B", "KiB", "MiB", "GiB"];
    let mut html = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let unit = word.trim_end().trim_end_matches(['.', ',', ';', ':', ')']);
        if UNITS.contains(&unit)
            && html.ends_with(' ')
            && html[..html.len() - 1].ends_with(|c: char| c.is_ascii_digit())
        {
            html.pop();
            html.push('\u{a0}');
        }
        html.push_str(word);
    }
    html
}

/// Puts text between `marks` into an element.
fn between(text: &str, marks: &str, element: &str) -> String {
    let mut html = String::new();
    let mut parts = text.split(marks).peekable();
    let mut inside = false;
    while let Some(part) = parts.next() {
        // A mark without a partner is plain text.
        if inside && parts.peek().is_none() {
            let _ = write!(html, "{marks}{part}");
        } else if inside {
            let _ = write!(html, "<{element}>{part}</{element}>");
        } else {
            html.push_str(part);
        }
        inside = !inside;
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_elements_and_names_are_escaped() {
        assert_eq!(marked("**<b>** wins"), "<strong>&lt;b&gt;</strong> wins");
        assert_eq!(marked("type `a` or `b"), "type <code>a</code> or `b");
        assert_eq!(marked("at 512: 33.5 k, 4 s later"), "at 512: 33.5\u{a0}k, 4\u{a0}s later");
    }
}
