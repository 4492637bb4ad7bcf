//! Records of a held load, which are those of one slice at a time.

use pitot_results::load::{ErrorRow, RequestCounts};
use pitot_sys::usage::ThreadCpu;

use crate::handshakes::Handshakes;
use crate::tally::Interval;

/// What one thread recorded of one slice.
#[derive(Debug)]
pub struct SliceRecord {
    /// Requests of the slice.
    pub requests: RequestCounts,
    /// Errors of the slice and of the connects before it.
    pub errors: Vec<ErrorRow>,
    /// Bytes of the content of right replies.
    pub content: u64,
    /// Connections established in the slice.
    pub connects: u64,
    /// Connections established before it, in the place of others that were lost.
    pub reconnects: u64,
    /// CPU time of the thread, from the beginning until the slice was drained.
    pub cpu: ThreadCpu,
    /// Response times and bytes.
    pub interval: Box<Interval>,
    /// TLS handshakes since the slice before, if there were any.
    pub tls: Option<Box<Handshakes>>,
}

/// What is known when a slice begins.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    pub(super) reconnects: u64,
    pub(super) cpu: ThreadCpu,
}
