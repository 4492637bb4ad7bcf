//! Errors in the file of a target, with their positions.

use std::fmt;
use std::ops::Range;

use pitot_results::Failure;

/// An error in a target, its position, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

impl TargetError {
    /// An error at a position of a text.
    pub(crate) fn at(
        file: &str,
        text: &str,
        span: &Range<usize>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> TargetError {
        let before = text.get(..span.start.min(text.len())).unwrap_or(text);
        TargetError {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.what)
    }
}

impl std::error::Error for TargetError {}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Failure {
        Failure::misuse(error.to_string(), error.fix)
    }
}
