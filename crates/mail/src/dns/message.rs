//! DNS messages (RFC 1035), written and read with hickory's types.

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

/// The answer that may come in one datagram (RFC 6891): what passes everywhere without fragments.
const PAYLOAD_BYTES: u16 = 1232;
/// The most hosts of one domain that are used, by preference.
const EXCHANGES_MAX: usize = 16;
/// The most addresses of one host that are used.
const ADDRESSES_MAX: usize = 16;

/// A type of record to look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its mail hosts.
    Mx,
    /// Its IPv4 addresses.
    A,
    /// Its IPv6 addresses.
    Aaaa,
}

impl Kind {
    fn record_type(self) -> RecordType {
        match self {
            Kind::Mx => RecordType::MX,
            Kind::A => RecordType::A,
            Kind::Aaaa => RecordType::AAAA,
        }
    }
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Records exist.
    Found(Records),
    /// The name exists and has none of that kind.
    NoData,
    /// The name does not exist.
    NoSuchName,
    /// The lookup failed for this reason; it may succeed later.
    Failed(String),
}

/// The records of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Mail hosts with their preference, smallest first; the name of a null MX (RFC 7505) is empty.
    pub exchanges: Vec<(u16, String)>,
    /// Addresses of the name.
    pub addresses: Vec<IpAddr>,
    /// Addresses that the answer gives of its mail hosts.
    pub glue: Vec<(String, IpAddr)>,
    /// How long it may be remembered.
    pub ttl_s: u32,
}

/// An answer and its question.
#[derive(Debug)]
pub(super) struct DnsReply {
    pub(super) id: u16,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// It does not fit a datagram: ask again over TCP.
    pub(super) truncated: bool,
    pub(super) lookup: Lookup,
}

/// The question as bytes; `None` if the name is invalid.
pub(super) fn question(id: u16, name: &str, kind: Kind) -> Option<Vec<u8>> {
    let mut name = Name::from_ascii(name).ok()?;
    name.set_fqdn(true);
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name, kind.record_type()));
    let mut edns = Edns::new();
    edns.set_max_payload(PAYLOAD_BYTES);
    message.edns = Some(edns);
    message.to_vec().ok()
}

/// A name as a key: lower case, without the dot at its end.
fn plain(name: &Name) -> String {
    let mut text = name.to_ascii().to_ascii_lowercase();
    if text.ends_with('.') {
        text.pop();
    }
    text
}

/// Reads an answer; none if the bytes are none.
pub(super) fn answer(bytes: &[u8]) -> Option<DnsReply> {
    let message = Message::from_vec(bytes).ok()?;
    let metadata = &message.metadata;
    let [query] = &*message.queries else { return None };
    let kind = [Kind::Mx, Kind::A, Kind::Aaaa].into_iter().find(|k| k.record_type() == query.query_type)?;
    if metadata.message_type != MessageType::Response || query.query_class != DNSClass::IN {
        return None;
    }
    let lookup = match metadata.response_code {
        ResponseCode::NoError => records(&message, kind),
        ResponseCode::NXDomain => Lookup::NoSuchName,
        code => Lookup::Failed(format!("the DNS server answered {}", code.to_str())),
    };
    Some(DnsReply { id: metadata.id, name: plain(&query.name), kind, truncated: metadata.truncation, lookup })
}

fn address(record: &Record) -> Option<IpAddr> {
    match &record.data {
        RData::A(a) => Some(IpAddr::V4(a.0)),
        RData::AAAA(a) => Some(IpAddr::V6(a.0)),
        _ => None,
    }
}

/// All records of that kind. A recursive server has followed aliases, so those of their targets are included.
fn records(message: &Message, kind: Kind) -> Lookup {
    let mut found = Records { ttl_s: u32::MAX, ..Records::default() };
    for record in message.answers.iter().filter(|r| r.record_type() == kind.record_type()) {
        match &record.data {
            RData::MX(mx) => found.exchanges.push((mx.preference, plain(&mx.exchange))),
            _ => found.addresses.extend(address(record)),
        }
        found.ttl_s = found.ttl_s.min(record.ttl);
    }
    if found.exchanges.is_empty() && found.addresses.is_empty() {
        return Lookup::NoData;
    }
    found.exchanges.sort_by_key(|(preference, _)| *preference);
    found.exchanges.truncate(EXCHANGES_MAX);
    found.addresses.truncate(ADDRESSES_MAX);
    if kind == Kind::Mx {
        let glue = message.additionals.iter().filter_map(|r| Some((plain(&r.name), address(r)?)));
        found.glue = glue.take(EXCHANGES_MAX * ADDRESSES_MAX).collect();
    }
    Lookup::Found(found)
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::rdata::{A, MX};

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn response(to: &[u8]) -> Message {
        let mut message = Message::from_vec(to).unwrap();
        message.metadata.message_type = MessageType::Response;
        message
    }

    #[test]
    fn exchanges_come_in_the_order_of_their_preference_with_their_glue() {
        let mut message = response(&question(7, "Example.TEST", Kind::Mx).unwrap());
        for (preference, exchange) in [(20, "b.test."), (10, "A.test.")] {
            let data = RData::MX(MX::new(preference, name(exchange)));
            message.add_answer(Record::from_rdata(name("example.test."), 60 + u32::from(preference), data));
        }
        let glue = Record::from_rdata(name("a.test."), 5, RData::A(A([127, 0, 0, 1].into())));
        message.add_additional(glue);
        let answer = answer(&message.to_vec().unwrap()).unwrap();
        assert_eq!((answer.id, &*answer.name, answer.kind), (7, "example.test", Kind::Mx));
        let Lookup::Found(records) = answer.lookup else { panic!("{:?}", answer.lookup) };
        assert_eq!(records.exchanges, [(10, "a.test".to_owned()), (20, "b.test".to_owned())]);
        assert_eq!(records.glue, [("a.test".to_owned(), "127.0.0.1".parse().unwrap())]);
        assert_eq!(records.ttl_s, 70);
    }

    #[test]
    fn an_empty_answer_a_missing_name_and_a_failure_are_told_apart() {
        let asked = question(1, "x.test", Kind::A).unwrap();
        let lookup = |code| {
            let mut message = response(&asked);
            message.metadata.response_code = code;
            answer(&message.to_vec().unwrap()).unwrap().lookup
        };
        assert_eq!(lookup(ResponseCode::NoError), Lookup::NoData);
        assert_eq!(lookup(ResponseCode::NXDomain), Lookup::NoSuchName);
        assert!(matches!(lookup(ResponseCode::ServFail), Lookup::Failed(_)));
    }

    #[test]
    fn what_is_no_answer_is_none() {
        let asked = question(1, "x.test", Kind::A).unwrap();
        assert!(answer(&asked).is_none(), "a question");
        assert!(answer(b"hello").is_none());
        assert!(question(1, &"a".repeat(64), Kind::A).is_none());
    }
}
