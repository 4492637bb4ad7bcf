//! DNS messages, as far as a forwarding resolver must know them. Their format is hickory-proto's.

use std::net::IpAddr;
use std::sync::LazyLock;

use hickory_proto::op::{Header, Message, MessageType, OpCode, Query as Question, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder, DecodeError};
use pitot_fault::Reply;

/// A query with one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Query {
    header: Header,
    question: Question,
}

impl Query {
    /// Reads a message; `None` unless it is a query with one question. The rest is not read.
    pub(super) fn read(bytes: &[u8]) -> Option<Query> {
        let mut decoder = BinDecoder::new(bytes);
        let header = Header::read(&mut decoder).ok()?;
        let is_query = (header.message_type, header.op_code, header.counts.queries)
            == (MessageType::Query, OpCode::Query, 1);
        let question = is_query.then(|| Question::read(&mut decoder).ok())??;
        Some(Query { header, question })
    }

    /// Whether the name is `test` or below it, which no resolver knows of any other (RFC 6761 section 6.2).
    pub(super) fn is_below_test(&self) -> bool {
        static TEST: LazyLock<Option<Name>> = LazyLock::new(|| Name::from_ascii("test.").ok());
        TEST.as_ref().is_some_and(|test| test.zone_of(self.question.name()))
    }

    /// The message of a reply; `None` for none.
    pub(super) fn reply(&self, reply: Reply) -> Option<Vec<u8>> {
        let mut message = Message::response(self.header.id, self.header.op_code);
        message.metadata.recursion_desired = self.header.recursion_desired;
        message.metadata.recursion_available = true;
        message.add_query(self.question.clone());
        match reply {
            Reply::Silence => return None,
            Reply::Failed => message.metadata.response_code = ResponseCode::ServFail,
            Reply::Refused => message.metadata.response_code = ResponseCode::Refused,
            Reply::NoName => message.metadata.response_code = ResponseCode::NXDomain,
            Reply::Address(address) => {
                let data = match address {
                    IpAddr::V4(v4) => RData::A(A(v4)),
                    IpAddr::V6(v6) => RData::AAAA(AAAA(v6)),
                };
                let asked = (self.question.query_type(), self.question.query_class());
                if asked == (data.record_type(), DNSClass::IN) {
                    // No lifetime: every repeated question gets a new answer.
                    message.add_answer(Record::from_rdata(self.question.name().clone(), 0, data));
                }
            }
        }
        message.to_vec().ok()
    }
}

/// The number of a message.
pub(super) fn id(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().map(|id| u16::from_be_bytes(*id))
}

/// Gives a message another number.
pub(super) fn set_id(bytes: &mut [u8], id: u16) {
    if let Some(place) = bytes.first_chunk_mut() {
        *place = id.to_be_bytes();
    }
}

/// Sets the lifetimes of all records to 0, so that they are not cached. All other bytes stay, including those that cannot be read.
pub(super) fn forget_lifetimes(bytes: &mut [u8]) {
    for at in lifetimes(bytes).unwrap_or_default() {
        bytes[at..at + 4].fill(0);
    }
}

/// Their positions.
fn lifetimes(bytes: &[u8]) -> Result<Vec<usize>, DecodeError> {
    let mut decoder = BinDecoder::new(bytes);
    let counts = Header::read(&mut decoder)?.counts;
    for _ in 0..counts.queries {
        Question::read(&mut decoder)?;
    }
    let mut found = Vec::new();
    for _ in 0..[counts.answers, counts.authorities, counts.additionals].map(usize::from).iter().sum() {
        Name::read(&mut decoder)?;
        let kind = RecordType::read(&mut decoder)?;
        DNSClass::read(&mut decoder)?;
        let at = decoder.index();
        decoder.read_u32()?;
        let length = decoder.read_u16()?.unverified();
        decoder.read_slice(usize::from(length))?;
        // In OPT this field is not a lifetime (RFC 6891 section 6.1.3).
        if kind != RecordType::OPT {
            found.push(at);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const TYPE_A: u16 = 1;
    const TYPE_AAAA: u16 = 28;
    const IN: u16 = 1;

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
        let asked = query("www.Test", TYPE_A);
        let address = Reply::Address(Ipv4Addr::LOCALHOST.into());
        let answer = Query::read(&asked).unwrap().reply(address).unwrap();
        assert_eq!(answer[..12], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        assert_eq!(answer[12..asked.len()], asked[12..]);
        assert_eq!(answer[asked.len()..], [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
        let other = query("www.test", TYPE_AAAA);
        let none = Query::read(&other).unwrap().reply(address).unwrap();
        assert_eq!((none[3] & 15, none[7], none.len()), (0, 0, other.len()));
        for (reply, code) in [(Reply::Failed, 2), (Reply::NoName, 3), (Reply::Refused, 5)] {
            let failure = Query::read(&asked).unwrap().reply(reply).unwrap();
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
            assert_eq!(Query::read(&query(name, TYPE_A)).unwrap().is_below_test(), is_below, "{name:?}");
        }
    }

    #[test]
    fn what_is_no_query_is_read_as_none_at_every_length() {
        let asked = query("www.test", TYPE_A);
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
        let mut bytes = query("a.test", TYPE_A);
        bytes[7] = 1;
        bytes[11] = 1;
        bytes.extend([0xC0, 12, 0, 1, 0, 1, 1, 2, 3, 4, 0, 4, 127, 0, 0, 1]);
        bytes.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
        let mut changed = bytes.clone();
        forget_lifetimes(&mut changed);
        let different: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] != changed[at]).collect();
        let record = query("a.test", TYPE_A).len();
        assert_eq!(different, [record + 6, record + 7, record + 8, record + 9]);
        for length in 0..bytes.len() {
            forget_lifetimes(&mut bytes.clone()[..length]);
        }
    }
}
