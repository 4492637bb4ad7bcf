//! The requests of a run, encoded once.
//!
//! A request is a HEADERS frame in three versions. The first request of a connection sends the fields that all requests share
//! as literals that go into the server's table. All later ones send the indices of these fields. Servers without a table, or
//! with too small a one, get a version without it. To send a request, it is copied behind its stream number. As in other
//! clients, the path and the length of a body do not go into the table, since they change with each request.

use std::ops::RangeInclusive;

use crate::choice::RequestChoice;
use crate::expected::Expected;

/// The requests of a run and what is expected of their replies.
pub(super) struct Site {
    pub(super) requests: Vec<Request>,
    pub(super) choice: RequestChoice,
    /// Empty: everything below 400.
    pub(super) statuses: Vec<RangeInclusive<u16>>,
    /// Size of the shared fields in the server's table, bytes.
    pub(super) table_bytes: u32,
    /// The first bytes of each connection.
    pub(super) greeting: &'static [u8],
}

pub(super) struct Request {
    /// Fills the table.
    pub(super) filling: Box<[u8]>,
    /// Uses the table.
    pub(super) indexed: Box<[u8]>,
    /// Without the table.
    pub(super) plain: Box<[u8]>,
    pub(super) body: Box<[u8]>,
    /// The request is HEAD, whose reply has framing headers and no body.
    pub(super) head_only: bool,
    pub(super) expected: Expected,
}

impl Request {
    /// The bytes of this encoding: the size update of the table, and the fields.
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

/// The encoding that a connection sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Filling,
    Indexed,
    /// The server's table is too small and given up; the next block says so first.
    GivingUp,
    Plain,
}
