use std::ops::Range;
use std::sync::Arc;

/// At most this many parts in one send.
const PARTS_MAX: usize = 16;

/// Bytes on their way out: up to 16 parts that the ring owns while they are in flight.
#[derive(Default)]
pub struct Payload {
    parts: Vec<PayloadPart>,
    slices: Vec<libc::iovec>,
    header: Option<Box<libc::msghdr>>,
}

// SAFETY: the raw pointers in `slices` and `header` are only set for a send and point into `parts` and `slices`,
// which move along; nothing is tied to a thread.
unsafe impl Send for Payload {}

/// One part of a payload.
#[derive(Debug)]
enum PayloadPart {
    Bytes(Vec<u8>, usize),
    Static(&'static [u8]),
    Shared(Arc<[u8]>, Range<usize>),
}

impl PayloadPart {
    fn as_slice(&self) -> &[u8] {
        match self {
            PayloadPart::Bytes(bytes, from) => &bytes[*from..],
            PayloadPart::Static(bytes) => bytes,
            PayloadPart::Shared(bytes, range) => &bytes[range.clone()],
        }
    }
}

impl Payload {
    /// True if no part is in it.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// True if no further part fits.
    pub fn is_full(&self) -> bool {
        self.parts.len() == PARTS_MAX
    }

    /// Bytes in all parts.
    pub fn len(&self) -> usize {
        self.parts.iter().map(|part| part.as_slice().len()).sum()
    }

    /// Adds the bytes from `from` on.
    pub fn push_bytes(&mut self, bytes: Vec<u8>, from: usize) {
        self.push(PayloadPart::Bytes(bytes, from));
    }

    /// Adds bytes of the program.
    pub fn push_static(&mut self, bytes: &'static [u8]) {
        self.push(PayloadPart::Static(bytes));
    }

    /// Adds a range of shared bytes.
    pub fn push_shared(&mut self, bytes: Arc<[u8]>, range: Range<usize>) {
        self.push(PayloadPart::Shared(bytes, range));
    }

    fn push(&mut self, part: PayloadPart) {
        assert!(!self.is_full(), "a payload has at most {PARTS_MAX} parts");
        if !part.as_slice().is_empty() {
            self.parts.push(part);
        }
    }

    /// Forgets all parts and returns the first owned buffer, for reuse.
    pub fn clear(&mut self) -> Option<Vec<u8>> {
        self.slices.clear();
        let first = self.parts.drain(..).next();
        match first {
            Some(PayloadPart::Bytes(bytes, _)) => Some(bytes),
            _ => None,
        }
    }

    /// The first `sent` bytes are gone; keeps the rest, and returns the buffers that are done with to `done`.
    pub fn advance(&mut self, mut sent: usize, mut done: impl FnMut(Vec<u8>)) {
        let mut gone = 0;
        for part in &mut self.parts {
            let len = part.as_slice().len();
            if sent < len {
                match part {
                    PayloadPart::Bytes(_, from) => *from += sent,
                    PayloadPart::Static(bytes) => *bytes = &bytes[sent..],
                    PayloadPart::Shared(_, range) => range.start += sent,
                }
                break;
            }
            sent -= len;
            gone += 1;
        }
        for part in self.parts.drain(..gone) {
            if let PayloadPart::Bytes(bytes, _) = part {
                done(bytes);
            }
        }
    }

    /// Start and length, if one part is all.
    pub(super) fn single(&self) -> Option<(*const u8, u32)> {
        match self.parts.as_slice() {
            [one] => {
                let slice = one.as_slice();
                Some((slice.as_ptr(), u32::try_from(slice.len()).unwrap_or(u32::MAX)))
            }
            _ => None,
        }
    }

    /// A message header over all parts, which stays in place as long as the payload is boxed and untouched.
    pub(super) fn header(&mut self) -> *const libc::msghdr {
        self.slices.clear();
        self.slices.extend(self.parts.iter().map(|part| {
            let slice = part.as_slice();
            libc::iovec { iov_base: slice.as_ptr().cast_mut().cast(), iov_len: slice.len() }
        }));
        let header = self.header.get_or_insert_with(|| {
            // SAFETY: msghdr is plain data for which zeroes are valid.
            Box::new(unsafe { std::mem::zeroed() })
        });
        header.msg_iov = self.slices.as_mut_ptr();
        // Its type is the C library's choice.
        header.msg_iovlen = self.slices.len() as _;
        std::ptr::from_ref(header.as_ref())
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payload").field("parts", &self.parts.len()).field("len", &self.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_send_leaves_the_rest() {
        let mut payload = Payload::default();
        payload.push_bytes(b"xhead".to_vec(), 1);
        payload.push_static(b"static");
        payload.push_shared(b"..shared".to_vec().into(), 2..8);
        let mut done = Vec::new();
        payload.advance(7, |b| done.push(b));
        assert_eq!(done, [b"xhead".to_vec()]);
        assert_eq!(payload.len(), 9);
        assert_eq!(payload.parts[0].as_slice(), b"tic");
        payload.advance(9, |_| ());
        assert!(payload.is_empty());
    }
}
