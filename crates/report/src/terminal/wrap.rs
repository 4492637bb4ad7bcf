//! Text wrapped to the width of a terminal.

use crate::text::unmarked;
use std::fmt::Write as _;

/// The width that most terminals have.
pub(crate) const WIDTH: usize = 100;
pub(crate) fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n{text}");
}

/// A text wrapped behind an indent.
pub(crate) fn paragraph(out: &mut String, indent: &str, text: &str) {
    wrapped(out, indent, indent, text);
}

/// A text wrapped behind a bullet.
pub(crate) fn item(out: &mut String, bullet: &str, text: &str) {
    wrapped(out, bullet, &" ".repeat(bullet.chars().count()), text);
}

fn wrapped(out: &mut String, first: &str, rest: &str, text: &str) {
    let mut line = first.to_owned();
    let mut empty = true;
    for word in unmarked(text).split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = rest.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
