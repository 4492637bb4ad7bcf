//! The head of a reply: its status and how its body ends.
//!
//! memchr finds the lines; only those that can be one of the three headers that matter (all begin with C or T) are read. A
//! general parser takes two to three times as long. Tests compare the result with such a parser's.

use crate::exchange::Fault;

pub(super) const HEAD_MAX: usize = 64 * 1024;

/// The parts of a head that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// With the empty line.
    pub(super) len: usize,
    pub(crate) status: u16,
    /// How the body ends, if request and status allow one.
    pub(super) framing: Framing,
    /// The connection can be used again.
    pub(super) persists: bool,
}

/// How a body ends (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After this many bytes.
    Sized(u64),
    /// By its own coding.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// Reads a head; `None` if it is incomplete.
#[inline(always)]
pub(super) fn parse(input: &[u8]) -> Result<Option<Head>, Fault> {
    const VERSION: &[u8] = b"HTTP/1.";
    let seen = input.len().min(VERSION.len());
    if input[..seen] != VERSION[..seen] {
        return no_head(input);
    }
    let [_, _, _, _, _, _, _, minor, b' ', a, b, c, after, ..] = *input else {
        return if input.len() < 13 { Ok(None) } else { Err(Fault::Malformed) };
    };
    if !matches!(minor, b'0' | b'1') || !matches!(after, b' ' | b'\r' | b'\n') || !matches!(a, b'1'..=b'9') {
        return Err(Fault::Malformed);
    }
    if !b.is_ascii_digit() || !c.is_ascii_digit() {
        return Err(Fault::Malformed);
    }
    let status = u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0');
    let mut fields = Fields { size: None, coding: Coding::None, close: false, keep_alive: false };
    let mut at = 12;
    // The end of the line at `at`, if it is known.
    let mut line_end = None;
    loop {
        let Some(end) = line_end.take().or_else(|| memchr::memchr(b'\n', &input[at..])) else {
            return if input.len() < HEAD_MAX { Ok(None) } else { Err(Fault::TooLarge) };
        };
        at += end + 1;
        match &input[at..] {
            [b'\n', ..] => return Ok(Some(fields.head(at + 1, status, minor))),
            [b'\r', b'\n', ..] => return Ok(Some(fields.head(at + 2, status, minor))),
            // A folded line (RFC 9112 section 5.2) has not been allowed since 2014.
            [b' ' | b'\t', ..] => return Err(Fault::Malformed),
            [b'c' | b'C' | b't' | b'T', ..] => {
                line_end = memchr::memchr(b'\n', &input[at..]);
                if let Some(end) = line_end {
                    fields.read(&input[at..at + end])?;
                }
            }
            _ => {}
        }
        if at > HEAD_MAX {
            return Err(Fault::TooLarge);
        }
    }
}

/// Input that is not a head. A server of HTTP/2 begins with a SETTINGS frame on stream 0 (RFC 9113 section 3.4), which may
/// arrive in pieces.
#[cold]
fn no_head(input: &[u8]) -> Result<Option<Head>, Fault> {
    /// The head of that frame (section 4.1): length, whose last byte may be any, type, flags and stream.
    const SETTINGS: [Option<u8>; 9] =
        [Some(0), Some(0), None, Some(4), Some(0), Some(0), Some(0), Some(0), Some(0)];
    let is_settings =
        input.iter().zip(SETTINGS).all(|(byte, known)| known.is_none_or(|known| known == *byte));
    match is_settings {
        true if input.len() < SETTINGS.len() => Ok(None),
        true => Err(Fault::Named("http-2-server")),
        false => Err(Fault::Malformed),
    }
}

struct Fields {
    size: Option<u64>,
    coding: Coding,
    close: bool,
    keep_alive: bool,
}

#[derive(PartialEq, Eq)]
enum Coding {
    None,
    Chunked,
    Other,
}

impl Fields {
    #[inline]
    fn read(&mut self, line: &[u8]) -> Result<(), Fault> {
        if let Some(value) = value(line, b"content-length") {
            // Several lengths must be the same (RFC 9110 section 8.6).
            for item in value.split(|&b| b == b',') {
                let size = number(item.trim_ascii()).ok_or(Fault::Malformed)?;
                if self.size.is_some_and(|other| other != size) {
                    return Err(Fault::Malformed);
                }
                self.size = Some(size);
            }
        } else if let Some(value) = value(line, b"transfer-encoding") {
            let last = value.rsplit(|&b| b == b',').next().unwrap_or_default().trim_ascii();
            self.coding = if last.eq_ignore_ascii_case(b"chunked") { Coding::Chunked } else { Coding::Other };
        } else if let Some(value) = value(line, b"connection") {
            for item in value.split(|&b| b == b',') {
                let item = item.trim_ascii();
                self.close |= item.eq_ignore_ascii_case(b"close");
                self.keep_alive |= item.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    fn head(self, len: usize, status: u16, minor: u8) -> Head {
        let framing = match (self.coding, self.size) {
            (Coding::Chunked, _) => Framing::Chunked,
            (Coding::Other, _) | (Coding::None, None) => Framing::UntilClose,
            (Coding::None, Some(size)) => Framing::Sized(size),
        };
        let persists = !self.close && (minor == b'1' || self.keep_alive);
        Head { len, status, framing, persists }
    }
}

/// The value of a line with the name `name`, which is in lower case.
#[inline]
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, tail) = line.split_at_checked(name.len())?;
    let value = tail.strip_prefix(b":")?;
    head.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// At most 19 digits, as a length may have.
#[inline]
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, &b| b.is_ascii_digit().then(|| sum * 10 + u64::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(text: &str) -> Result<Option<Head>, Fault> {
        parse(text.as_bytes())
    }

    #[test]
    fn a_server_of_http_2_is_known_by_its_first_frame_however_it_comes() {
        let settings = [0, 0, 18, 4, 0, 0, 0, 0, 0, 1];
        for end in 1..9 {
            assert!(matches!(parse(&settings[..end]), Ok(None)), "{end}");
        }
        assert_eq!(parse(&settings[..9]).err(), Some(Fault::Named("http-2-server")));
        assert_eq!(parse(&settings).err(), Some(Fault::Named("http-2-server")));
        assert_eq!(parse(&[0, 0, 18, 4, 1]).err(), Some(Fault::Malformed), "no acknowledgement comes first");
        assert_eq!(parse(&[0, 1]).err(), Some(Fault::Malformed));
    }

    #[test]
    fn framing_and_persistence() {
        for (text, framing, persists) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Framing::Sized(5), true),
            ("HTTP/1.1 200\r\ncontent-length:5\r\n\r\n", Framing::Sized(5), true),
            ("HTTP/1.1 200 OK\nCONTENT-LENGTH: 5 \n\n", Framing::Sized(5), true),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n\r\n", Framing::Sized(5), true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Framing::Chunked, true),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: Chunked\r\n\r\n",
                Framing::Chunked,
                true,
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", Framing::UntilClose, true),
            ("HTTP/1.1 200 OK\r\n\r\n", Framing::UntilClose, true),
            (
                "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n",
                Framing::Sized(0),
                false,
            ),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", Framing::Sized(0), false),
            (
                "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
                Framing::Sized(0),
                true,
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length-X: 5\r\nC\r\nContent\r\n\r\n", Framing::UntilClose, true),
        ] {
            let head = head(text).unwrap().unwrap();
            assert_eq!(
                (head.status, head.framing, head.persists, head.len),
                (200, framing, persists, text.len())
            );
        }
    }

    #[test]
    fn what_is_not_a_head_is_refused_as_soon_as_it_shows() {
        for text in [
            "X",
            "HTTQ",
            "HTTP/2",
            "HTTP/1.2 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n folded\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        ] {
            assert_eq!(head(text), Err(Fault::Malformed), "{text:?}");
        }
    }

    #[test]
    fn a_part_of_a_head_asks_for_more() {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\nX: y\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(head(&text[..end]), Ok(None), "{end}");
        }
        assert!(head(text).unwrap().is_some());
    }

    #[test]
    fn a_head_without_end_is_refused_at_its_limit() {
        let mut endless = b"HTTP/1.1 200 OK\r\n".to_vec();
        while endless.len() < HEAD_MAX {
            endless.extend_from_slice(b"X-Filler: filler\r\n");
        }
        assert_eq!(parse(&endless), Err(Fault::TooLarge));
        assert_eq!(parse(&[b"HTTP/1.1 200 ".as_slice(), &[b'x'; HEAD_MAX]].concat()), Err(Fault::TooLarge));
    }

    proptest! {
        #[test]
        fn a_valid_head_reads_as_a_general_parser_reads_it(
            status in 100u16..1000,
            minor in 0u8..2,
            headers in prop::collection::vec(
                (prop_oneof![Just("Content-Length".to_owned()), "[A-Za-z][A-Za-z0-9-]{0,12}"], "[0-9]{1,9}"), 0..6),
        ) {
            let mut text = format!("HTTP/1.{minor} {status} Reason\r\n");
            for (name, value) in &headers {
                text += &format!("{name}: {value}\r\n");
            }
            text += "\r\nbody";
            let mut storage = [httparse::EMPTY_HEADER; 8];
            let mut oracle = httparse::Response::new(&mut storage);
            let len = oracle.parse(text.as_bytes()).unwrap().unwrap();
            let sizes: Vec<u64> = oracle.headers.iter()
                .filter(|h| h.name.eq_ignore_ascii_case("content-length"))
                .map(|h| std::str::from_utf8(h.value).unwrap().parse().unwrap())
                .collect();
            if sizes.iter().any(|s| s != &sizes[0]) {
                prop_assert_eq!(head(&text), Err(Fault::Malformed));
            } else {
                let framing = sizes.first().map_or(Framing::UntilClose, |&s| Framing::Sized(s));
                let wanted = Head { len, status: oracle.code.unwrap(), framing, persists: minor == 1 };
                prop_assert_eq!(head(&text), Ok(Some(wanted)));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
            let _ = parse(&[b"HTTP/1.1 200 OK\r\nC".as_slice(), &bytes].concat());
        }
    }
}
