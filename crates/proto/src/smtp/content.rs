//! The text of a message on its way in: where it ends, and what of it is the message.
//!
//! Only the five bytes CR LF `.` CR LF end a message (RFC 5321 section 4.1.1.4), wherever the input is cut. A line feed
//! without a carriage return before it and a carriage return without a line feed behind it end neither a line nor a
//! message; they are noted, and the message is refused at its end. So no two servers can differ over where a message
//! that passed through this one ended, which is what smuggling lives on.

use memchr::memchr2;

/// How far a message has come.
#[derive(Debug)]
pub(super) struct Content {
    place: Place,
    /// Bytes of the message so far: line ends count two, stuffed dots not at all (RFC 1870).
    pub(super) size: u64,
    /// A carriage return or line feed stood alone.
    pub(super) stray: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    LineStart,
    /// Behind the dot that a line starts with.
    Dot,
    /// Behind the dot and a carriage return.
    DotCr,
    InLine,
    /// Behind a carriage return in a line.
    Cr,
}

impl Content {
    /// A message that begins.
    pub(super) fn new() -> Content {
        Content { place: Place::LineStart, size: 0, stray: false }
    }

    /// Takes input. Appends what it is of the message to `kept`, with line feeds for line ends as files have them.
    /// Returns how much of the input belongs to the message, and whether that was its end.
    pub(super) fn take(&mut self, input: &[u8], mut kept: Option<&mut Vec<u8>>) -> (usize, bool) {
        let mut keep = |bytes: &[u8]| {
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(bytes);
            }
        };
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match (self.place, byte) {
                (Place::LineStart, b'.') => {
                    at += 1;
                    self.place = Place::Dot;
                }
                (Place::Dot, b'\r') => {
                    at += 1;
                    self.place = Place::DotCr;
                }
                (Place::DotCr, b'\n') => return (at + 1, true),
                (Place::LineStart | Place::Dot, _) => self.place = Place::InLine,
                (Place::InLine, _) => {
                    let rest = &input[at..];
                    let end = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    keep(&rest[..end]);
                    self.size += end as u64;
                    at += end + 1;
                    match rest.get(end) {
                        None => return (input.len(), false),
                        Some(b'\r') => self.place = Place::Cr,
                        Some(_) => self.stray = true,
                    }
                }
                (Place::Cr, b'\n') => {
                    at += 1;
                    keep(b"\n");
                    self.size += 2;
                    self.place = Place::LineStart;
                }
                (Place::Cr | Place::DotCr, _) => {
                    self.stray = true;
                    self.place = Place::InLine;
                }
            }
        }
        (at, false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a client sends for lines: dots stuffed, and the end.
    fn stuffed(lines: &[Vec<u8>]) -> Vec<u8> {
        let mut sent = Vec::new();
        for line in lines {
            if line.first() == Some(&b'.') {
                sent.push(b'.');
            }
            sent.extend_from_slice(line);
            sent.extend_from_slice(b"\r\n");
        }
        sent.extend_from_slice(b".\r\n");
        sent
    }

    fn take_in_pieces(input: &[u8], size: usize) -> (Content, Vec<u8>, Option<usize>) {
        let (mut content, mut kept) = (Content::new(), Vec::new());
        let mut at = 0;
        for piece in input.chunks(size) {
            let (taken, ended) = content.take(piece, Some(&mut kept));
            at += taken;
            if ended {
                return (content, kept, Some(at));
            }
            assert_eq!(taken, piece.len());
        }
        (content, kept, None)
    }

    proptest! {
        #[test]
        fn what_was_stuffed_comes_out_whole_however_it_is_cut(
            lines in prop::collection::vec(prop::collection::vec(
                prop_oneof![Just(b'.'), Just(b'a'), any::<u8>().prop_filter("a line end", |b| !b"\r\n".contains(b))],
                0..6), 0..8),
            size in 1..20_usize,
        ) {
            let mut sent = stuffed(&lines);
            let len = sent.len();
            sent.extend_from_slice(b"QUIT\r\n");
            let (content, kept, end) = take_in_pieces(&sent, size);
            let wanted: Vec<u8> = lines.iter().flat_map(|line| line.iter().chain(b"\n")).copied().collect();
            prop_assert_eq!(kept, wanted);
            prop_assert_eq!(end, Some(len));
            prop_assert!(!content.stray);
            prop_assert_eq!(content.size, lines.iter().map(|line| line.len() as u64 + 2).sum::<u64>());
        }

        #[test]
        fn only_the_five_bytes_end_a_message(
            input in prop::collection::vec(prop::sample::select(b"\r\n.a".to_vec()), 0..40),
            size in 1..5_usize,
        ) {
            let (content, _, end) = take_in_pieces(&input, size);
            // The line end of the DATA command counts as the one before the first line.
            let seen = [b"\r\n", &input[..]].concat();
            prop_assert_eq!(end, seen.windows(5).position(|five| five == b"\r\n.\r\n").map(|at| at + 3));
            let seen = &seen[..end.map_or(seen.len(), |end| end + 2)];
            let stray = |at: usize| match seen[at] {
                b'\n' => at == 0 || seen[at - 1] != b'\r',
                b'\r' => seen.get(at + 1).is_some_and(|&next| next != b'\n'),
                _ => false,
            };
            prop_assert_eq!(content.stray, (0..seen.len()).any(stray));
        }
    }

    #[test]
    fn odd_ends_of_data_end_nothing() {
        for odd in
            ["\n.\n", "\n.\r\n", "\r.\r\n", "\r\n.\n", "\r\n.\r", "\r\n.\r\r\n", "\r\n..\r\n", "\r\n.\0\r\n"]
        {
            let (_, _, end) = take_in_pieces(format!("line{odd}MAIL").as_bytes(), 100);
            assert_eq!(end, None, "{}", odd.escape_debug());
        }
    }
}
