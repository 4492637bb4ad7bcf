use super::exchange::{Progress, Received, Reply, Verdict};
use pitot_proto::PATTERN;

/// The body of a right reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
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

/// A reply of a known length that is arriving; its content is generated.
pub(crate) struct SizedReply {
    /// Bytes that have arrived.
    at: u64,
    verdict: Verdict,
}

impl SizedReply {
    pub(crate) const START: SizedReply = SizedReply { at: 0, verdict: Verdict::Right };

    /// Takes the input that belongs to the reply of `len` bytes, and with `compare` compares its content.
    pub(crate) fn receive(&mut self, len: u64, input: &[u8], compare: bool) -> Received {
        let consumed = (len - self.at).min(input.len() as u64) as usize;
        if compare && self.verdict == Verdict::Right {
            self.verdict = Expected::Pattern(len).compare(self.at, &input[..consumed]);
        }
        self.at += consumed as u64;
        if self.at < len {
            return Received { consumed, progress: Progress::More };
        }
        self.at = 0;
        let reply = Reply { verdict: self.verdict.take(), status: 0, persists: true, content: len };
        Received { consumed, progress: Progress::Reply(reply) }
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
