//! Sentences as HTML.

use crate::escape::escape;
use crate::tone::Tone;
use std::fmt::Write as _;

/// A sentence with `**names**` in bold and back quotes as code.
pub(super) fn marked(sentence: &str) -> String {
    let bold = between(&glued(&escape(sentence)), "**", "strong");
    between(&bold, "`", "code")
}

/// A text that leads somewhere. A link that names another server or a scheme, such as `javascript:`, is left out.
pub(super) fn linked(text: &str, link: Option<&str>) -> String {
    let is_here = |link: &&str| {
        let before_path = link.split(['/', '?', '#']).next().unwrap_or_default();
        !link.starts_with("//") && !link.contains('\\') && !before_path.contains(':')
    };
    let text = escape(text);
    match link.filter(is_here) {
        Some(link) => format!("<a href=\"{}\">{text}</a>", escape(link)),
        None => text,
    }
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
    fn links_stay_on_the_server_or_beside_the_page() {
        assert_eq!(
            linked("a<", Some("/report/a%20b?x=1&y")),
            "<a href=\"/report/a%20b?x=1&amp;y\">a&lt;</a>"
        );
        assert_eq!(linked("a", Some("runs/a.html")), "<a href=\"runs/a.html\">a</a>");
        for elsewhere in ["javascript:alert(1)", "//other.test/", "https://other.test/", "/\\other.test"] {
            assert_eq!(linked("a", Some(elsewhere)), "a", "{elsewhere}");
        }
    }

    #[test]
    fn marks_become_elements_and_names_are_escaped() {
        assert_eq!(marked("**<b>** wins"), "<strong>&lt;b&gt;</strong> wins");
        assert_eq!(marked("type `a` or `b"), "type <code>a</code> or `b");
        assert_eq!(marked("at 512: 33.5 k, 4 s later"), "at 512: 33.5\u{a0}k, 4\u{a0}s later");
    }
}
