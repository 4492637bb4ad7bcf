//! Which requests of a run were acknowledged by the server, where each had a name of its own (`pitot load --receipts`).

use serde::{Deserialize, Serialize};

/// What every name begins with.
const BEGINNING: &str = "receipt-";
/// `receipt-`, six digits of the process, `-`, six of the connection.
const CONNECTION_LENGTH: usize = BEGINNING.len() + 6 + 1 + 6;
/// Digits of a request's number, behind one more `-`.
const NUMBER_LENGTH: usize = 10;

/// What a server has acknowledged, and therefore must have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipts {
    /// What the requests were.
    pub of: Kept,
    /// The length of what it keeps of each request: an upload's body; of mail the text below the header, with LF at the ends of
    /// lines and without empty lines at its end.
    pub bytes: u64,
    /// The SHA-256 of that, hexadecimal.
    pub sha256: String,
    /// By connection; those that replaced each other are one.
    pub connections: Vec<Acknowledged>,
}

/// What a server keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// Files, whose names are those of the requests.
    #[default]
    Uploads,
    /// Messages, with the names of the requests in their headers.
    Mail,
}

/// What was acknowledged on a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Acknowledged {
    /// What the names of its requests begin with: `receipt-0004d2-00001f`, the numbers of process and connection.
    pub connection: String,
    /// The numbers of the requests that were answered right: ranges with their last number, in ascending order.
    pub numbers: Vec<(u64, u64)>,
}

impl Receipts {
    /// Adds what was acknowledged later.
    pub fn add(&mut self, later: &Receipts) {
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
}

/// Adds a range of numbers behind those that are known.
pub fn add_range(numbers: &mut Vec<(u64, u64)>, (first, last): (u64, u64)) {
    match numbers.last_mut() {
        Some((_, end)) if *end + 1 == first => *end = last,
        _ => numbers.push((first, last)),
    }
}

/// The name of a request, found in the name of a file or in the header of a mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReceiptName<'t> {
    /// What it has in common with the others of its connection.
    pub connection: &'t str,
    /// Its number on that connection.
    pub number: u64,
}

impl<'t> ReceiptName<'t> {
    /// The first name in a text.
    pub fn find(text: &'t str) -> Option<ReceiptName<'t>> {
        text.match_indices(BEGINNING).find_map(|(at, _)| {
            let connection = text.get(at..at + CONNECTION_LENGTH)?;
            let number = text.get(at + CONNECTION_LENGTH..at + CONNECTION_LENGTH + 1 + NUMBER_LENGTH)?;
            let number = u64::from_str_radix(number.strip_prefix('-')?, 16).ok()?;
            Some(ReceiptName { connection, number })
        })
    }
}

/// The text of a mail below its header, however the ends of its lines were stored and whatever was put into the header: with LF at
/// the ends of lines, and without empty lines at its end. Empty if nothing separates it from the header.
pub fn mail_text(mail: &[u8]) -> Vec<u8> {
    let text: Vec<u8> = mail.iter().copied().filter(|b| *b != b'\r').collect();
    let below = text.windows(2).position(|w| w == b"\n\n").map_or(&[][..], |at| &text[at + 2..]);
    let end = below.iter().rposition(|b| *b != b'\n').map_or(0, |last| last + 1);
    below[..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        let name = |connection, number| Some(ReceiptName { connection, number });
        let of_mail = "Received: by mx\r\nMessage-ID: <receipt-0004d2-00001f-00000003e8@pitot.invalid>\r\n";
        assert_eq!(ReceiptName::find(of_mail), name("receipt-0004d2-00001f", 1000));
        assert_eq!(
            ReceiptName::find("receipt-x receipt-000001-000002-0000000000.dat"),
            name("receipt-000001-000002", 0)
        );
        for none in
            ["", "receipt-", "receipt-000001-000002-", "receipt-000001-000002-00000000zz", "über receipt-ü"]
        {
            assert_eq!(ReceiptName::find(none), None, "{none}");
        }
    }

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
    fn ranges_are_counted_with_their_ends() {
        let numbers = vec![(0, 0), (2, 4)];
        let connections = vec![Acknowledged { numbers, ..Acknowledged::default() }; 2];
        assert_eq!(Receipts { connections, ..Receipts::default() }.count(), 8);
    }
}
