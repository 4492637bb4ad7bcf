//! Checks a message before it is sent: hosts would refuse, cut or change an invalid one, each in its way.
//!
//! RFC 5322 section 2.1.1 and RFC 5321 section 4.5.3.1.6 limit lines, section 2.2 defines headers, and bytes above 127 are allowed
//! in a header only with SMTPUTF8 (RFC 6532). Lines end as on the wire: with LF, CR LF or CR.

use std::fmt;

/// The longest line without its end, and without the dot that is doubled in front of it on the wire.
const LINE_BYTES_MAX: usize = 998;
/// Fields that RFC 5322 section 3.6 requires, in lower case.
const REQUIRED: [(&str, &str); 2] = [("from", "From"), ("date", "Date")];

/// A message that can be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WellFormed {
    /// Its header has bytes above 127.
    pub(crate) utf8_header: bool,
    /// Fields that it should have. Many hosts add them, others count their absence as a sign of spam.
    pub(crate) lacks: Vec<&'static str>,
}

/// Why a message cannot be sent, and the line from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) line: u64,
    pub(crate) why: Why,
}

/// An error in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has so many bytes.
    TooLong(usize),
    Nul,
    /// The message does not begin with a field.
    NoHeader,
    /// It begins as messages in an mbox file do.
    Mbox,
    /// No field, though the header has not ended.
    NoField,
    /// Bytes above 127 in the header, without SMTPUTF8.
    EightBitHeader,
    /// Bytes in the header that are not UTF-8.
    HeaderNotUtf8,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} ", self.line)?;
        match self.why {
            Why::TooLong(bytes) => write!(f, "has {bytes} bytes: the limit is {LINE_BYTES_MAX}"),
            Why::Nul => f.write_str("has a NUL byte"),
            Why::NoHeader => f.write_str("is not a header field, so there is no header"),
            Why::Mbox => f.write_str("is the separator of an mbox file and not a header field"),
            Why::NoField => f.write_str("is not a header field, and no empty line ends the header"),
            Why::EightBitHeader => f.write_str("is in the header and has bytes above 127"),
            Why::HeaderNotUtf8 => f.write_str("is in the header and is not UTF-8"),
        }
    }
}

impl Malformed {
    pub(crate) const fn fix(&self) -> &'static str {
        match self.why {
            Why::TooLong(_) => "break the line, or encode this part as quoted-printable or base64",
            Why::Nul => "encode this part as base64",
            Why::NoHeader => {
                "begin with fields such as `Subject: hello`, and end the header with an empty line"
            }
            Why::Mbox => "remove the line",
            Why::NoField => "put an empty line between the header and the body",
            Why::EightBitHeader => "encode it as RFC 2047 describes, or send it as UTF-8 with --smtputf8",
            Why::HeaderNotUtf8 => "convert the header to UTF-8, or encode it as RFC 2047 describes",
        }
    }
}

/// Checks a whole message. With `smtputf8` its header may be UTF-8.
pub(crate) fn check(message: &[u8], smtputf8: bool) -> Result<WellFormed, Malformed> {
    let mut found = WellFormed::default();
    let mut required = REQUIRED.to_vec();
    let mut in_header = true;
    let mut line_number = 0;
    let mut rest = message;
    while !rest.is_empty() {
        line_number += 1;
        let (line, after) = split_line(rest);
        rest = after;
        let malformed = |why| Err(Malformed { line: line_number, why });
        if in_header {
            let is_first = line_number == 1;
            let is_continuation = line.starts_with(b" ") || line.starts_with(b"\t");
            match field_name(line) {
                _ if is_first && line.starts_with(b"From ") => return malformed(Why::Mbox),
                Some(name) => required.retain(|(word, _)| !name.eq_ignore_ascii_case(word.as_bytes())),
                None if line.is_empty() && !is_first => in_header = false,
                None if is_continuation && !is_first => {}
                None if is_first => return malformed(Why::NoHeader),
                None => return malformed(Why::NoField),
            }
            if in_header && !line.is_ascii() {
                match std::str::from_utf8(line) {
                    _ if !smtputf8 => return malformed(Why::EightBitHeader),
                    Err(_) => return malformed(Why::HeaderNotUtf8),
                    Ok(_) => found.utf8_header = true,
                }
            }
        }
        if line.len() > LINE_BYTES_MAX {
            return malformed(Why::TooLong(line.len()));
        }
        if line.contains(&0) {
            return malformed(Why::Nul);
        }
    }
    found.lacks = required.into_iter().map(|(_, name)| name).collect();
    Ok(found)
}

/// The first line without its end, and what follows.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(text.len());
    let after = match &text[end..] {
        [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
        [] => &[],
    };
    (&text[..end], after)
}

/// The name of a field: printable ASCII up to a colon, with the spaces in front of it that RFC 5322 section 4.5 knows.
fn field_name(line: &[u8]) -> Option<&[u8]> {
    let name = line[..line.iter().position(|&b| b == b':')?].trim_ascii_end();
    (!name.is_empty() && name.iter().all(u8::is_ascii_graphic)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_header_and_lines_that_are_short_enough() {
        let long = "x".repeat(LINE_BYTES_MAX);
        for good in [
            "Subject: hello\n\nhi\n".to_owned(),
            "Subject: hello\r\n folded\r\n\tand again\r\n\r\nno: field\r\nhere\r\n".into(),
            "Subject: no body".into(),
            "Subject : an old way\n\n".into(),
            "X: \n\ngr\u{fc}n\n".into(),
            format!("X: {}\n\n.{}\r\n", &long[3..], &long[1..]),
        ] {
            assert!(check(good.as_bytes(), false).is_ok(), "{good:?}");
        }
        for (bad, line, why) in [
            (format!("A: b\n\n{long}x\n"), 3, Why::TooLong(999)),
            (format!("A: b\r\n\r\n{long}x"), 3, Why::TooLong(999)),
            (format!("A: {long}\n"), 1, Why::TooLong(1001)),
            ("A: b\n\nx\0\n".into(), 3, Why::Nul),
            ("A: \0b\n\nx\n".into(), 1, Why::Nul),
            ("hello\n".into(), 1, Why::NoHeader),
            ("\nhello\n".into(), 1, Why::NoHeader),
            (" A: b\n\n".into(), 1, Why::NoHeader),
            ("\u{feff}A: b\n\n".into(), 1, Why::NoHeader),
            ("From a@b Sun Nov 22\nA: b\n\n".into(), 1, Why::Mbox),
            ("A: b\nhello\n\nthere\n".into(), 2, Why::NoField),
            ("A: b\rhello\r".into(), 2, Why::NoField),
            ("A: b\nC: gr\u{fc}n\n\n".into(), 2, Why::EightBitHeader),
            ("A: b\n gr\u{fc}n\n\n".into(), 2, Why::EightBitHeader),
        ] {
            assert_eq!(check(bad.as_bytes(), false), Err(Malformed { line, why }), "{bad:?}");
        }
    }

    #[test]
    fn a_header_in_utf8_needs_to_be_asked_for_and_to_be_utf8() {
        assert!(check("A: gr\u{fc}n\n\n".as_bytes(), true).unwrap().utf8_header);
        assert!(!check("A: b\n\ngr\u{fc}n\n".as_bytes(), true).unwrap().utf8_header);
        let latin = Malformed { line: 1, why: Why::HeaderNotUtf8 };
        assert_eq!(check(b"A: gr\xfcn\n\n", true), Err(latin));
    }

    #[test]
    fn required_fields_that_are_missing_are_named() {
        assert_eq!(check(b"A: b\n\nFrom: x\n", false).unwrap().lacks, ["From", "Date"]);
        assert_eq!(check(b"FROM: b\ndate: x\n\n", false).unwrap().lacks, [""; 0]);
    }
}
