use std::ops::RangeInclusive;

use crate::client::choice::RequestChoice;
use crate::client::expected::Expected;

/// The requests of a run and what is expected of their replies.
pub(super) struct Site {
    pub(super) requests: Vec<Request>,
    pub(super) choice: RequestChoice,
    /// Empty: everything below 400.
    pub(super) statuses: Vec<RangeInclusive<u16>>,
}

/// One request as HTTP/1.1 has it.
pub(in crate::client) struct Request {
    pub(in crate::client) bytes: &'static [u8],
    /// The length of its head, with the empty line.
    pub(in crate::client) head_len: u32,
    /// The request is HEAD, whose reply has framing headers and no body.
    pub(in crate::client) head_only: bool,
    pub(in crate::client) expected: Expected,
}

impl Request {
    /// What stands between the method and the version.
    pub(in crate::client) fn path(&self) -> &[u8] {
        self.bytes.split(|&b| b == b' ').nth(1).unwrap_or_default()
    }
}
