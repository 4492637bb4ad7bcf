//! The keys of a run and their values. Both follow from the number of a key, so a reply can be checked without knowing
//! who wrote the value and when.

use super::size::Size;
use crate::stream::Stream;
use pitot_proto::PATTERN;
use pitot_proto::memcache::KEY_BYTES_MAX;

const FILLER: [u8; KEY_BYTES_MAX] = [b'-'; KEY_BYTES_MAX];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyspace {
    /// How many keys there are, 1 to 2^30.
    pub(crate) count: u64,
    /// Digits of a key's number.
    digits: usize,
    key: Size,
    value: Size,
    value_bytes_max: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    bytes: [u8; KEY_BYTES_MAX],
    len: usize,
}

impl Key {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A value: `len` bytes of generated content from offset `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) len: u64,
    start: usize,
}

impl Keyspace {
    pub(crate) fn new(count: u64, key: Size, value: Size, value_bytes_max: u64) -> Keyspace {
        let digits = (count - 1).checked_ilog10().map_or(1, |n| n as usize + 1);
        Keyspace { count, digits, key, value, value_bytes_max }
    }

    /// The key: its number, with enough digits that all keys differ, padded to its length.
    pub(crate) fn key(&self, number: u64) -> Key {
        let len = match self.key {
            Size::Fixed(len) => len,
            other => other.draw(&mut Stream::new(number)),
        };
        let len = (len as usize).clamp(self.digits, KEY_BYTES_MAX);
        let mut key = Key { bytes: FILLER, len };
        let mut rest = number;
        for digit in key.bytes[..self.digits].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        key
    }

    pub(crate) fn number(&self, key: &[u8]) -> Option<u64> {
        let number = key.get(..self.digits)?.iter().try_fold(0u64, |n, &b| {
            let digit = b.wrapping_sub(b'0');
            (digit < 10).then(|| n * 10 + u64::from(digit))
        })?;
        (number < self.count && self.key(number).as_slice() == key).then_some(number)
    }

    pub(crate) fn value(&self, number: u64) -> Value {
        let mut random = Stream::new(!number);
        let start = random.below(PATTERN.len() as u64) as usize;
        Value { len: self.value.draw(&mut random).min(self.value_bytes_max), start }
    }
}

impl Value {
    /// Compared with nothing.
    pub(crate) const UNKNOWN: Value = Value { len: 0, start: 0 };

    /// `len` bytes from `at` on, in pieces.
    pub(crate) fn pieces(self, at: u64, len: usize) -> impl Iterator<Item = &'static [u8]> {
        let mut start = ((self.start as u64 + at) % PATTERN.len() as u64) as usize;
        let mut left = len;
        std::iter::from_fn(move || {
            let n = left.min(PATTERN.len() - start);
            let piece = &PATTERN[start..start + n];
            left -= n;
            start = 0;
            (n > 0).then_some(piece)
        })
    }

    pub(crate) fn matches(self, at: u64, mut bytes: &[u8]) -> bool {
        for piece in self.pieces(at, bytes.len()) {
            let (head, rest) = bytes.split_at(piece.len());
            if head != piece {
                return false;
            }
            bytes = rest;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_tells_its_number_and_no_other_word_does() {
        for (count, key) in [
            (1, Size::Fixed(1)),
            (1000, Size::Fixed(1)),
            (1001, Size::Fixed(40)),
            (1 << 30, Size::EtcKey),
            (10_000, Size::Uniform(1, 250)),
        ] {
            let keys = Keyspace::new(count, key, Size::Fixed(1), 1);
            for number in [0, 1, 9, 10, 999, count / 2, count - 1].into_iter().filter(|&n| n < count) {
                let key = keys.key(number);
                assert!((1..=KEY_BYTES_MAX).contains(&key.as_slice().len()));
                assert_eq!(keys.number(key.as_slice()), Some(number));
                assert_eq!(keys.number(&[key.as_slice(), b"-"].concat()), None);
            }
            assert_eq!((keys.number(b""), keys.number(b"x")), (None, None));
        }
    }

    #[test]
    fn a_value_is_the_same_in_pieces_and_as_a_whole() {
        let keys = Keyspace::new(10, Size::Fixed(5), Size::Fixed(200_000), 150_000);
        let value = keys.value(3);
        assert_eq!(value.len, 150_000);
        let all: Vec<u8> = value.pieces(0, 150_000).flatten().copied().collect();
        assert_eq!(all.len(), 150_000);
        assert!(value.matches(0, &all) && value.matches(70_000, &all[70_000..]));
        assert!(!value.matches(1, &all[..100]));
        assert_ne!(keys.value(3), keys.value(4));
    }
}
