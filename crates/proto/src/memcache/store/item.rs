//! The bytes of an item: the reply to a `get`, ready to be sent.

use std::ops::Range;
use std::sync::Arc;

use super::super::decimal::Digits;
use super::super::limits::KEY_BYTES_MAX;

const VALUE: &[u8] = b"VALUE ";
const LINE_END: &[u8] = b"\r\n";
/// `VALUE `, a key, the flags, the length, the blanks between them and the line end.
const HEAD_BYTES_MAX: usize = VALUE.len() + KEY_BYTES_MAX + 1 + 10 + 1 + 10 + LINE_END.len();

/// `VALUE <key> <flags> <bytes>\r\n<data>\r\n`, in one allocation.
#[derive(Clone, Debug)]
pub(in crate::memcache) struct Item {
    bytes: Arc<[u8]>,
    head_len: u16,
    key_len: u8,
}

impl Item {
    /// No bytes, for a free entry.
    pub(super) fn empty() -> Item {
        Item { bytes: Arc::new([]), head_len: 0, key_len: 0 }
    }

    /// The item of a key. Its value is the concatenation of two parts.
    pub(super) fn new(key: &[u8], flags: u32, value: [&[u8]; 2]) -> Item {
        let head = Head::new(key, flags, value[0].len() + value[1].len());
        let len = head.len + value[0].len() + value[1].len() + LINE_END.len();
        // Without unsafe code the memory is zeroed before it is written, which is cheap compared with the copy.
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
        let target = Arc::get_mut(&mut bytes).expect("it is not shared yet");
        head.fill(target, value);
        Item { bytes, head_len: head.len as u16, key_len: key.len() as u8 }
    }

    /// Overwrites the value in place. False if the lengths differ, or the item is being sent.
    pub(super) fn overwrite(&mut self, flags: u32, value: [&[u8]; 2]) -> bool {
        let value_len = value[0].len() + value[1].len();
        let head = Head::new(self.key(), flags, value_len);
        if head.len + value_len + LINE_END.len() != self.bytes.len() {
            return false;
        }
        let Some(target) = Arc::get_mut(&mut self.bytes) else { return false };
        head.fill(target, value);
        self.head_len = head.len as u16;
        true
    }

    /// Overwrites the value in place with a text that is not longer, and blanks. False if the item is being sent.
    pub(super) fn overwrite_padded(&mut self, text: &[u8]) -> bool {
        let block = self.block();
        let Some(target) = Arc::get_mut(&mut self.bytes) else { return false };
        let value = &mut target[block.start..block.end - LINE_END.len()];
        let (start, padding) = value.split_at_mut(text.len());
        start.copy_from_slice(text);
        padding.fill(b' ');
        true
    }

    /// All of it.
    pub(in crate::memcache) fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    pub(in crate::memcache) fn key(&self) -> &[u8] {
        &self.bytes[VALUE.len()..VALUE.len() + usize::from(self.key_len)]
    }

    /// The first line, without its line end.
    pub(in crate::memcache) fn line(&self) -> &[u8] {
        &self.bytes[..usize::from(self.head_len) - LINE_END.len()]
    }

    /// The range of the data with its line end.
    pub(in crate::memcache) fn block(&self) -> Range<usize> {
        usize::from(self.head_len)..self.bytes.len()
    }

    pub(in crate::memcache) fn value(&self) -> &[u8] {
        &self.bytes[usize::from(self.head_len)..self.bytes.len() - LINE_END.len()]
    }

    /// The heap memory of the item: the bytes, the two reference counts before them, and the usual overhead and rounding
    /// of allocators.
    pub(super) fn heap_bytes(&self) -> u64 {
        const COUNTERS: usize = 2 * size_of::<usize>();
        const ALLOCATOR: usize = size_of::<usize>();
        (self.bytes.len() + COUNTERS + ALLOCATOR).next_multiple_of(16) as u64
    }
}

/// Formats the line before an item's data.
struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl Head {
    fn new(key: &[u8], flags: u32, value_len: usize) -> Head {
        let mut head = Head { bytes: [0; HEAD_BYTES_MAX], len: 0 };
        for piece in [
            VALUE,
            key,
            b" ",
            Digits::of(u64::from(flags)).as_slice(),
            b" ",
            Digits::of(value_len as u64).as_slice(),
            LINE_END,
        ] {
            head.bytes[head.len..head.len + piece.len()].copy_from_slice(piece);
            head.len += piece.len();
        }
        head
    }

    fn fill(&self, target: &mut [u8], value: [&[u8]; 2]) {
        let (head, rest) = target.split_at_mut(self.len);
        let (first, rest) = rest.split_at_mut(value[0].len());
        let (second, end) = rest.split_at_mut(value[1].len());
        head.copy_from_slice(&self.bytes[..self.len]);
        first.copy_from_slice(value[0]);
        second.copy_from_slice(value[1]);
        end.copy_from_slice(LINE_END);
    }
}
