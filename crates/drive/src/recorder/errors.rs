//! What went wrong, each kind with its number and the time of the first. No memory is allocated for a few kinds.

use pitot_meter::Nanos;
use pitot_results::load::ErrorRow;

use crate::sample::{ErrorKind, ErrorPhase};

pub(super) struct Errors(Vec<ErrorCount>);

#[derive(Debug)]
struct ErrorCount {
    phase: ErrorPhase,
    kind: ErrorKind,
    count: u64,
    /// So many of them are in the seconds that were handed over.
    handed_over: u64,
    first_at: Nanos,
}

impl ErrorCount {
    fn row(&self, from: Nanos) -> ErrorRow {
        ErrorRow {
            phase: self.phase.name().to_owned(),
            kind: self.kind.name(),
            count: self.count,
            first_at_s: self.first_at.since(from).as_secs_f64(),
        }
    }
}

impl Errors {
    pub(super) fn new() -> Errors {
        Errors(Vec::with_capacity(32))
    }

    pub(super) fn count(&mut self, phase: ErrorPhase, kind: ErrorKind, now: Nanos) {
        match self.0.iter_mut().find(|e| e.phase == phase && e.kind == kind) {
            Some(error) => error.count += 1,
            None => self.0.push(ErrorCount { phase, kind, count: 1, handed_over: 0, first_at: now }),
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The errors that were counted since the last call that found any, with times from `from` on.
    pub(super) fn take_new(&mut self, from: Nanos) -> Vec<ErrorRow> {
        let news = self.0.iter_mut().filter(|e| e.count > e.handed_over);
        news.map(|e| {
            let before = std::mem::replace(&mut e.handed_over, e.count);
            ErrorRow { count: e.count - before, ..e.row(from) }
        })
        .collect()
    }

    /// The errors counted so far, with times from `from` on.
    pub(super) fn rows(&self, from: Nanos) -> Vec<ErrorRow> {
        self.0.iter().map(|e| e.row(from)).collect()
    }
}
