use super::exchange::Verdict;
use pitot_proto::PATTERN;

/// What the body of a right reply is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Anything.
    Anything,
    /// These bytes.
    Exactly(&'static [u8]),
    /// So many bytes of generated content.
    Pattern(u64),
}

impl Expected {
    /// Judges the piece of a body that starts at byte `at`.
    #[inline]
    pub(crate) fn compare(&self, at: u64, piece: &[u8]) -> Verdict {
        let end = at + piece.len() as u64;
        match *self {
            Expected::Anything => Verdict::Right,
            Expected::Exactly(all) if end > all.len() as u64 => Verdict::Length,
            Expected::Exactly(all) => right_if(piece == &all[at as usize..end as usize]),
            Expected::Pattern(size) if end > size => Verdict::Length,
            Expected::Pattern(_) => right_if(is_pattern(at, piece)),
        }
    }

    /// Judges the length of a body whose pieces were right.
    pub(crate) fn complete(&self, size: u64) -> Verdict {
        let right = match *self {
            Expected::Anything => true,
            Expected::Exactly(all) => size == all.len() as u64,
            Expected::Pattern(wanted) => size == wanted,
        };
        if right { Verdict::Right } else { Verdict::Length }
    }
}

fn right_if(right: bool) -> Verdict {
    if right { Verdict::Right } else { Verdict::Bytes }
}

fn is_pattern(at: u64, mut piece: &[u8]) -> bool {
    let mut start = (at % PATTERN.len() as u64) as usize;
    while !piece.is_empty() {
        let n = piece.len().min(PATTERN.len() - start);
        if piece[..n] != PATTERN[start..start + n] {
            return false;
        }
        piece = &piece[n..];
        start = 0;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_proto::pattern_at;

    #[test]
    fn generated_content_is_known_at_any_offset_and_across_its_period() {
        let all: Vec<u8> = (0..200_000).map(pattern_at).collect();
        for (from, to) in [(0, 200_000), (65_535, 65_537), (1, 131_073), (70_000, 70_000)] {
            assert!(is_pattern(from, &all[from as usize..to]));
        }
        assert!(!is_pattern(1, &all[..10]));
    }

    #[test]
    fn length_and_bytes_are_told_apart() {
        let expected = Expected::Exactly(b"abc");
        assert_eq!(expected.compare(1, b"bc"), Verdict::Right);
        assert_eq!(expected.compare(1, b"bcd"), Verdict::Length);
        assert_eq!(expected.compare(1, b"xc"), Verdict::Bytes);
        assert_eq!(expected.complete(2), Verdict::Length);
        assert_eq!(Expected::Pattern(5).complete(5), Verdict::Right);
    }
}
