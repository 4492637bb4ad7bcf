//! Messages of the domain name system (RFC 1035 section 4), as far as a resolver must know them that passes them on.

use std::net::IpAddr;
use std::ops::Range;

/// Bytes of the head of a message.
const HEAD_BYTES: usize = 12;
/// The longest name (RFC 1035 section 2.3.4).
const NAME_BYTES_MAX: usize = 255;
/// In the third byte: it is a reply, its kind of question, recursion is desired.
const REPLY: u8 = 0x80;
const OPCODE: u8 = 0x78;
const RECURSION_DESIRED: u8 = 0x01;
/// In the fourth byte: recursion is to be had.
const RECURSION_AVAILABLE: u8 = 0x80;
/// Types and the class of records that are known here.
const A: u16 = 1;
const AAAA: u16 = 28;
const OPT: u16 = 41;
const IN: u16 = 1;
/// The name of the first question, as a pointer.
const POINTER_TO_QUESTION: [u8; 2] = [0xC0, HEAD_BYTES as u8];

/// What is replied to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// This code and no record: 2 SERVFAIL, 3 NXDOMAIN, 5 REFUSED.
    Code(u8),
    /// This address, if an address of its kind was asked for; else no record.
    Address(IpAddr),
    /// Nothing at all.
    Silence,
}

/// The code of a failure of the server.
pub(crate) const SERVFAIL: u8 = 2;
/// The code of a name that does not exist.
pub(crate) const NXDOMAIN: u8 = 3;
/// The code of a server that refuses.
pub(crate) const REFUSED: u8 = 5;

/// A query with one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query<'a> {
    head: &'a [u8],
    question: &'a [u8],
    kind: u16,
    class: u16,
}

impl<'a> Query<'a> {
    /// Reads a message. `None` for what is no query with one question.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Query<'a>> {
        let head = bytes.get(..HEAD_BYTES)?;
        if head[2] & (REPLY | OPCODE) != 0 || head[4..6] != [0, 1] {
            return None;
        }
        let name_end = after_name(bytes, HEAD_BYTES)?;
        let question = bytes.get(HEAD_BYTES..name_end + 4)?;
        Some(Query { head, question, kind: u16_at(bytes, name_end)?, class: u16_at(bytes, name_end + 2)? })
    }

    /// Whether the name is `test` or below it, which no resolver knows of any other (RFC 6761 section 6.2).
    pub(super) fn is_below_test(&self) -> bool {
        let name = &self.question[..self.question.len() - 4];
        name.len() >= 6 && name[name.len() - 6..].eq_ignore_ascii_case(b"\x04test\0") && {
            // The length before it begins a label: it is no part of a longer one.
            let mut at = 0;
            while at + 6 < name.len() {
                at += usize::from(name[at]) + 1;
            }
            at + 6 == name.len()
        }
    }

    /// The message of a reply; `None` for none.
    pub(super) fn reply(&self, reply: Reply) -> Option<Vec<u8>> {
        let (code, address) = match reply {
            Reply::Silence => return None,
            Reply::Code(code) => (code, None),
            Reply::Address(address) => {
                let kind = if address.is_ipv4() { A } else { AAAA };
                (0, Some(address).filter(|_| (self.kind, self.class) == (kind, IN)))
            }
        };
        let mut message = self.head[..2].to_vec();
        message.extend([REPLY | self.head[2] & RECURSION_DESIRED, RECURSION_AVAILABLE | code]);
        message.extend([0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
        message.extend(self.question);
        if let Some(address) = address {
            let data = match address {
                IpAddr::V4(v4) => v4.octets().to_vec(),
                IpAddr::V6(v6) => v6.octets().to_vec(),
            };
            message.extend(POINTER_TO_QUESTION);
            message.extend([self.kind, self.class].map(u16::to_be_bytes).as_flattened());
            // No lifetime: whoever asks again is answered anew.
            message.extend([0; 4]);
            message.extend((data.len() as u16).to_be_bytes());
            message.extend(data);
        }
        Some(message)
    }
}

/// The number of a message.
pub(super) fn id(bytes: &[u8]) -> Option<u16> {
    u16_at(bytes, 0)
}

/// Gives a message another number.
pub(super) fn set_id(bytes: &mut [u8], id: u16) {
    if let Some(place) = bytes.get_mut(..2) {
        place.copy_from_slice(&id.to_be_bytes());
    }
}

/// Sets the lifetimes of all records to 0, so that nobody remembers them. What cannot be read is left as it is.
pub(super) fn forget_lifetimes(bytes: &mut [u8]) {
    for place in lifetimes(bytes).unwrap_or_default() {
        bytes[place].fill(0);
    }
}

fn lifetimes(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut at = HEAD_BYTES;
    for _ in 0..u16_at(bytes, 4)? {
        at = after_name(bytes, at)? + 4;
    }
    let records: usize = [6, 8, 10].into_iter().filter_map(|at| u16_at(bytes, at)).map(usize::from).sum();
    let mut found = Vec::new();
    for _ in 0..records {
        at = after_name(bytes, at)?;
        let end = at + 10 + usize::from(u16_at(bytes, at + 8)?);
        bytes.get(at..end)?;
        // What stands there in OPT is no lifetime (RFC 6891 section 6.1.3).
        if u16_at(bytes, at)? != OPT {
            found.push(at + 4..at + 8);
        }
        at = end;
    }
    Some(found)
}

/// Where a name ends.
fn after_name(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        let length = *bytes.get(at)?;
        match length {
            0 => return Some(at + 1),
            // A pointer ends it.
            0xC0.. => return (at + 2 <= bytes.len()).then_some(at + 2),
            1..=63 => at += usize::from(length) + 1,
            64..0xC0 => return None,
        }
        if at - begin > NAME_BYTES_MAX {
            return None;
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(label.len() as u8);
            bytes.extend(label.bytes());
        }
        bytes.push(0);
        bytes.extend([kind, IN].map(u16::to_be_bytes).as_flattened());
        bytes
    }

    #[test]
    fn an_answer_repeats_the_question_and_has_no_lifetime() {
        let asked = query("www.Test", A);
        let address = Reply::Address(Ipv4Addr::LOCALHOST.into());
        let answer = Query::read(&asked).unwrap().reply(address).unwrap();
        assert_eq!(answer[..12], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..]);
        assert_eq!(answer[asked.len()..], [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
        let other = query("www.test", AAAA);
        let none = Query::read(&other).unwrap().reply(address).unwrap();
        assert_eq!((none[3] & 15, none[7], none.len()), (0, 0, other.len()));
        for code in [SERVFAIL, NXDOMAIN, REFUSED] {
            let failure = Query::read(&asked).unwrap().reply(Reply::Code(code)).unwrap();
            // Without an SOA nobody may remember that there is no such name (RFC 2308 section 5).
            assert_eq!((failure[3] & 15, &failure[6..12], failure.len()), (code, &[0; 6][..], asked.len()));
        }
        assert_eq!(Query::read(&asked).unwrap().reply(Reply::Silence), None);
    }

    #[test]
    fn names_below_test_are_known_by_whole_labels() {
        for (name, is_below) in [
            ("test", true),
            ("a.b.TEST", true),
            ("test.example", false),
            ("mytest", false),
            ("", false),
            ("xxxx\x04test", false),
        ] {
            assert_eq!(Query::read(&query(name, A)).unwrap().is_below_test(), is_below, "{name:?}");
        }
    }

    #[test]
    fn what_is_no_query_is_read_as_none_at_every_length() {
        let asked = query("www.test", A);
        for length in 0..asked.len() {
            assert_eq!(Query::read(&asked[..length]), None, "{length}");
        }
        for (place, byte) in [(2, 0x81), (2, 0x29), (5, 2), (12, 0x7f)] {
            let mut wrong = asked.clone();
            wrong[place] = byte;
            assert_eq!(Query::read(&wrong), None, "{place}");
        }
    }

    #[test]
    fn lifetimes_of_all_records_go_but_not_what_stands_there_in_edns() {
        let mut bytes = query("a.test", A);
        bytes[7] = 1;
        bytes[11] = 1;
        bytes.extend([0xC0, 12, 0, 1, 0, 1, 1, 2, 3, 4, 0, 4, 127, 0, 0, 1]);
        bytes.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
        let mut changed = bytes.clone();
        forget_lifetimes(&mut changed);
        let different: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != changed[at]).collect();
        let record = query("a.test", A).len();
        assert_eq!(different, [record + 6, record + 7, record + 8, record + 9]);
        for length in 0..bytes.len() {
            forget_lifetimes(&mut bytes.clone()[..length]);
        }
    }
}
