//! What is said on standard error. Nobody may read it any more, as behind `2>&1 | head`, and `eprintln!` panics then: a
//! server would end for a warning, and a load for a line about its progress. A terminal that reads it obeys nothing that
//! comes from outside ([`visible`]).

use std::fmt::Display;
use std::io::{self, Write as _};

use crate::{Drawn, visible};

/// Writes a line in one piece, or nothing if that is not possible.
pub fn line(text: impl Display) {
    let _ = io::stderr().write_all(visible(&format!("{text}\n")).as_bytes());
}

/// Writes whole lines, or nothing.
pub fn text(lines: &str) {
    let _ = io::stderr().write_all(visible(lines).as_bytes());
}

/// Writes what is drawn on a terminal, as a line that is drawn over needs it.
pub fn draw(drawn: &Drawn) {
    let _ = io::stderr().write_all(drawn.to_string().as_bytes());
}
