/// The bytes to send next: a request that lives as long as the process, without a copy, or bytes in the caller's scratch
/// buffer. All connections of a thread share one.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// The whole, while it is a single piece that was built before the run.
    fixed: &'static [u8],
    /// The whole otherwise.
    bytes: Vec<u8>,
}

/// Bytes to send, by lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// As long as the process.
    Fixed(&'static [u8]),
    /// Until the scratch buffer is cleared.
    Scratch(&'a [u8]),
}

impl Payload<'_> {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        match self {
            Payload::Fixed(b) => b,
            Payload::Scratch(b) => b,
        }
    }
}

impl Outgoing {
    /// An empty one.
    pub fn new() -> Outgoing {
        Outgoing::default()
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.fixed = &[];
        self.bytes.clear();
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.bytes.is_empty()
    }

    /// Appends bytes that live as long as the process. They are copied only if something precedes them.
    pub fn fixed(&mut self, bytes: &'static [u8]) {
        if self.is_empty() {
            self.fixed = bytes;
        } else {
            self.bytes(bytes);
        }
    }

    /// Appends a copy of `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.buffer().extend_from_slice(bytes);
    }

    /// The scratch buffer with all pieces, for writing at its end.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        let first = std::mem::take(&mut self.fixed);
        self.bytes.extend_from_slice(first);
        &mut self.bytes
    }

    /// All of it, in one piece.
    pub fn payload(&self) -> Payload<'_> {
        if self.bytes.is_empty() { Payload::Fixed(self.fixed) } else { Payload::Scratch(&self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_fixed_piece_is_not_copied_and_several_become_one() {
        let mut out = Outgoing::new();
        assert!(out.is_empty());
        out.fixed(b"one");
        assert_eq!(out.payload(), Payload::Fixed(b"one"));
        out.fixed(b"two");
        assert_eq!(out.payload(), Payload::Scratch(b"onetwo"));
        out.bytes(b"!");
        assert_eq!(out.payload().as_slice(), b"onetwo!");
        out.clear();
        assert!(out.is_empty());
        out.bytes(b"x");
        out.fixed(b"y");
        assert_eq!(out.payload().as_slice(), b"xy");
    }
}
