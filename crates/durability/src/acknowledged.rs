//! Requests that a server has acknowledged, and what it must have stored of each.

use ring::digest;
use serde::{Deserialize, Serialize};

use crate::name::RequestName;

/// What a server has acknowledged, and therefore must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Acknowledged {
    /// What the requests were.
    pub of: Stored,
    /// The stored length of each request, bytes: the body of an upload, or the text of a mail below the header, with LF at the ends of
    /// lines and without empty lines at its end.
    pub bytes: u64,
    /// The SHA-256 of that, hexadecimal.
    pub sha256: String,
    /// By connection; those that replaced each other are one.
    pub connections: Vec<OfConnection>,
}

/// What a server stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stored {
    /// Files, named after the requests.
    #[default]
    Uploads,
    /// Messages, with the names of the requests in their headers.
    Mail,
}

/// The acknowledged requests of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OfConnection {
    /// The prefix of its request names: `request-0004d2-00001f`, with the numbers of process and connection.
    pub connection: String,
    /// The numbers of the requests that were answered right: ranges with their last number, in ascending order.
    pub numbers: Vec<(u64, u64)>,
}

impl Stored {
    /// What one and several of them are called.
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Stored::Uploads => ("upload", "uploads"),
            Stored::Mail => ("mail", "mails"),
        }
    }
}

impl Acknowledged {
    /// No acknowledgement yet. `content` is what is stored of each request: the body of an upload, or a mail with its header.
    pub fn nothing(of: Stored, content: &[u8]) -> Acknowledged {
        let (bytes, sha256) = match of {
            Stored::Uploads => length_and_sha256(content),
            Stored::Mail => length_and_sha256(&mail_text(content)),
        };
        Acknowledged { of, bytes, sha256, connections: Vec::new() }
    }

    /// Adds later acknowledgements.
    pub fn add(&mut self, later: &Acknowledged) {
        for more in &later.connections {
            match self.connections.iter_mut().find(|known| known.connection == more.connection) {
                None => self.connections.push(more.clone()),
                Some(known) => more.numbers.iter().for_each(|range| add_range(&mut known.numbers, *range)),
            }
        }
    }

    /// How many requests were acknowledged.
    pub fn count(&self) -> u64 {
        self.connections
            .iter()
            .flat_map(|c| &c.numbers)
            .map(|(first, last)| (last + 1).saturating_sub(*first))
            .sum()
    }

    /// Whether a file or a message is what was sent. Header fields added by a server do not count.
    pub(crate) fn is_whole(&self, content: &[u8]) -> bool {
        let (bytes, sha256) = match self.of {
            Stored::Uploads => length_and_sha256(content),
            Stored::Mail => length_and_sha256(&mail_text(content)),
        };
        (bytes, &sha256) == (self.bytes, &self.sha256)
    }
}

impl OfConnection {
    /// Whether a request is among them.
    pub(crate) fn holds(&self, name: RequestName<'_>) -> bool {
        let behind = self.numbers.partition_point(|(first, _)| *first <= name.number);
        behind > 0 && name.number <= self.numbers[behind - 1].1
    }
}

/// Adds a range of numbers behind those that are known.
pub fn add_range(numbers: &mut Vec<(u64, u64)>, (first, last): (u64, u64)) {
    match numbers.last_mut() {
        Some((_, end)) if *end + 1 == first => *end = last,
        _ => numbers.push((first, last)),
    }
}

fn length_and_sha256(content: &[u8]) -> (u64, String) {
    let sha256 = digest::digest(&digest::SHA256, content);
    (content.len() as u64, sha256.as_ref().iter().map(|b| format!("{b:02x}")).collect())
}

/// The text of a mail below its header, however the ends of its lines were stored and whatever was put into the header: with LF at
/// the ends of lines, and without empty lines at its end. Empty if nothing separates it from the header.
fn mail_text(mail: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = mail.iter().copied().filter(|b| *b != b'\r').collect();
    let below = text.windows(2).position(|w| w == b"\n\n").map_or(&[][..], |at| &text[at + 2..]);
    let end = below.iter().rposition(|b| *b != b'\n').map_or(0, |last| last + 1);
    below[..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_mail_is_the_same_however_it_is_stored() {
        for mail in
            ["A: b\r\n\r\none\r\n\r\ntwo\r\n", "Received: x\nA: b\n\none\n\ntwo", "A: b\n\none\n\ntwo\n\n"]
        {
            assert_eq!(mail_text(mail.as_bytes()), b"one\n\ntwo", "{mail:?}");
        }
        assert_eq!(mail_text(b"no header"), b"");
        assert_eq!(mail_text(b"A: b\r\n\r\n"), b"");
    }

    #[test]
    fn of_a_mail_the_text_is_stored_and_of_an_upload_all() {
        let mail = Acknowledged::nothing(Stored::Mail, b"A: b\r\n\r\nabc\r\n");
        let upload = Acknowledged::nothing(Stored::Uploads, b"abc");
        assert_eq!((mail.of, mail.bytes), (Stored::Mail, 3));
        assert_eq!((upload.of, &upload.sha256), (Stored::Uploads, &mail.sha256));
        assert!(mail.is_whole(b"Received: x\nA: b\n\nabc\n") && !mail.is_whole(b"abc"));
        assert!(upload.is_whole(b"abc") && !upload.is_whole(b"abd") && !upload.is_whole(b"ab"));
    }

    #[test]
    fn ranges_are_counted_with_their_ends() {
        let numbers = vec![(0, 0), (2, 4)];
        let connections = vec![OfConnection { numbers, ..OfConnection::default() }; 2];
        assert_eq!(Acknowledged { connections, ..Acknowledged::default() }.count(), 8);
    }

    #[test]
    fn a_number_is_in_a_range_or_between_two() {
        let holds = |numbers: &[(u64, u64)], number| {
            let connection = OfConnection { connection: "c".into(), numbers: numbers.to_vec() };
            connection.holds(RequestName { connection: "c", number })
        };
        let inside: Vec<u64> = (0..9).filter(|n| holds(&[(1, 1), (4, 6)], *n)).collect();
        assert_eq!(inside, [1, 4, 5, 6]);
        assert!(!holds(&[], 0));
    }
}
