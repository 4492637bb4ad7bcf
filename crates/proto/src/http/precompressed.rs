//! Selects the representation of a file: the file itself, or a precompressed one beside it, with the suffix `.br`, `.zst` or
//! `.gz`.
//!
//! The file itself is opened first, from the open-file cache. It remembers for a time which compressed files are missing, so a
//! file without any costs one look-up, and one with costs two.

use std::sync::Arc;

use super::absent::Absent;
use super::coding::{Accepted, Coding, Codings};
use super::representation;
use crate::{Context, Exchange, OpenError, Opened};

/// The selection of a representation, which opens files one after the other.
pub(super) struct Selection {
    accepted: Accepted,
    tried: Codings,
    /// The coding whose file is being opened; `None` for the file itself.
    current: Option<Coding>,
    absent: Option<Arc<Absent>>,
    /// The length of the file's own name.
    name_len: usize,
    /// There is no compressed file; the file itself is opened again.
    gave_up: bool,
}

/// What to do with an opened file.
pub(super) enum Choice {
    /// Send it; it has this coding.
    Answer(Option<Coding>),
    /// Open the file in the exchange.
    Open,
}

impl Selection {
    /// `None` if the client accepts no coding.
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

    /// Takes the result of opening a file. A missing compressed one is remembered for `memory_s` seconds.
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
                // Without a free descriptor it is unknown whether the file exists.
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
