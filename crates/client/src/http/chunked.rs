//! The chunked transfer coding (RFC 9112 section 7.1), decoded piece by piece without a copy.

use std::ops::Range;

use crate::exchange::Fault;

/// The longest line of a size with its extensions, or of a trailer.
const LINE_MAX: usize = 8 * 1024;

/// The position in the coding.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chunked {
    /// Before a size line.
    Size,
    /// Inside a chunk.
    Data { left: u64 },
    /// At the line end behind a chunk.
    DataEnd,
    /// In the lines behind the last chunk.
    Trailer,
}

/// The result of one step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Bytes consumed; 0 if more are needed.
    pub(super) consumed: usize,
    /// The part of them that is content.
    pub(super) data: Range<usize>,
    /// The body is complete.
    pub(super) ended: bool,
}

impl Chunked {
    pub(super) fn new() -> Chunked {
        Chunked::Size
    }

    /// Takes the next element, or the part of a chunk that is there.
    pub(super) fn step(&mut self, input: &[u8]) -> Result<Step, Fault> {
        let mut step = Step { consumed: 0, data: 0..0, ended: false };
        match *self {
            Chunked::Data { left } => {
                let n = left.min(input.len() as u64) as usize;
                step.consumed = n;
                step.data = 0..n;
                *self =
                    if left == n as u64 { Chunked::DataEnd } else { Chunked::Data { left: left - n as u64 } };
            }
            Chunked::Size => {
                if let Some((line, consumed)) = line(input)? {
                    step.consumed = consumed;
                    *self = match size(line)? {
                        0 => Chunked::Trailer,
                        left => Chunked::Data { left },
                    };
                }
            }
            Chunked::DataEnd => {
                if let Some((line, consumed)) = line(input)? {
                    if !line.is_empty() {
                        return Err(Fault::Malformed);
                    }
                    step.consumed = consumed;
                    *self = Chunked::Size;
                }
            }
            Chunked::Trailer => {
                if let Some((line, consumed)) = line(input)? {
                    step.consumed = consumed;
                    step.ended = line.is_empty();
                }
            }
        }
        Ok(step)
    }
}

/// The first line without its end, and its length with it.
fn line(input: &[u8]) -> Result<Option<(&[u8], usize)>, Fault> {
    match memchr::memchr(b'\n', &input[..input.len().min(LINE_MAX)]) {
        Some(n) => {
            let line = &input[..n];
            Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), n + 1)))
        }
        None if input.len() >= LINE_MAX => Err(Fault::TooLarge),
        None => Ok(None),
    }
}

fn size(line: &[u8]) -> Result<u64, Fault> {
    let digits = line.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(line.len());
    let after = &line[digits..];
    // Only white space and extensions may follow the digits.
    let blank = after.iter().position(|b| !matches!(b, b' ' | b'\t')).unwrap_or(after.len());
    if digits == 0 || digits > 16 || !matches!(after.get(blank), None | Some(b';')) {
        return Err(Fault::Malformed);
    }
    let digits = std::str::from_utf8(&line[..digits]).map_err(|_| Fault::Malformed)?;
    u64::from_str_radix(digits, 16).map_err(|_| Fault::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decoded body, fed `piece` bytes at a time, and how much input was left.
    fn decode(input: &[u8], piece: usize) -> Result<(Vec<u8>, usize), Fault> {
        let (mut chunked, mut body, mut from, mut to) = (Chunked::new(), Vec::new(), 0, 0);
        loop {
            let step = chunked.step(&input[from..to])?;
            body.extend_from_slice(&input[from..to][step.data.clone()]);
            from += step.consumed;
            if step.ended {
                return Ok((body, input.len() - from));
            }
            if step.consumed == 0 {
                if to == input.len() {
                    return Err(Fault::Unasked);
                }
                to = input.len().min(to + piece);
            }
        }
    }

    #[test]
    fn chunks_come_out_whole_whatever_the_piece() {
        let input = b"5\r\nhello\r\n1;name=value\r\n \r\nA \r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\nnext";
        for piece in 1..=input.len() {
            assert_eq!(decode(input, piece), Ok((b"hello 0123456789".to_vec(), 4)), "{piece}");
        }
    }

    #[test]
    fn bad_codings_are_refused() {
        for input in ["x\r\n", "\r\n", "-1\r\n", "5 5\r\nhello\r\n", "2\r\nabc\r\n", "11111111111111111\r\n"]
        {
            assert_eq!(decode(input.as_bytes(), 3), Err(Fault::Malformed), "{input:?}");
        }
        assert_eq!(decode(&[b'1'; 9000], 9000), Err(Fault::TooLarge));
    }
}
