//! Byte ranges (RFC 9110 section 14).
//!
//! A set of ranges can request far more than the size of a file, so it is limited in two ways (section 14.2 allows both): a
//! request with more than [`RANGES_MAX`] ranges gets the whole file, and ranges that overlap, touch, or are closer than a part
//! header is long are joined. The result is disjoint, so a reply is never longer than the file and a few part headers.

use std::ops::Range;

use super::syntax::{decimal, elements, trim};

/// A request with more ranges than this gets the whole file.
pub const RANGES_MAX: usize = 16;
/// Ranges with a gap of fewer bytes than this are joined: a part header is about as long.
const GAP_MIN: u64 = 96;

/// The meaning of a `Range` field for a representation of known size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// The field is ignored: the whole representation is sent.
    Whole,
    /// No range overlaps the representation (416).
    Unsatisfiable,
    /// Ranges, disjoint and not empty, in the order of the request.
    Parts(Vec<Range<u64>>),
}

/// Parses the value of a `Range` field for a representation of `size` bytes.
///
/// Unknown units and malformed sets are ignored, as are all ranges of an empty representation, which only a complete
/// reply can express.
pub fn resolve(value: &[u8], size: u64) -> Ranges {
    let Some(set) = byte_set(value) else { return Ranges::Whole };
    if size == 0 || elements(set).nth(RANGES_MAX).is_some() {
        return Ranges::Whole;
    }
    let (mut parts, mut named) = (Vec::new(), 0);
    for spec in elements(set) {
        named += 1;
        match range(spec, size) {
            Some(range) if range.is_empty() => {}
            Some(range) => merge(&mut parts, range),
            None => return Ranges::Whole,
        }
    }
    match (named, parts.is_empty()) {
        (0, _) => Ranges::Whole,
        (_, true) => Ranges::Unsatisfiable,
        (_, false) => Ranges::Parts(parts),
    }
}

/// The range set after `bytes=`; the unit's name is case-insensitive.
fn byte_set(value: &[u8]) -> Option<&[u8]> {
    let equals = value.iter().position(|&b| b == b'=')?;
    let (unit, set) = value.split_at(equals);
    trim(unit).eq_ignore_ascii_case(b"bytes").then_some(&set[1..])
}

/// One range, clipped to the size; an empty one if it is beyond the end. `None` if it is malformed.
fn range(spec: &[u8], size: u64) -> Option<Range<u64>> {
    let dash = spec.iter().position(|&b| b == b'-')?;
    let (first, last) = (&spec[..dash], &spec[dash + 1..]);
    if first.is_empty() {
        let suffix = decimal(last)?;
        return Some(size - suffix.min(size)..size);
    }
    let first = decimal(first)?;
    let end = if last.is_empty() {
        size
    } else {
        let last = decimal(last)?;
        if last < first {
            return None;
        }
        last.saturating_add(1).min(size)
    };
    Some(first.min(end)..end)
}

/// Adds `range` to `parts`, at the index of the first one that it joins.
///
/// Parts are never near each other, so a part near the joined range was near `range` or in it: one pass suffices.
fn merge(parts: &mut Vec<Range<u64>>, range: Range<u64>) {
    let is_near = |part: &Range<u64>| {
        part.start < range.end.saturating_add(GAP_MIN) && range.start < part.end.saturating_add(GAP_MIN)
    };
    let index = parts.iter().position(is_near);
    let mut joined = range.clone();
    parts.retain(|part| {
        let near = is_near(part);
        if near {
            joined = joined.start.min(part.start)..joined.end.max(part.end);
        }
        !near
    });
    parts.insert(index.unwrap_or(parts.len()), joined);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(value: &str, size: u64) -> Vec<(u64, u64)> {
        match resolve(value.as_bytes(), size) {
            Ranges::Parts(parts) => parts.iter().map(|part| (part.start, part.end)).collect(),
            other => panic!("{value:?} of {size} gave {other:?}"),
        }
    }

    #[test]
    fn the_examples_of_rfc_9110_section_14_1_2() {
        assert_eq!(parts("bytes=0-499", 10_000), [(0, 500)]);
        assert_eq!(parts("bytes=500-999", 10_000), [(500, 1000)]);
        assert_eq!(parts("bytes=-500", 10_000), [(9500, 10_000)]);
        assert_eq!(parts("bytes=9500-", 10_000), [(9500, 10_000)]);
        assert_eq!(parts("bytes=0-0,-1", 10_000), [(0, 1), (9999, 10_000)]);
        assert_eq!(
            parts("bytes= 0-999, 4500-5499, -1000", 10_000),
            [(0, 1000), (4500, 5500), (9000, 10_000)]
        );
        assert_eq!(parts("bytes=500-600,601-999", 10_000), [(500, 1000)]);
        assert_eq!(parts("bytes=500-700,601-999", 10_000), [(500, 1000)]);
    }

    #[test]
    fn ranges_are_clipped_to_the_size() {
        assert_eq!(parts("bytes=5-99", 10), [(5, 10)]);
        assert_eq!(parts("bytes=-99", 10), [(0, 10)]);
        assert_eq!(parts("bytes=0-99999999999999999999999", 10), [(0, 10)]);
        assert_eq!(parts("Bytes=20-30,5-", 10), [(5, 10)]);
    }

    #[test]
    fn what_lies_behind_the_end_is_unsatisfiable() {
        for value in ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-", "bytes=10-,11-"]
        {
            assert_eq!(resolve(value.as_bytes(), 10), Ranges::Unsatisfiable, "{value}");
        }
    }

    #[test]
    fn what_is_not_a_byte_range_is_ignored() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=1",
            "bytes=5-4",
            "bytes=+1-2",
            "bytes=1-2-3",
            "bytes=1 - 2",
            "items=0-5",
            "bytes=0-1,x",
            "bytes=--1",
            "0-5",
        ] {
            assert_eq!(resolve(value.as_bytes(), 10), Ranges::Whole, "{value:?}");
        }
        assert_eq!(resolve(b"bytes=0-5", 0), Ranges::Whole);
    }

    #[test]
    fn near_ranges_join_and_far_ones_keep_their_order() {
        assert_eq!(parts("bytes=5000-5009,0-9,5050-5059", 10_000), [(5000, 5060), (0, 10)]);
        assert_eq!(parts("bytes=5050-5059,5000-5009", 10_000), [(5000, 5060)]);
        assert_eq!(parts("bytes=0-9,1000-1009,5-1005", 10_000), [(0, 1010)]);
    }

    #[test]
    fn an_abusive_set_gets_the_whole_once() {
        let set = vec!["0-"; RANGES_MAX].join(",");
        assert_eq!(parts(&format!("bytes={set}"), 1000), [(0, 1000)]);
        assert_eq!(resolve(format!("bytes={set},0-").as_bytes(), 1000), Ranges::Whole);
    }
}
