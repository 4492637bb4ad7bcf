//! The head of a frame (RFC 9113 section 4.1).

use crate::outgoing::Outgoing;

pub(super) const HEAD: usize = 9;
/// The default limit of payloads (RFC 9113 section 4.2), and the longest that this side accepts.
pub(super) const PAYLOAD_MAX: usize = 16_384;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl Head {
    /// The head at the start of the input, if it is complete.
    #[inline]
    pub(super) fn read(input: &[u8]) -> Option<Head> {
        let &[a, b, c, kind, flags, i, j, k, l, ..] = input else { return None };
        Some(Head {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            // The first bit is reserved.
            stream: u32::from_be_bytes([i, j, k, l]) & (u32::MAX >> 1),
        })
    }

    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[inline]
pub(super) fn head(length: usize, kind: u8, flags: u8, stream: u32) -> [u8; HEAD] {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [i, j, k, l] = stream.to_be_bytes();
    [a, b, c, kind, flags, i, j, k, l]
}

/// A whole frame with a number as its payload: WINDOW_UPDATE or RST_STREAM.
pub(super) fn number(kind: u8, stream: u32, number: u32) -> [u8; HEAD + 4] {
    let mut bytes = [0; HEAD + 4];
    bytes[..HEAD].copy_from_slice(&head(4, kind, 0, stream));
    bytes[HEAD..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Writes a header block as one frame or several.
pub(super) fn write_block(block: &[u8], stream: u32, ends: bool, payload_max: usize, out: &mut Outgoing) {
    let (mut rest, mut kind) = (block, HEADERS);
    loop {
        let (piece, behind) = rest.split_at(rest.len().min(payload_max));
        let end_stream = if ends && kind == HEADERS { END_STREAM } else { 0 };
        let end_headers = if behind.is_empty() { END_HEADERS } else { 0 };
        out.bytes(&head(piece.len(), kind, end_stream | end_headers, stream));
        out.bytes(piece);
        if behind.is_empty() {
            return;
        }
        (rest, kind) = (behind, CONTINUATION);
    }
}

/// The number at this byte of a payload, if it is long enough.
pub(super) fn u32_at(payload: &[u8], at: usize) -> Option<u32> {
    payload.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_as_it_was_written() {
        let bytes = head(0x0001_0203, HEADERS, END_STREAM | END_HEADERS, 0x7fff_ffff);
        let read = Head::read(&bytes).unwrap();
        assert_eq!(read, Head { length: 0x0001_0203, kind: HEADERS, flags: 0x5, stream: 0x7fff_ffff });
        assert!(read.has(END_HEADERS) && !read.has(PADDED));
        assert_eq!(Head::read(&bytes[..8]), None);
        let reserved = [0, 0, 0, 0, 0, 0x80, 0, 0, 1];
        assert_eq!(Head::read(&reserved).unwrap().stream, 1);
    }
}
