use std::ops::RangeInclusive;

use super::exchange::{Reply, Verdict};
use super::expected::Expected;

/// The judgement of an HTTP reply while it arrives, in any version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judgement {
    /// Bytes of the body that have arrived.
    at: u64,
    status: u16,
    verdict: Verdict,
}

impl Judgement {
    pub(crate) const NONE: Judgement = Judgement { at: 0, status: 0, verdict: Verdict::Right };

    /// Judges the status. Without expected statuses, everything below 400 is right.
    pub(crate) fn begin(status: u16, right: &[RangeInclusive<u16>]) -> Judgement {
        let right =
            if right.is_empty() { status < 400 } else { right.iter().any(|range| range.contains(&status)) };
        let verdict = if right { Verdict::Right } else { Verdict::Status(status) };
        Judgement { at: 0, status, verdict }
    }

    /// Judges the next piece of the body.
    #[inline]
    pub(crate) fn body(&mut self, expected: &Expected, bytes: &[u8]) {
        if self.verdict == Verdict::Right {
            self.verdict = expected.compare(self.at, bytes);
        }
        self.at += bytes.len() as u64;
    }

    /// Compares the length of the whole body with the announced one.
    pub(crate) fn announced(&mut self, length: u64) {
        if matches!(self.verdict, Verdict::Right | Verdict::Bytes) && length != self.at {
            self.verdict = Verdict::Length;
        }
    }

    /// Judges the whole reply. A wrong length takes precedence over wrong bytes, so that the verdict does not depend on how the
    /// body is split. A reply to HEAD has no body to judge.
    pub(crate) fn reply(&self, expected: &Expected, head_only: bool, persists: bool) -> Reply {
        let wrong_length = matches!(self.verdict, Verdict::Right | Verdict::Bytes)
            && !head_only
            && expected.complete(self.at) == Verdict::Length;
        let verdict = if wrong_length { Verdict::Length } else { self.verdict };
        Reply { verdict, status: self.status, persists, content: self.at }
    }
}

/// Whether a reply has no body, whatever its headers say (RFC 9110 section 6.4.1).
pub(crate) fn has_no_body(status: u16, head_only: bool) -> bool {
    matches!(status, 204 | 304) || head_only
}
