//! Known contents: any range of any generated file can be made or checked without the rest.
//!
//! Byte `i` of a file is a byte of a keyed permutation of `i / 8`, so every eight bytes differ from all others of the
//! file and, with overwhelming likelihood, from those of other files. A read from a wrong offset or a wrong file, a
//! block of zeros and a block that was never filled are each recognised by a single word.

use pitot_meter::Random;

/// The key of file `index` in a set with this `seed`.
pub fn key(seed: u64, index: u64) -> u64 {
    mix(seed ^ mix(index))
}

/// Fills `bytes` with the content at `offset` of the file.
///
/// # Panics
/// If `offset` is not a multiple of 8.
pub fn fill(key: u64, offset: u64, bytes: &mut [u8]) {
    assert!(offset.is_multiple_of(8), "contents are made of words of 8 bytes");
    for (i, chunk) in bytes.chunks_mut(8).enumerate() {
        let word = word(key, offset / 8 + i as u64).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// True if `bytes` are the content at `offset` of the file.
pub fn is_right(key: u64, offset: u64, bytes: &[u8]) -> bool {
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder();
    let whole = (bytes.len() / 8) as u64;
    chunks.enumerate().all(|(i, chunk)| *chunk == word(key, offset / 8 + i as u64).to_le_bytes())
        && *rest == word(key, offset / 8 + whole).to_le_bytes()[..rest.len()]
}

/// True if the first and the last whole words of `bytes` are right: a check that costs almost nothing.
pub fn ends_are_right(key: u64, offset: u64, bytes: &[u8]) -> bool {
    let last = bytes.len().saturating_sub(8) / 8 * 8;
    is_right(key, offset, &bytes[..bytes.len().min(8)])
        && (last == 0 || is_right(key, offset + last as u64, &bytes[last..last + 8]))
}

fn word(key: u64, index: u64) -> u64 {
    mix(key ^ index)
}

/// The first number that follows the seed `x`: a permutation in which every bit depends on every other.
pub(crate) fn mix(x: u64) -> u64 {
    Random::new(x).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_the_same_whether_made_alone_or_with_the_rest() {
        let mut whole = [0; 1001];
        fill(key(1, 2), 0, &mut whole);
        let mut part = [0; 301];
        fill(key(1, 2), 104, &mut part);
        assert_eq!(part[..], whole[104..405]);
        assert!(is_right(key(1, 2), 104, &part) && is_right(key(1, 2), 0, &whole));
        assert!(ends_are_right(key(1, 2), 104, &part));
    }

    #[test]
    fn what_is_wrong_is_seen() {
        let mut bytes = [0; 4096];
        fill(7, 8192, &mut bytes);
        assert!(!ends_are_right(8, 8192, &bytes), "another file");
        assert!(!ends_are_right(7, 4096, &bytes), "another offset");
        assert!(!ends_are_right(7, 8192, &[0; 4096]), "zeros");
        bytes[2000] ^= 1;
        assert!(ends_are_right(7, 8192, &bytes) && !is_right(7, 8192, &bytes));
        bytes[4095] ^= 1;
        assert!(!ends_are_right(7, 8192, &bytes));
        for len in [0, 1, 7] {
            assert!(is_right(7, 8192, &bytes[..len]) && ends_are_right(7, 8192, &bytes[..len]));
        }
    }
}
