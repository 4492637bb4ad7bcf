//! A stream of bytes between a lab and an agent: what a plan's host would have on its standard input and output.
//!
//! It goes over plain subjects, without a queue, for it is worth nothing after either end is gone: a stream that has lost a
//! message ends, as a connection does, and the lab begins another. What the lab sends is signed message by message, since
//! an agent does what it says; the agent's answers are figures, which are trusted as those of jobs are.

use pitot_results::Failure;
use serde::{Deserialize, Serialize};

use crate::keys::{SigningKey, TrustedKey};

/// A signature begins with this, so that none of a job is one of a stream.
const OPENING: &[u8] = b"pitot stream opening 1\n";
const MESSAGE: &[u8] = b"pitot stream message 1\n";
/// Of Ed25519.
const SIGNATURE_BYTES: usize = 64;
const NUMBER_BYTES: usize = 8;
/// A longer piece is divided: the server takes messages of 1 MiB where it is not told otherwise.
pub(crate) const PIECE_BYTES_MAX: usize = 256 << 10;

/// What the lab asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Opening {
    /// Names the stream's subjects; drawn by the lab.
    pub(crate) session: String,
    pub(crate) agent: String,
    /// The agent's process, which it drew itself: an opening cannot be played back to another.
    pub(crate) instance: String,
}

/// What the agent answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct OpeningReply {
    /// Why there is no stream: a sentence.
    pub(crate) refused: Option<String>,
}

impl Opening {
    pub(crate) fn sealed(&self, key: &SigningKey) -> Vec<u8> {
        Opening::signed(&serde_json::to_vec(self).expect("plain data has a JSON form"), key)
    }

    /// A message with this body.
    pub(crate) fn signed(body: &[u8], key: &SigningKey) -> Vec<u8> {
        [&key.sign_as(OPENING, body)[..], body].concat()
    }

    /// The opening that a message is, if a trusted key has signed it. Nothing is read before that is known.
    pub(crate) fn open(message: &[u8], trusted: &[TrustedKey]) -> Result<Opening, &'static str> {
        let (signature, body) = message.split_at_checked(SIGNATURE_BYTES).ok_or("it is not signed")?;
        if !trusted.iter().any(|key| key.has_signed_as(OPENING, body, signature)) {
            return Err("it is not signed by a trusted key");
        }
        serde_json::from_slice(body).map_err(|_| "it is signed, but by another version of Pitot")
    }
}

/// Where the lab's bytes go to.
pub(crate) fn down(session: &str) -> String {
    format!("pitot.down.{session}")
}

/// Where the agent's bytes go to.
pub(crate) fn up(session: &str) -> String {
    format!("pitot.up.{session}")
}

/// Where an agent is asked for a stream.
pub(crate) fn openings(agent: &str) -> String {
    format!("pitot.open.{agent}")
}

/// A piece of the lab's bytes, the `number`th; an empty one ends them.
pub(crate) fn signed(key: &SigningKey, session: &str, number: u64, bytes: &[u8]) -> Vec<u8> {
    let body = numbered(number, bytes);
    [key.sign_as(MESSAGE, &[session.as_bytes(), b"\n", &body].concat()), body].concat()
}

/// A piece of the agent's bytes, the `number`th; an empty one ends them.
pub(crate) fn numbered(number: u64, bytes: &[u8]) -> Vec<u8> {
    [&number.to_be_bytes()[..], bytes].concat()
}

/// Number and bytes of a piece that a trusted key has signed for this stream.
pub(crate) fn verified<'a>(
    trusted: &[TrustedKey],
    session: &str,
    message: &'a [u8],
) -> Option<(u64, &'a [u8])> {
    let (signature, body) = message.split_at_checked(SIGNATURE_BYTES)?;
    let text = [session.as_bytes(), b"\n", body].concat();
    let is_signed = trusted.iter().any(|key| key.has_signed_as(MESSAGE, &text, signature));
    if is_signed { unnumbered(body) } else { None }
}

/// Number and bytes of a piece.
pub(crate) fn unnumbered(message: &[u8]) -> Option<(u64, &[u8])> {
    let (number, bytes) = message.split_at_checked(NUMBER_BYTES)?;
    Some((u64::from_be_bytes(number.try_into().ok()?), bytes))
}

/// Takes the pieces of one direction in their order.
#[derive(Debug, Default)]
pub(crate) struct Order(u64);

/// What a piece is to the order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Next,
    /// It was there before.
    Again,
    /// One before it was lost.
    TooFar,
}

impl Order {
    pub(crate) fn turn(&mut self, number: u64) -> Turn {
        match number.cmp(&self.0) {
            std::cmp::Ordering::Less => Turn::Again,
            std::cmp::Ordering::Greater => Turn::TooFar,
            std::cmp::Ordering::Equal => {
                self.0 += 1;
                Turn::Next
            }
        }
    }
}

/// A name that nobody else draws.
pub(crate) fn drawn() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|e| Failure::run(format!("/dev/urandom cannot be read: {e}"), "see why it is not there"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_counts_only_if_it_was_signed_for_its_stream_and_place() {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::create(&dir.path().join("a")).unwrap();
        let other = SigningKey::create(&dir.path().join("b")).unwrap();
        let trusted = [TrustedKey::parse(&key.public()).unwrap()];
        let piece = signed(&key, "s", 7, b"hello");
        assert_eq!(verified(&trusted, "s", &piece), Some((7, &b"hello"[..])));
        assert_eq!(verified(&trusted, "t", &piece), None);
        assert_eq!(verified(&trusted, "s", &signed(&other, "s", 7, b"hello")), None);
        for at in 0..piece.len() {
            let mut forged = piece.clone();
            forged[at] ^= 1;
            assert_eq!(verified(&trusted, "s", &forged), None, "{at}");
            assert_eq!(verified(&trusted, "s", &piece[..at]), None, "{at}");
        }
    }

    #[test]
    fn an_opening_is_signed_and_no_signature_of_something_else_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::create(&dir.path().join("a")).unwrap();
        let trusted = [TrustedKey::parse(&key.public()).unwrap()];
        let opening = Opening { session: "s".into(), agent: "a".into(), instance: "i".into() };
        assert_eq!(Opening::open(&opening.sealed(&key), &trusted), Ok(opening.clone()));
        assert!(Opening::open(&opening.sealed(&key), &[]).is_err(), "nobody is trusted");
        let body = serde_json::to_vec(&opening).unwrap();
        for signature in [key.sign(&body), key.sign_as(MESSAGE, &body), Vec::new()] {
            assert!(Opening::open(&[signature, body.clone()].concat(), &trusted).is_err());
        }
    }

    #[test]
    fn pieces_are_taken_once_and_a_gap_is_seen() {
        let mut order = Order::default();
        let turns = [0, 1, 1, 0, 2, 4].map(|number| order.turn(number));
        assert_eq!(turns, [Turn::Next, Turn::Next, Turn::Again, Turn::Again, Turn::Next, Turn::TooFar]);
        assert_eq!(unnumbered(&numbered(3, b"x")), Some((3, &b"x"[..])));
        assert_eq!(unnumbered(b"1234567"), None);
    }

    #[test]
    fn names_are_tokens_of_subjects() {
        let (one, other) = (drawn().unwrap(), drawn().unwrap());
        assert!(one != other && crate::is_name(&one), "{one}");
    }
}
