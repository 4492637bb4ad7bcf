//! Input that a core has not consumed yet. Most connections have none, so it is not a part of them.

/// Input that waits for its core; never empty.
#[derive(Debug)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    /// How many of them are consumed, from the start.
    consumed: usize,
}

impl Kept {
    /// The bytes that are not consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.consumed..]
    }
}

/// The input of a connection, where it has some.
#[derive(Debug, Default)]
pub(super) struct Unconsumed(Option<Box<Kept>>);

impl Unconsumed {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.bytes().len())
    }

    /// Appends input.
    pub(super) fn keep(&mut self, input: &[u8]) {
        if input.is_empty() {
            return;
        }
        let kept = self.0.get_or_insert_with(|| Box::new(Kept { bytes: Vec::new(), consumed: 0 }));
        kept.bytes.drain(..kept.consumed);
        kept.consumed = 0;
        kept.bytes.reserve_exact(input.len());
        kept.bytes.extend_from_slice(input);
    }

    /// Takes it all out; [`Unconsumed::put_back`] returns what is left of it.
    pub(super) fn take(&mut self) -> Option<Box<Kept>> {
        self.0.take()
    }

    /// Puts back what was taken, of which `consumed` more bytes are consumed.
    pub(super) fn put_back(&mut self, mut kept: Box<Kept>, consumed: usize) {
        kept.consumed += consumed;
        if kept.consumed < kept.bytes.len() {
            self.0 = Some(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_consumed_in_parts_is_gone_and_the_rest_stays() {
        let mut unconsumed = Unconsumed::default();
        unconsumed.keep(b"");
        assert!(unconsumed.is_empty() && unconsumed.take().is_none());
        unconsumed.keep(b"abcd");
        let kept = unconsumed.take().unwrap();
        assert!(unconsumed.is_empty());
        unconsumed.put_back(kept, 3);
        unconsumed.keep(b"ef");
        assert_eq!((unconsumed.len(), unconsumed.0.as_ref().unwrap().bytes()), (3, &b"def"[..]));
        let kept = unconsumed.take().unwrap();
        unconsumed.put_back(kept, 3);
        assert!(unconsumed.is_empty());
    }
}
