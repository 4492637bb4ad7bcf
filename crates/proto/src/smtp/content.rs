//! The content of a message while it is received: finding its end, and removing the dot stuffing.
//!
//! Only the five bytes CR LF `.` CR LF end a message (RFC 5321 section 4.1.1.4), wherever the input is split. A bare
//! line feed or carriage return ends neither a line nor a message; it is noted, and the message is refused at its end.
//! So no two servers can disagree about the end of an accepted message, which smuggling relies on. A NUL is refused too:
//! no message may contain one (RFC 5322 section 4), and other programs take it for an end.

use memchr::{memchr, memchr2};

/// The state of a message that is being received.
#[derive(Debug)]
pub(super) struct Content {
    position: Position,
    /// Size of the message so far: line ends count two bytes, stuffed dots none (RFC 1870).
    pub(super) size: u64,
    /// True if there was a bare carriage return or line feed.
    pub(super) stray: bool,
    /// True if there was a NUL.
    pub(super) nul: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    LineStart,
    /// After a dot at the start of a line.
    Dot,
    /// After that dot and a carriage return.
    DotCr,
    InLine,
    /// After a carriage return in a line.
    Cr,
}

impl Content {
    /// The start of a message.
    pub(super) fn new() -> Content {
        Content { position: Position::LineStart, size: 0, stray: false, nul: false }
    }

    /// Takes input. Appends the decoded message to `kept`, with line feeds as line ends. Returns how much of the input
    /// belongs to the message, and whether the message has ended.
    pub(super) fn take(&mut self, input: &[u8], mut kept: Option<&mut Vec<u8>>) -> (usize, bool) {
        let mut keep = |bytes: &[u8]| {
            if let Some(kept) = &mut kept {
                kept.extend_from_slice(bytes);
            }
        };
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match (self.position, byte) {
                (Position::LineStart, b'.') => {
                    at += 1;
                    self.position = Position::Dot;
                }
                (Position::Dot, b'\r') => {
                    at += 1;
                    self.position = Position::DotCr;
                }
                (Position::DotCr, b'\n') => return (at + 1, true),
                (Position::LineStart | Position::Dot, _) => self.position = Position::InLine,
                (Position::InLine, _) => {
                    let rest = &input[at..];
                    let end = memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
                    keep(&rest[..end]);
                    self.nul |= memchr(0, &rest[..end]).is_some();
                    self.size += end as u64;
                    at += end + 1;
                    match rest.get(end) {
                        None => return (input.len(), false),
                        Some(b'\r') => self.position = Position::Cr,
                        Some(_) => self.stray = true,
                    }
                }
                (Position::Cr, b'\n') => {
                    at += 1;
                    keep(b"\n");
                    self.size += 2;
                    self.position = Position::LineStart;
                }
                (Position::Cr | Position::DotCr, _) => {
                    self.stray = true;
                    self.position = Position::InLine;
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
