//! Which of a file's representations a client gets: the file itself, or one that was compressed beforehand and lies beside
//! it under the same name with `.br`, `.zst` or `.gz` at the end.
//!
//! The file itself is opened first, from the open-file cache. It remembers for a time which compressed files there are not,
//! so that a file without any costs one look-up, and one with costs two.

use std::sync::Arc;

use super::absent::Absent;
use super::coding::{Accepted, Coding, Codings};
use super::representation;
use crate::{Context, Exchange, OpenError, Opened};

/// The choice of a representation, in the course of which files are opened one after the other.
pub(super) struct Selection {
    accepted: Accepted,
    tried: Codings,
    /// The coding whose file is being opened; none for the file itself.
    current: Option<Coding>,
    absent: Option<Arc<Absent>>,
    /// The length of the file's own name.
    name_len: usize,
    /// There is no compressed file; the file itself is opened again.
    gave_up: bool,
}

/// What to do about a file that was opened.
pub(super) enum Choice {
    /// Answer with it; it has this coding.
    Answer(Option<Coding>),
    /// Open the file that the exchange now names.
    Open,
}

impl Selection {
    /// None if the client accepts no coding.
    pub(super) fn new(accepted: Option<Accepted>) -> Option<Selection> {
        let accepted = accepted?;
        accepted.best(Codings::default())?;
        Some(Selection {
            accepted,
            tried: Codings::default(),
            current: None,
            absent: None,
            name_len: 0,
            gave_up: false,
        })
    }

    /// Takes the outcome of opening a file. That there is no compressed one is remembered for `memory_s` seconds.
    pub(super) fn opened(
        &mut self,
        cx: &Context<'_>,
        answer: Result<&Opened, OpenError>,
        exchange: &mut Exchange,
        memory_s: u64,
    ) -> Choice {
        match (self.current, answer) {
            (Some(coding), Ok(_)) => return Choice::Answer(Some(coding)),
            (Some(coding), Err(error)) => {
                exchange.path.truncate(self.name_len);
                // For want of a descriptor it is not known whether there is one.
                if let (Some(absent), false) = (&self.absent, error == OpenError::Unavailable) {
                    absent.note(coding, cx.unix_s);
                }
            }
            (None, Ok(file)) if !self.gave_up => {
                self.name_len = exchange.path.len();
                self.absent = representation::absent(exchange, cx, file);
            }
            (None, _) => return Choice::Answer(None),
        }
        while let Some(coding) = self.accepted.best(self.tried) {
            self.tried.insert(coding);
            let is_absent =
                self.absent.as_ref().is_some_and(|absent| absent.is_known(coding, cx.unix_s, memory_s));
            if !is_absent {
                self.current = Some(coding);
                exchange.path.extend_from_slice(coding.suffix().as_bytes());
                return Choice::Open;
            }
        }
        if self.current.take().is_none() {
            return Choice::Answer(None);
        }
        self.gave_up = true;
        Choice::Open
    }
}
