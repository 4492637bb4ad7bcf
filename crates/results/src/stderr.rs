//! What is said on standard error. Nobody may read it any more, as behind `2>&1 | head`, and `eprintln!` panics then: a
//! server would end for a warning, and a load for a line about its progress.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Writes a line in one piece, or nothing if that is not possible.
pub fn line(text: impl Display) {
    raw(format_args!("{text}\n"));
}

/// Writes text without an end of line, as a line that is drawn over needs it.
pub fn raw(text: impl Display) {
    let _ = io::stderr().write_all(text.to_string().as_bytes());
}
