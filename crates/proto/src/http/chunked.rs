//! The chunked transfer coding (RFC 9112 section 7.1), decoded as it arrives.
//!
//! The decoder keeps twenty bytes of state and no data. It is stricter than section 2.2 requires, since requests are smuggled
//! through two parsers that disagree about a chunk: a size is 1 to 16 hexadecimal digits and nothing else, every line ends
//! with CR LF, and the total length of chunk extensions and trailers is limited. Both are checked and dropped.

use super::syntax::{is_field_byte, is_token_byte};

/// Limit on the chunk extensions and trailer fields of one body, in bytes.
pub const EXTRA_BYTES_MAX: u32 = 16 * 1024;
/// Limit on the digits of a chunk size: those of a u64.
const SIZE_DIGITS_MAX: u8 = 16;

/// Why a body cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// It violates the grammar.
    Malformed(&'static str),
    /// Extensions and trailers exceed [`EXTRA_BYTES_MAX`].
    TooLong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size { digits: u8 },
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    Done,
}

/// A decoder of one body.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The chunk size while it is read, then the length of the rest of the chunk.
    left: u64,
    extra_bytes: u32,
    state: State,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { left: 0, extra_bytes: 0, state: State::Size { digits: 0 } }
    }
}

impl Decoder {
    /// True once the last byte of the body has been taken.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decodes `input`, passes the data to `sink` and returns how many bytes belong to the body: all of them, unless the
    /// body ends in between.
    ///
    /// # Errors
    /// What is wrong with the body, or the error of `sink`. The decoder must not be used any more.
    pub fn decode<E: From<ChunkError>>(
        &mut self,
        input: &[u8],
        mut sink: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut at = 0;
        while at < input.len() && self.state != State::Done {
            if self.state == State::Data {
                let n = usize::try_from(self.left).unwrap_or(usize::MAX).min(input.len() - at);
                sink(&input[at..at + n])?;
                self.left -= n as u64;
                at += n;
                if self.left == 0 {
                    self.state = State::DataCr;
                }
            } else {
                self.step(input[at])?;
                at += 1;
            }
        }
        Ok(at)
    }

    /// Takes one byte of the framing.
    fn step(&mut self, byte: u8) -> Result<(), ChunkError> {
        self.state = match (self.state, byte) {
            (State::Size { digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == SIZE_DIGITS_MAX {
                    return Err(ChunkError::Malformed("a chunk size has more than 16 digits"));
                }
                self.left = self.left << 4 | u64::from(hex_value(byte));
                State::Size { digits: digits + 1 }
            }
            (State::Size { digits: 1.. }, b';') => State::Extension,
            (State::Size { digits: 1.. } | State::Extension, b'\r') => State::SizeLf,
            (State::Size { .. }, _) => {
                return Err(ChunkError::Malformed("a chunk size is not a plain hexadecimal number"));
            }
            (State::Extension, _) if is_field_byte(byte) => self.extra(State::Extension)?,
            (State::SizeLf, b'\n') if self.left == 0 => State::TrailerStart,
            (State::SizeLf, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { digits: 0 },
            (State::DataCr | State::DataLf, _) => {
                return Err(ChunkError::Malformed("a chunk is longer than its size"));
            }
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerStart | State::TrailerName, _) if is_token_byte(byte) => {
                self.extra(State::TrailerName)?
            }
            (State::TrailerName, b':') => self.extra(State::TrailerValue)?,
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, _) if is_field_byte(byte) => self.extra(State::TrailerValue)?,
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::Done,
            (State::SizeLf | State::TrailerLf | State::EndLf, _) => {
                return Err(ChunkError::Malformed("the chunk framing contains a bare carriage return"));
            }
            (State::Extension, _) => {
                return Err(ChunkError::Malformed("a chunk extension contains a control character"));
            }
            (State::TrailerStart | State::TrailerName | State::TrailerValue, _) => {
                return Err(ChunkError::Malformed("a trailer field is malformed"));
            }
            (State::Data | State::Done, _) => unreachable!("data and what follows a body are not framing"),
        };
        Ok(())
    }

    /// Counts a byte of an extension or a trailer, and continues with `next`.
    fn extra(&mut self, next: State) -> Result<State, ChunkError> {
        self.extra_bytes += 1;
        if self.extra_bytes > EXTRA_BYTES_MAX { Err(ChunkError::TooLong) } else { Ok(next) }
    }
}

/// The value of a hexadecimal digit.
fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data and the length of the body, or the error; `None` if more input is needed.
    fn decode(input: &[u8], at_a_time: usize) -> Result<Option<(Vec<u8>, usize)>, ChunkError> {
        let (mut decoder, mut data, mut consumed) = (Decoder::default(), Vec::new(), 0);
        for piece in input.chunks(at_a_time) {
            consumed += decoder.decode(piece, |bytes| {
                data.extend_from_slice(bytes);
                Ok::<(), ChunkError>(())
            })?;
        }
        Ok(decoder.is_done().then_some((data, consumed)))
    }

    #[test]
    fn bodies_end_where_they_should_whatever_the_pieces() {
        for (input, data, rest) in [
            ("0\r\n\r\n", "", 0),
            ("5\r\nhello\r\n0\r\n\r\n", "hello", 0),
            ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nGET", "hello world", 3),
            ("00000000000000A\r\n0123456789\r\n000\r\n\r\n", "0123456789", 0),
            ("1;a=b;c=\"d e\"\r\nx\r\n0;last\r\nTrailer: one\r\nOther:\r\n\r\n\r\n", "x", 2),
            ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n", 0),
        ] {
            for at_a_time in [1, 2, 3, 1000] {
                let got = decode(input.as_bytes(), at_a_time).unwrap().unwrap();
                assert_eq!(got, (data.as_bytes().to_vec(), input.len() - rest), "{input:?} by {at_a_time}");
            }
        }
    }

    #[test]
    fn odd_framing_is_refused() {
        for input in [
            "\r\n",
            " 5\r\n",
            "5 \r\n",
            "5\t;a\r\n",
            "+5\r\n",
            "-5\r\n",
            "0x5\r\n",
            "g\r\n",
            ";a\r\n",
            "5\n",
            "5\r5",
            "5\r\nhelloX",
            "5\r\nhello\n",
            "5\r\nhello\rX",
            "00000000000000005\r\n",
            "5;a\0b\r\n",
            "5;a\nb",
            "0\r\n Folded: x\r\n",
            "0\r\nA : b\r\n",
            "0\r\nA\r\n",
            "0\r\nA: b\n",
            "0\r\nA: \0\r\n",
            "0\r\n\n",
            "0\r\n\rX",
            "0\r\n: v\r\n",
        ] {
            for at_a_time in [1, 1000] {
                let got = decode(input.as_bytes(), at_a_time);
                assert!(matches!(got, Err(ChunkError::Malformed(_))), "{input:?} gave {got:?}");
            }
        }
    }

    #[test]
    fn a_size_may_fill_a_u64_and_no_more() {
        assert_eq!(decode(b"ffffffffffffffff\r\nabc", 1), Ok(None));
        assert!(decode(b"fffffffffffffffff\r\n", 1).is_err());
    }

    #[test]
    fn extensions_and_trailers_have_a_bound() {
        let ext = |n: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "e".repeat(n)).into_bytes();
        assert!(decode(&ext(EXTRA_BYTES_MAX as usize), 7).unwrap().is_some());
        assert_eq!(decode(&ext(EXTRA_BYTES_MAX as usize + 1), 7), Err(ChunkError::TooLong));
        let many = format!("0\r\n{}\r\n", "A: b\r\n".repeat(5000));
        assert_eq!(decode(many.as_bytes(), 4096), Err(ChunkError::TooLong));
    }
}
