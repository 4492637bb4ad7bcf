use pitot_client::{RequestSpec, SessionSpec};

/// The content of a request file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The requests; those of a log are different ones, with the number of their lines as their weight.
    pub requests: Vec<RequestSpec>,
    /// Sessions, in place of requests.
    pub sessions: Vec<SessionSpec>,
    /// Of a log: the request of each line.
    pub order: Vec<u32>,
    /// Of a log: the time of each line, in seconds from the first one on; in order.
    pub seconds: Vec<u32>,
    /// The line of each request, or of each step of each session; for a log, of its first occurrence.
    pub positions: Positions,
    /// What was skipped, and other notes for the user, one clause each.
    pub notes: Vec<String>,
}

/// The positions of requests in their file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Their lines, from 1.
    pub numbers: Vec<usize>,
    /// Of an archive: their entries, from 1. It may be a single line.
    pub entries: Vec<usize>,
}

impl Positions {
    /// The position of a request, if it is known: `line 3`, or `line 40 (entry 3)`.
    pub fn of(&self, index: usize) -> Option<String> {
        let line = self.numbers.get(index)?;
        Some(match self.entries.get(index) {
            Some(entry) => format!("line {line} (entry {entry})"),
            None => format!("line {line}"),
        })
    }
}

/// An error in a request file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// How to fix it.
    pub fix: String,
}

impl Flaw {
    /// A flaw of the file as a whole.
    pub(super) fn of_file(what: impl Into<String>, fix: impl Into<String>) -> Flaw {
        Flaw { line: None, what: what.into(), fix: fix.into() }
    }

    /// A flaw of a line, counted from 1.
    pub(super) fn of_line(line: usize, what: impl Into<String>, fix: impl Into<String>) -> Flaw {
        Flaw { line: Some(line), what: what.into(), fix: fix.into() }
    }
}
