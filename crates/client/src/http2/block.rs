//! A header block in several frames.

use super::frame::{self, Head};
use crate::exchange::Fault;

const BLOCK_MAX: usize = 64 * 1024;
/// The most frames of one block; some may be empty.
const FRAMES_MAX: u32 = 64;

/// The frames of an incomplete block. No other frame may come in between (RFC 9113 section 4.3).
#[derive(Default)]
pub(super) struct Block {
    stream: u32,
    end_stream: bool,
    frames: u32,
    bytes: Vec<u8>,
}

/// A complete block, except for its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Complete {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
}

impl Block {
    pub(super) fn is_open(&self) -> bool {
        self.frames > 0
    }

    /// The block of a single HEADERS frame.
    pub(super) fn only(head: Head) -> Complete {
        Complete { stream: head.stream, end_stream: head.has(frame::END_STREAM) }
    }

    /// Keeps the fragment of a HEADERS frame, which others follow.
    pub(super) fn begin(&mut self, head: Head, fragment: &[u8]) {
        self.stream = head.stream;
        self.end_stream = head.has(frame::END_STREAM);
        self.frames = 1;
        self.bytes.clear();
        self.bytes.extend_from_slice(fragment);
    }

    /// Adds a CONTINUATION frame; returns the block if it is complete.
    pub(super) fn add(&mut self, head: Head, fragment: &[u8]) -> Result<Option<(Complete, Vec<u8>)>, Fault> {
        if !self.is_open() || head.stream != self.stream {
            return Err(Fault::Malformed);
        }
        self.frames += 1;
        if self.frames > FRAMES_MAX || self.bytes.len() + fragment.len() > BLOCK_MAX {
            return Err(Fault::TooLarge);
        }
        self.bytes.extend_from_slice(fragment);
        if !head.has(frame::END_HEADERS) {
            return Ok(None);
        }
        self.frames = 0;
        let complete = Complete { stream: self.stream, end_stream: self.end_stream };
        Ok(Some((complete, std::mem::take(&mut self.bytes))))
    }
}

/// The fragment in a HEADERS frame, without padding and priority (RFC 9113 section 6.2).
pub(super) fn fragment(head: Head, payload: &[u8]) -> Result<&[u8], Fault> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has(frame::PADDED) {
        let (&length, tail) = rest.split_first().ok_or(Fault::Malformed)?;
        (padding, rest) = (usize::from(length), tail);
    }
    if head.has(frame::WITH_PRIORITY) {
        rest = rest.get(5..).ok_or(Fault::Malformed)?;
    }
    let length = rest.len().checked_sub(padding).ok_or(Fault::Malformed)?;
    Ok(&rest[..length])
}
