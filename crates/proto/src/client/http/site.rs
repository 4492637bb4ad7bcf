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

pub(super) struct Request {
    pub(super) bytes: &'static [u8],
    /// The length of its head, with the empty line.
    pub(super) head_len: u32,
    /// The request is HEAD, whose reply has framing headers and no body.
    pub(super) head_only: bool,
    pub(super) expected: Expected,
}

impl Request {
    /// What stands between the method and the version.
    pub(super) fn path(&self) -> &[u8] {
        self.bytes.split(|&b| b == b' ').nth(1).unwrap_or_default()
    }
}
