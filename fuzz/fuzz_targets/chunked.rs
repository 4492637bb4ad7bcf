//! The chunked coding: the decoder agrees with a plain one that sees the whole body, however the input is cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::chunked::{ChunkError, Decoder};

/// The data and the length of a body; `Ok(None)` if more input is needed.
fn decode(pieces: &mut dyn Iterator<Item = &[u8]>) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
    let (mut decoder, mut data, mut consumed) = (Decoder::default(), Vec::new(), 0);
    for piece in pieces {
        consumed += decoder.decode(piece, |bytes| {
            data.extend_from_slice(bytes);
            Ok::<(), ChunkError>(())
        })?;
    }
    Ok(decoder.is_done().then_some((data, consumed)))
}

/// The data and the length of a body that is all there and sound. Line by line, from RFC 9112 section 7.1.
fn reference(body: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut at, mut data) = (0, Vec::new());
    let line = |at: usize| {
        let end = at + body[at..].windows(2).position(|w| w == b"\r\n")?;
        let line = &body[at..end];
        line.iter().all(|&b| b == b'\t' || (b >= b' ' && b != 0x7f)).then_some((line, end + 2))
    };
    loop {
        let (head, next) = line(at)?;
        let digits = head.split(|&b| b == b';').next()?;
        if !(1..=16).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let size = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        at = next;
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok()?;
        let end = at.checked_add(size)?;
        data.extend_from_slice(body.get(at..end)?);
        at = end + 2;
        if body.get(end..at)? != b"\r\n" {
            return None;
        }
    }
    loop {
        let (trailer, next) = line(at)?;
        at = next;
        if trailer.is_empty() {
            return Some((data, at));
        }
        let name = trailer.split(|&b| b == b':').next()?;
        let is_name_byte = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
        if name.is_empty() || name.len() == trailer.len() || !name.iter().all(is_name_byte) {
            return None;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&cut, input)) = data.split_first() else { return };
    let whole = decode(&mut [input].into_iter());
    assert_eq!(decode(&mut input.chunks(usize::from(cut) + 1)), whole);
    assert_eq!(whole.unwrap_or(None), reference(input));
});
