//! A value on its way in.

use super::keyspace::Value;
use crate::exchange::Fault;

/// A value that is arriving, with the line end that both protocols put behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    value: Value,
    /// The length that the server declares, in bytes.
    len: u64,
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Bytes of the input.
    pub(crate) consumed: usize,
    /// The bytes are those of the value.
    pub(crate) matches: bool,
}

impl Incoming {
    pub(crate) fn new(value: Value, len: u64) -> Incoming {
        Incoming { value, len, at: 0 }
    }

    /// A value of which only the length is known.
    pub(crate) fn of_length(len: u64) -> Incoming {
        Incoming { value: Value::UNKNOWN, len, at: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at == self.len.saturating_add(2)
    }

    /// Takes what of `input` belongs to it, and compares the bytes if that is wanted.
    ///
    /// # Errors
    /// What follows the value is no line end.
    pub(crate) fn take(&mut self, input: &[u8], verify: bool) -> Result<Piece, Fault> {
        let Incoming { value, len, at } = *self;
        let n = (len.saturating_add(2) - at).min(input.len() as u64) as usize;
        let (data, end) = input[..n].split_at(n.min(usize::try_from(len.saturating_sub(at)).unwrap_or(n)));
        let end_at = (at + data.len() as u64).saturating_sub(len) as usize;
        if end != &b"\r\n"[end_at..end_at + end.len()] {
            return Err(Fault::Malformed);
        }
        self.at += n as u64;
        Ok(Piece { consumed: n, matches: !verify || value.matches(at, data) })
    }
}
