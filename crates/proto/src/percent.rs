//! Percent-encoding: which characters are encoded (RFC 3986 section 2).

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};

/// All but the unreserved characters (RFC 3986 section 2.3).
pub const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Control characters and the space.
pub const NOT_GRAPHIC: &AsciiSet = &CONTROLS.add(b' ');

/// Appends `text` with these characters, and all that is not ASCII, encoded.
#[inline]
pub fn encode(text: &[u8], which: &'static AsciiSet, out: &mut Vec<u8>) {
    for piece in percent_encode(text, which) {
        out.extend_from_slice(piece.as_bytes());
    }
}
