//! Questions for the address of a name, and their answers (RFC 1035 section 4), as far as a client needs them that connects
//! to an IPv4 address. A question is written once; only its number changes.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use pitot_meter::Nanos;
use pitot_results::Failure;

use crate::sample::ErrorKind;

/// Bytes of the head of a message.
const HEAD_BYTES: usize = 12;
/// The longest label, and the longest name with its lengths and its end (RFC 1035 section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;
const NAME_BYTES_MAX: usize = 255;
/// The longest answer that is taken: one without EDNS has no more (RFC 1035 section 4.2.1).
pub const ANSWER_BYTES: usize = 512;
/// Type A, class IN.
const A_IN: [u8; 4] = [0, 1, 0, 1];
/// How long the lookup before the run waits for an answer, and how often it asks.
const ATTEMPT: Duration = Duration::from_secs(1);

/// What is asked, and whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    pub(crate) resolver: SocketAddr,
    /// The message, with the number 0.
    question: Arc<[u8]>,
    pub(crate) port: u16,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameReply {
    /// Of the question.
    pub id: u16,
    /// The first address, or why there is none.
    pub address: Result<Ipv4Addr, ErrorKind>,
}

impl Lookup {
    /// Questions to this resolver for this host.
    pub fn new(resolver: SocketAddr, host: &str, port: u16) -> Result<Lookup, Failure> {
        if host.parse::<std::net::IpAddr>().is_ok() {
            return Err(Failure::misuse(
                format!("`{host}` is an address, and --resolver resolves names"),
                "write a name in the URL, such as http://www.test:8080/",
            ));
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        let is_label = |label: &str| (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.is_ascii();
        if !name.split('.').all(is_label) || name.len() + 2 > NAME_BYTES_MAX {
            return Err(Failure::misuse(
                format!("`{host}` is not a domain name"),
                "write its labels in ASCII, of 63 bytes at most each",
            ));
        }
        // Recursion is desired, and there is one question.
        let mut question = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            question.push(label.len() as u8);
            question.extend(label.bytes());
        }
        question.push(0);
        question.extend(A_IN);
        Ok(Lookup { resolver, question: question.into(), port })
    }

    /// The question with this number.
    pub fn question(&self, id: u16) -> Vec<u8> {
        let mut question = self.question.to_vec();
        question[..2].copy_from_slice(&id.to_be_bytes());
        question
    }

    /// A socket that is connected to the resolver.
    pub fn socket(&self) -> std::io::Result<UdpSocket> {
        let any: SocketAddr =
            if self.resolver.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = UdpSocket::bind(any)?;
        socket.connect(self.resolver)?;
        Ok(socket)
    }

    /// Reads an answer to this question. `None` for anything else.
    pub fn answer(&self, bytes: &[u8]) -> Option<NameReply> {
        let head = bytes.get(..HEAD_BYTES)?;
        let end = self.question.len();
        let is_ours = bytes.get(HEAD_BYTES..end)?.eq_ignore_ascii_case(&self.question[HEAD_BYTES..]);
        if head[2] & 0x80 == 0 || head[4..6] != [0, 1] || !is_ours {
            return None;
        }
        let address = match head[3] & 0x0F {
            0 => first_address(bytes, end, u16::from_be_bytes([head[6], head[7]])).ok_or("NODATA"),
            1 => Err("FORMERR"),
            2 => Err("SERVFAIL"),
            3 => Err("NXDOMAIN"),
            4 => Err("NOTIMP"),
            5 => Err("REFUSED"),
            _ => Err("RCODE"),
        };
        Some(NameReply {
            id: u16::from_be_bytes([head[0], head[1]]),
            address: address.map_err(ErrorKind::Word),
        })
    }

    /// Asks and waits, for `timeout` at most.
    pub fn now(&self, timeout: Nanos) -> Result<SocketAddr, Failure> {
        let failed = |why: String| {
            Failure::run(
                format!("the resolver {} has no address for the target: {why}", self.resolver),
                "check the resolver's address, and the name in the URL",
            )
        };
        let io = |e: std::io::Error| failed(e.to_string());
        let socket = self.socket().map_err(io)?;
        let mut buffer = [0; ANSWER_BYTES];
        let deadline = pitot_meter::now() + timeout;
        for id in 0.. {
            let left = Duration::from(deadline.since(pitot_meter::now()));
            if left.is_zero() {
                break;
            }
            socket.set_read_timeout(Some(left.min(ATTEMPT))).map_err(io)?;
            socket.send(&self.question(id)).map_err(io)?;
            match socket.recv(&mut buffer) {
                Ok(length) => match self.answer(&buffer[..length]) {
                    Some(NameReply { address: Ok(address), .. }) => return Ok((address, self.port).into()),
                    Some(NameReply { address: Err(why), .. }) => return Err(failed(why.name())),
                    None => {}
                },
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(io(e)),
            }
        }
        Err(failed("it does not answer".into()))
    }
}

/// The address of the first record that has one; aliases before it have led to it (RFC 1034 section 3.6.2).
fn first_address(bytes: &[u8], mut at: usize, records: u16) -> Option<Ipv4Addr> {
    for _ in 0..records {
        at = after_name(bytes, at)?;
        let fixed = bytes.get(at..at + 10)?;
        let data = bytes.get(at + 10..at + 10 + usize::from(u16::from_be_bytes([fixed[8], fixed[9]])))?;
        if fixed[..4] == A_IN
            && let Ok(octets) = <[u8; 4]>::try_from(data)
        {
            return Some(octets.into());
        }
        at += 10 + data.len();
    }
    None
}

/// Where a name ends.
fn after_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            // A pointer ends it.
            0xC0.. => return Some(at + 2),
            length => at += usize::from(length) + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup() -> Lookup {
        Lookup::new(([127, 0, 0, 1], 5353).into(), "www.Test", 80).unwrap()
    }

    /// An answer with this code and these records.
    fn answer(code: u8, records: &[&[u8]]) -> Vec<u8> {
        let mut bytes = lookup().question(7);
        (bytes[2], bytes[3], bytes[7]) = (0x81, 0x80 | code, records.len() as u8);
        bytes.extend(records.concat());
        bytes
    }

    const ALIAS: &[u8] = &[0xC0, 12, 0, 5, 0, 1, 0, 0, 0, 0, 0, 4, 1, b'a', 0xC0, 16];
    const ADDRESS: &[u8] = &[1, b'a', 0xC0, 16, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 9];

    #[test]
    fn an_address_is_found_behind_an_alias() {
        let read = lookup().answer(&answer(0, &[ALIAS, ADDRESS])).unwrap();
        assert_eq!((read.id, read.address), (7, Ok(Ipv4Addr::new(127, 0, 0, 9))));
    }

    #[test]
    fn what_has_no_address_says_why() {
        for (code, records, why) in
            [(0, &[ALIAS][..], "NODATA"), (2, &[], "SERVFAIL"), (3, &[], "NXDOMAIN"), (5, &[], "REFUSED")]
        {
            let read = lookup().answer(&answer(code, records)).unwrap();
            assert_eq!(read.address, Err(ErrorKind::Word(why)));
        }
    }

    #[test]
    fn what_answers_another_question_is_nothing_at_every_length() {
        let whole = answer(0, &[ALIAS, ADDRESS]);
        for length in 0..whole.len() {
            let read = lookup().answer(&whole[..length]);
            assert!(read.is_none_or(|read| read.address.is_err()), "{length}");
        }
        let other = Lookup::new(([127, 0, 0, 1], 5353).into(), "wwv.test", 80).unwrap();
        assert_eq!(other.answer(&whole), None);
        assert_eq!(lookup().answer(&lookup().question(7)), None, "a question is no answer");
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for host in ["a..b", "", &"x".repeat(64), "127.0.0.1", "::1", "ä.test"] {
            assert!(Lookup::new(([127, 0, 0, 1], 53).into(), host, 80).is_err(), "{host}");
        }
    }
}
