//! From the bytes of a query to the bytes of its answer.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use hickory_proto::op::{Edns, Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};

use crate::zone::{Found, Zone, ZoneOptions};

/// Bytes of the head of a message.
const HEAD_BYTES: usize = 12;
/// The size of a datagram without EDNS (RFC 1035), and the largest one (to avoid fragmentation).
const DATAGRAM_BYTES: u16 = 512;
const DATAGRAM_BYTES_MAX: u16 = 1232;

/// How a query came, which bounds its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// UDP, where a long answer is truncated.
    Udp,
    /// TCP, where every answer fits.
    Tcp,
}

/// Answers queries. It has no socket and no clock.
#[derive(Debug)]
pub struct Responder {
    zone: Zone,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    queries: AtomicU64,
    records: AtomicU64,
    empty: AtomicU64,
    no_name: AtomicU64,
    errors: AtomicU64,
    silent: AtomicU64,
    truncated: AtomicU64,
}

impl Responder {
    /// A responder for these domains.
    ///
    /// # Errors
    /// One line on options that make no zone.
    pub fn new(options: &ZoneOptions) -> Result<Responder, String> {
        Ok(Responder { zone: Zone::new(options)?, counts: Counts::default() })
    }

    /// The answer to a message, if it is to have one.
    pub fn answer(&self, query: &[u8], transport: Transport) -> Option<Vec<u8>> {
        self.counts.queries.fetch_add(1, Relaxed);
        let Some(mut answer) = self.message(query) else {
            self.counts.silent.fetch_add(1, Relaxed);
            return None;
        };
        let limit = match (transport, &answer.edns) {
            (Transport::Tcp, _) => u16::MAX,
            // Of the client's EDNS only its room is left in here.
            (Transport::Udp, Some(edns)) => edns.max_payload().clamp(DATAGRAM_BYTES, DATAGRAM_BYTES_MAX),
            (Transport::Udp, None) => DATAGRAM_BYTES,
        };
        if let Some(edns) = &mut answer.edns {
            edns.set_max_payload(DATAGRAM_BYTES_MAX);
        }
        let bytes = answer.to_vec().ok()?;
        if bytes.len() <= usize::from(limit) {
            return Some(bytes);
        }
        self.counts.truncated.fetch_add(1, Relaxed);
        answer.truncate().to_vec().ok()
    }

    /// Counts of questions and answers so far, by name.
    pub fn counts(&self) -> [(&'static str, u64); 7] {
        let Counts { queries, records, empty, no_name, errors, silent, truncated } = &self.counts;
        [
            ("queries", queries.load(Relaxed)),
            ("records", records.load(Relaxed)),
            ("empty", empty.load(Relaxed)),
            ("no_name", no_name.load(Relaxed)),
            ("errors", errors.load(Relaxed)),
            ("silent", silent.load(Relaxed)),
            ("truncated", truncated.load(Relaxed)),
        ]
    }

    fn message(&self, bytes: &[u8]) -> Option<Message> {
        let head = bytes.get(..HEAD_BYTES)?;
        let is_answer = head[2] & 0x80 != 0;
        if is_answer {
            // Two responders that answer each other's answers would never end.
            return None;
        }
        let Ok(query) = Message::from_vec(bytes) else {
            let id = u16::from_be_bytes([head[0], head[1]]);
            return Some(self.error(id, OpCode::Query, ResponseCode::FormErr));
        };
        let (id, op_code) = (query.metadata.id, query.metadata.op_code);
        if query.metadata.message_type != MessageType::Query {
            return None;
        }
        if op_code != OpCode::Query {
            return Some(self.error(id, op_code, ResponseCode::NotImp));
        }
        let [question] = &query.queries[..] else {
            return Some(self.error(id, op_code, ResponseCode::FormErr));
        };
        let mut answer = Message::response(id, op_code);
        answer.metadata.recursion_desired = query.metadata.recursion_desired;
        // Clients use it in place of a resolver, and some refuse a server that does not offer recursion.
        answer.metadata.recursion_available = true;
        answer.metadata.authoritative = true;
        answer.add_query(question.clone());
        if let Some(edns) = &query.edns {
            let mut own = Edns::new();
            own.set_max_payload(edns.max_payload());
            answer.set_edns(own);
            if edns.version() != 0 {
                // RFC 6891 section 6.1.3: the reply has the supported version and no answer.
                self.counts.errors.fetch_add(1, Relaxed);
                answer.metadata.response_code = ResponseCode::BADVERS;
                return Some(answer);
            }
        }
        if question.query_class() != DNSClass::IN || is_transfer(question.query_type()) {
            self.counts.errors.fetch_add(1, Relaxed);
            answer.metadata.response_code = ResponseCode::Refused;
            return Some(answer);
        }
        let count = match self.zone.find(question.name(), question.query_type()) {
            Found::Silence => return None,
            Found::Failure => {
                answer.metadata.response_code = ResponseCode::ServFail;
                &self.counts.errors
            }
            Found::NoName => {
                answer.metadata.response_code = ResponseCode::NXDomain;
                answer.add_authority(self.zone.authority());
                &self.counts.no_name
            }
            Found::Records(records) if records.is_empty() => {
                answer.add_authority(self.zone.authority());
                &self.counts.empty
            }
            Found::Records(records) => {
                answer.insert_answers(records);
                &self.counts.records
            }
        };
        count.fetch_add(1, Relaxed);
        Some(answer)
    }

    fn error(&self, id: u16, op_code: OpCode, code: ResponseCode) -> Message {
        self.counts.errors.fetch_add(1, Relaxed);
        Message::error_msg(id, op_code, code)
    }
}

fn is_transfer(record_type: RecordType) -> bool {
    matches!(record_type, RecordType::AXFR | RecordType::IXFR)
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::Query;
    use hickory_proto::rr::Name;

    use super::*;
    use crate::MailHost;

    fn responder() -> Responder {
        let hosts = MailHost::many(1).unwrap();
        Responder::new(&ZoneOptions { domains: 5, pattern: "d{}.test".into(), without_mx: 0, hosts }).unwrap()
    }

    fn query(name: &str, record_type: RecordType, room: Option<u16>) -> Vec<u8> {
        let mut query = Message::new(0x1234, MessageType::Query, OpCode::Query);
        query.metadata.recursion_desired = true;
        query.add_query(Query::query(Name::from_ascii(name).unwrap(), record_type));
        if let Some(room) = room {
            let mut edns = Edns::new();
            edns.set_max_payload(room);
            query.set_edns(edns);
        }
        query.to_vec().unwrap()
    }

    fn ask(query: &[u8], transport: Transport) -> Message {
        Message::from_vec(&responder().answer(query, transport).unwrap()).unwrap()
    }

    #[test]
    fn an_answer_repeats_the_question_as_it_was_written() {
        let answer = ask(&query("D3.tEsT.", RecordType::MX, None), Transport::Udp);
        assert_eq!((answer.metadata.id, answer.metadata.response_code), (0x1234, ResponseCode::NoError));
        assert_eq!(answer.queries[0].name().to_ascii(), "D3.tEsT.");
        assert_eq!(answer.answers[0].data.to_string(), "10 mx0.sink.test.");
        assert!(
            answer.metadata.recursion_desired && answer.metadata.recursion_available && answer.edns.is_none()
        );
    }

    #[test]
    fn what_is_not_there_is_told_with_its_lifetime() {
        let answer = ask(&query("d5.test.", RecordType::MX, Some(1232)), Transport::Udp);
        assert_eq!(answer.metadata.response_code, ResponseCode::NXDomain);
        assert_eq!((answer.answers.len(), answer.authorities.len()), (0, 1));
        assert!(answer.edns.is_some());
        let answer = ask(&query("d4.test.", RecordType::A, None), Transport::Udp);
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
        assert_eq!((answer.answers.len(), answer.authorities.len()), (0, 1));
    }

    #[test]
    fn a_later_version_of_edns_is_refused_with_the_version_that_there_is() {
        let mut asked = query("d3.test.", RecordType::MX, Some(1232));
        let version = asked.len() - 5;
        assert_eq!(asked[version], 0);
        asked[version] = 1;
        let answer = responder().answer(&asked, Transport::Udp).unwrap();
        let head = answer[3] & 0x0f;
        let opt = answer.len() - 6;
        // The code is 16: its upper bits and the version stand in the OPT record.
        assert_eq!((head, answer[opt], answer[opt + 1]), (0, 1, 0));
        assert!(ask(&asked, Transport::Udp).answers.is_empty());
    }

    #[test]
    fn an_answer_too_long_for_a_datagram_is_to_be_fetched_by_tcp() {
        let asked = query("many-mx.test.", RecordType::MX, Some(4096));
        let short = responder().answer(&asked, Transport::Udp).unwrap();
        assert!(short.len() <= 1232);
        let short = Message::from_vec(&short).unwrap();
        assert!(short.metadata.truncation && short.answers.is_empty());
        let long = ask(&asked, Transport::Tcp);
        assert!(!long.metadata.truncation && long.answers.len() == 60);
    }

    #[test]
    fn what_is_no_query_gets_an_error_or_nothing() {
        let code = |query: &[u8]| ask(query, Transport::Udp).metadata.response_code;
        let sound = query("d1.test.", RecordType::MX, None);
        assert_eq!(code(&sound[..sound.len() - 1]), ResponseCode::FormErr);
        assert_eq!(code(&sound[..HEAD_BYTES]), ResponseCode::FormErr);
        let mut update = sound.clone();
        update[2] |= 5 << 3;
        assert!(matches!(code(&update), ResponseCode::NotImp | ResponseCode::FormErr));
        assert_eq!(code(&query("d1.test.", RecordType::AXFR, None)), ResponseCode::Refused);
        assert_eq!(code(&query("servfail.test.", RecordType::MX, None)), ResponseCode::ServFail);
        let mut answer = sound.clone();
        answer[2] |= 0x80;
        for silent in [&sound[..HEAD_BYTES - 1], &answer, &query("silent.test.", RecordType::A, None)] {
            assert_eq!(responder().answer(silent, Transport::Tcp), None);
        }
    }

    #[test]
    fn every_query_is_counted_once_by_what_came_of_it() {
        let responder = responder();
        for name in
            ["d0.test.", "d9.test.", "no-mail.test.", "servfail.test.", "silent.test.", "many-mx.test."]
        {
            responder.answer(&query(name, RecordType::MX, None), Transport::Udp);
        }
        responder.answer(b"nonsense that is long enough", Transport::Udp);
        let counts = responder.counts().map(|(_, count)| count);
        assert_eq!(counts[0], counts[1..6].iter().sum::<u64>(), "{:?}", responder.counts());
        assert_eq!(counts[0], 7);
    }
}
