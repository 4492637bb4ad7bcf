//! The requests of a run, encoded once.
//!
//! A request is a frame of headers, three times: with the fields that all requests share as literals that go into the
//! server's table, which the first request of a connection sends; with these fields as their numbers in the table, which
//! all later ones do; and without a table, for a server that has none or too small a one. To send it is to copy it and
//! to write the number of its stream in front. The path and the length of a body are not put into the table, as in other
//! clients, since they change from request to request.

use std::ops::RangeInclusive;

use crate::choice::RequestChoice;
use crate::expected::Expected;

/// The requests of a run and what is expected of their replies.
pub(super) struct Site {
    pub(super) requests: Vec<Request>,
    pub(super) choice: RequestChoice,
    /// Empty: everything below 400.
    pub(super) statuses: Vec<RangeInclusive<u16>>,
    /// What the fields that go into the server's table take there.
    pub(super) table_bytes: u32,
    /// The first bytes of each connection.
    pub(super) greeting: &'static [u8],
}

pub(super) struct Request {
    /// Fills the table.
    pub(super) filling: Box<[u8]>,
    /// Uses the table.
    pub(super) indexed: Box<[u8]>,
    /// Needs none.
    pub(super) plain: Box<[u8]>,
    pub(super) body: Box<[u8]>,
    /// The request is HEAD, whose reply has framing headers and no body.
    pub(super) head_only: bool,
    pub(super) expected: Expected,
}

impl Request {
    /// What is sent in this encoding: what it says of the table first, and the fields.
    pub(super) fn block(&self, coding: Coding) -> (&'static [u8], &[u8]) {
        match coding {
            Coding::Filling => (&[], &self.filling),
            Coding::Indexed => (&[], &self.indexed),
            // A table of no bytes (RFC 7541 section 6.3).
            Coding::GivingUp => (&[0x20], &self.plain),
            Coding::Plain => (&[], &self.plain),
        }
    }
}

/// Which of the encodings a connection sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Filling,
    Indexed,
    /// The server wants a table so small that it is given up, which the next block says first.
    GivingUp,
    Plain,
}
