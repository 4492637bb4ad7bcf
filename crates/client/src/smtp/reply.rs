//! Replies of an SMTP server (RFC 5321 section 4.2), read line by line.
//!
//! All lines of a reply have the same code, with `250-` on all but the last. Each line is returned as soon as it is complete, so
//! nothing is parsed twice and no whole reply is stored. Lines that end in a bare LF are accepted: some servers send them, and
//! for a client they are harmless.

use std::fmt;

use memchr::memchr;

use crate::exchange::Fault;

/// The longest line of a reply with its line end. RFC 5321 allows 512; servers that link to web pages send more.
pub const LINE_BYTES_MAX: usize = 2048;
/// The longest reply.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// Reads the replies of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplyReader {
    /// The code of an incomplete reply; 0 between replies.
    code: u16,
    /// The length of its lines so far.
    bytes: u32,
}

/// One line of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// 200 to 599.
    pub code: u16,
    /// It is the last line of its reply.
    pub last: bool,
    /// The text behind the code, without the line end.
    pub text: &'a [u8],
}

impl ReplyReader {
    /// Takes one line from the front of `input`: returns its length in bytes and its content, or `None` if it is incomplete. Call it
    /// again then with more input.
    ///
    /// # Errors
    /// [`Fault::Malformed`] if it is not a reply or changes its code, [`Fault::TooLarge`] if a line or the reply is too long.
    pub fn line<'a>(&mut self, input: &'a [u8]) -> Result<Option<(usize, Line<'a>)>, Fault> {
        let view = &input[..input.len().min(LINE_BYTES_MAX)];
        let Some(end) = memchr(b'\n', view) else {
            return if view.len() < LINE_BYTES_MAX { Ok(None) } else { Err(Fault::TooLarge) };
        };
        let whole = view[..end].strip_suffix(b"\r").unwrap_or(&view[..end]);
        let (code, rest) = whole.split_at_checked(3).ok_or(Fault::Malformed)?;
        let &[a @ b'2'..=b'5', b @ b'0'..=b'9', c @ b'0'..=b'9'] = code else {
            return Err(Fault::Malformed);
        };
        let code = [a, b, c].iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0'));
        let (last, text) = match rest {
            [] => (true, rest),
            [b' ', text @ ..] => (true, text),
            [b'-', text @ ..] => (false, text),
            _ => return Err(Fault::Malformed),
        };
        if self.code != 0 && self.code != code {
            return Err(Fault::Malformed);
        }
        self.bytes += end as u32 + 1;
        if self.bytes as usize > REPLY_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        (self.code, self.bytes) = if last { (0, 0) } else { (code, self.bytes) };
        Ok(Some((end + 1, Line { code, last, text })))
    }

    /// True within a reply of several lines.
    pub fn is_within(&self) -> bool {
        self.code != 0
    }
}

/// An enhanced status code (RFC 3463): `5.1.1` is a mailbox that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnhancedCode {
    /// 2 for success, 4 for a temporary failure, 5 for a permanent one.
    pub class: u8,
    /// 1 for the address, 2 the mailbox, 3 the system, 4 the network, 7 policy.
    pub subject: u16,
    /// The detail within the subject.
    pub detail: u16,
}

impl EnhancedCode {
    /// The code at the start of a line, if it agrees with the line's reply code.
    pub fn of(line: &Line<'_>) -> Option<EnhancedCode> {
        let word = line.text.split(|&b| b == b' ').next()?;
        if word.get(1) != Some(&b'.') {
            return None;
        }
        let mut numbers = word.split(|&b| b == b'.').map(|digits| match digits.len() {
            1..=3 => digits
                .iter()
                .try_fold(0u16, |n, b| b.is_ascii_digit().then(|| n * 10 + u16::from(b.wrapping_sub(b'0')))),
            _ => None,
        });
        let (class, subject, detail) = (numbers.next()??, numbers.next()??, numbers.next()??);
        if numbers.next().is_some() || class != line.code / 100 || !matches!(class, 2 | 4 | 5) {
            return None;
        }
        Some(EnhancedCode { class: class as u8, subject, detail })
    }
}

impl fmt::Display for EnhancedCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.class, self.subject, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Read = (Vec<(u16, bool, Vec<u8>)>, Result<usize, Fault>);

    /// All lines of the pieces, and what is left or wrong at the end.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
        let (mut reader, mut tail, mut lines) = (ReplyReader::default(), Vec::new(), Vec::new());
        for piece in pieces {
            tail.extend_from_slice(piece);
            loop {
                match reader.line(&tail) {
                    Ok(Some((used, line))) => {
                        lines.push((line.code, line.last, line.text.to_vec()));
                        tail.drain(..used);
                    }
                    Ok(None) => break,
                    Err(fault) => return (lines, Err(fault)),
                }
            }
        }
        (lines, Ok(tail.len()))
    }

    #[test]
    fn lines_of_a_reply_carry_one_code_and_say_which_is_the_last() {
        let (lines, end) = read([&b"250-mx.test\r\n250-PIPELINING\r\n250 SIZE 1000\r\n354\n221"[..]]);
        let text = |s: &str| s.as_bytes().to_vec();
        assert_eq!(
            lines,
            [
                (250, false, text("mx.test")),
                (250, false, text("PIPELINING")),
                (250, true, text("SIZE 1000")),
                (354, true, text("")),
            ]
        );
        assert_eq!(end, Ok(3));
    }

    #[test]
    fn what_is_no_reply_is_malformed() {
        for wrong in
            ["hello\r\n", "25\r\n", "250_ok\r\n", "150 no\r\n", "650 no\r\n", "250-a\r\n251 b\r\n", "\r\n"]
        {
            assert_eq!(read([wrong.as_bytes()]).1, Err(Fault::Malformed), "{wrong:?}");
        }
    }

    #[test]
    fn lines_and_replies_have_a_longest() {
        let line = [&b"250 "[..], &[b'x'; LINE_BYTES_MAX]].concat();
        assert_eq!(read([&line[..]]).1, Err(Fault::TooLarge));
        let endless = b"250-more\r\n".repeat(REPLY_BYTES_MAX / 10 + 1);
        assert_eq!(read([&endless[..]]).1, Err(Fault::TooLarge));
        let many = b"250 enough\r\n".repeat(REPLY_BYTES_MAX / 10 + 1);
        assert_eq!(read([&many[..]]).1, Ok(0));
    }

    #[test]
    fn enhanced_codes_stand_in_front_and_agree_with_the_code() {
        let of = |code, text: &'static str| {
            EnhancedCode::of(&Line { code, last: true, text: text.as_bytes() }).map(|c| c.to_string())
        };
        assert_eq!(of(550, "5.1.1 no such user").as_deref(), Some("5.1.1"));
        assert_eq!(of(250, "2.0.0").as_deref(), Some("2.0.0"));
        assert_eq!(of(451, "4.7.500 later").as_deref(), Some("4.7.500"));
        for (code, text) in [
            (250, "5.1.1 no"),
            (550, "5.1 no"),
            (550, "5.1.1.1 no"),
            (550, "5..1 no"),
            (550, "5.1.1000 no"),
            (550, "05.1.1 no"),
            (354, "3.0.0 go"),
            (550, "no"),
            (550, ""),
        ] {
            assert_eq!(of(code, text), None, "{code} {text}");
        }
    }

    proptest! {
        #[test]
        fn however_the_input_is_cut_it_reads_the_same(
            lines in proptest::collection::vec("(2|5)(5)(0)( |-|)[ -~]{0,12}(\r\n|\n)|[ -~]{0,9}\r\n", 0..12),
            cut in 1usize..9,
        ) {
            let input = lines.concat();
            prop_assert_eq!(read(input.as_bytes().chunks(cut)), read([input.as_bytes()]));
        }
    }
}
