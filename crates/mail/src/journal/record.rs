//! One line of a journal.
//!
//! `CHECKSUM OUTCOME CODE ADDRESS TEXT`, where the checksum is the CRC-32 of what follows it, in eight hexadecimal
//! digits. A person can read it, `grep` finds a recipient in it, and the checksum reveals a line that was torn or changed.

use std::io::Write;

use pitot_results::mail::Outcome;

use crate::outcome::Settled;

/// The body of a line without its end; `None` if its checksum is wrong.
fn body_of(line: &[u8]) -> Option<&str> {
    let (sum, rest) = line.split_at_checked(8)?;
    let body = rest.strip_prefix(b" ")?;
    let written = u32::from_str_radix(std::str::from_utf8(sum).ok()?, 16).ok()?;
    let canonical = sum.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (canonical && written == crc32fast::hash(body)).then(|| std::str::from_utf8(body).ok()).flatten()
}

/// Appends a line with its checksum and end; what would end it early is replaced.
fn append(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(b"00000000 ");
    body(out);
    for byte in &mut out[start + 9..] {
        if *byte < b' ' || *byte == 0x7f {
            *byte = b' ';
        }
    }
    let sum = crc32fast::hash(&out[start + 9..]);
    for (i, digit) in out[start..start + 8].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(sum >> (28 - 4 * i) & 15) as usize];
    }
    out.push(b'\n');
}

/// Which run a journal belongs to: the same message from the same sender, sent or tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `send` or `test`.
    pub mode: &'static str,
    /// The sender's address; empty for none.
    pub from: String,
    /// The CRC-32 of the message, and its length.
    pub message: (u32, u64),
}

impl Header {
    /// Appends it as the first line.
    pub(super) fn append_to(&self, out: &mut Vec<u8>) {
        append(out, |out| {
            let (sum, len) = self.message;
            let _ = write!(out, "pitot-mail-journal/1 {} <{}> {sum:08x} {len}", self.mode, self.from);
        });
    }

    /// True if that line is the same header.
    pub(super) fn matches(&self, line: &[u8]) -> bool {
        let mut own = Vec::new();
        self.append_to(&mut own);
        own.strip_suffix(b"\n") == Some(line)
    }
}

/// Appends what became of a recipient.
pub(super) fn append_settled(out: &mut Vec<u8>, local: &str, domain: &str, settled: Settled<'_>) {
    append(out, |out| {
        let _ = write!(out, "{} {:03} {local}@{domain} ", settled.outcome.word(), settled.code);
        out.extend_from_slice(settled.text);
    });
}

/// The recipient of a line and what became of it; none for any other line and for a damaged one.
pub fn settled_of(line: &[u8]) -> Option<(&str, Outcome)> {
    let mut words = body_of(line)?.splitn(4, ' ');
    let outcome = Outcome::find(words.next()?)?;
    let _code = words.next()?;
    Some((words.next().filter(|address| address.contains('@'))?, outcome))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(local: &str, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let settled = Settled { outcome: Outcome::Refused, code: 550, text };
        append_settled(&mut out, local, "b.test", settled);
        assert_eq!(out.pop(), Some(b'\n'));
        out
    }

    #[test]
    fn a_line_has_recipient_and_outcome() {
        let line = line("a", b"5.1.1 no such\r\nuser");
        assert_eq!(settled_of(&line), Some(("a@b.test", Outcome::Refused)));
        assert_eq!(&line[8..], b" refused 550 a@b.test 5.1.1 no such  user");
    }

    #[test]
    fn a_header_is_recognised_and_no_other_is() {
        let header = Header { mode: "send", from: "a@b".into(), message: (7, 9) };
        let mut out = Vec::new();
        header.append_to(&mut out);
        out.pop();
        assert!(header.matches(&out));
        assert!(!Header { mode: "test", ..header.clone() }.matches(&out));
        assert!(!Header { message: (8, 9), ..header }.matches(&out));
        assert_eq!(settled_of(&out), None);
    }

    proptest! {
        #[test]
        fn a_changed_or_shortened_line_is_no_line(
            text in proptest::collection::vec(any::<u8>(), 0..40), at in any::<prop::sample::Index>(), bit in 0u8..8,
        ) {
            let whole = line("x", &String::from_utf8_lossy(&text).into_owned().into_bytes());
            prop_assert!(settled_of(&whole).is_some());
            let mut changed = whole.clone();
            changed[at.index(whole.len())] ^= 1 << bit;
            prop_assert_eq!(settled_of(&changed), None);
            prop_assert_eq!(settled_of(&whole[..at.index(whole.len())]), None);
        }
    }
}
