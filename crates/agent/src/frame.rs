//! Messages on a byte stream: a line of JSON each.

use std::io::{self, BufRead, Read, Write};

use pitot_results::printable_start;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum length of a message. The longest are the samples of a repetition: about 800 bytes each, at most 100 a second.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Maximum length of an invalid message in an error.
const SHOWN_CHARS: usize = 60;
/// Maximum length of the parser's error, which may quote the message.
const REASON_CHARS: usize = 200;

/// Why no message could be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream itself failed.
    #[error("the stream failed: {0}")]
    Stream(#[from] io::Error),
    /// A message is longer than allowed.
    #[error("a message is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// The stream ended within a message.
    #[error("the stream ended within a message")]
    CutShort,
    /// A line is not one of the expected messages.
    #[error("`{line}` is not a message: {reason}")]
    Malformed {
        /// Its beginning.
        line: String,
        /// What the parser says.
        reason: String,
    },
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// If the next line is not such a message. Do not read further after an error.
pub fn read<T: DeserializeOwned>(stream: &mut impl BufRead) -> Result<Option<T>, FrameError> {
    let mut line = Vec::new();
    let limit = MESSAGE_BYTES_MAX as u64 + 1;
    stream.take(limit).read_until(b'\n', &mut line)?;
    match line.pop() {
        None => return Ok(None),
        Some(b'\n') => {}
        Some(_) if line.len() >= MESSAGE_BYTES_MAX => return Err(FrameError::TooLong),
        Some(_) => return Err(FrameError::CutShort),
    }
    serde_json::from_slice(&line).map(Some).map_err(|e| FrameError::Malformed {
        line: printable_start(&String::from_utf8_lossy(&line), SHOWN_CHARS),
        reason: printable_start(&e.to_string(), REASON_CHARS),
    })
}

/// Writes a message in one write.
///
/// # Errors
/// If the stream cannot be written.
pub fn write<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Ask, Reply, Request, Role};

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut stream = &bytes[..];
            while let Ok(Some(_)) = read::<Request>(&mut stream) {}
            let mut stream = &bytes[..];
            while let Ok(Some(_)) = read::<Reply>(&mut stream) {}
        }

        #[test]
        fn a_message_that_was_changed_anywhere_is_read_or_refused(at in 0usize..200, byte in any::<u8>()) {
            let mut line = Vec::new();
            let ask = Ask::WriteLine { role: Role::Helper(3), line: "open c1 http://10.0.0.1:80/".into() };
            write(&mut line, &Request::Call { executor: 7, ask }).unwrap();
            let at = at % line.len();
            line[at] = byte;
            let _ = read::<Request>(&mut &line[..]);
        }

        #[test]
        fn what_is_written_is_read(line in ".{0,200}", executor in any::<u32>()) {
            let request = Request::Call { executor, ask: Ask::WriteLine { role: Role::Load, line } };
            let mut stream = Vec::new();
            write(&mut stream, &request).unwrap();
            write(&mut stream, &Request::Ping).unwrap();
            let mut stream = &stream[..];
            prop_assert_eq!(read(&mut stream).unwrap(), Some(request));
            prop_assert_eq!(read(&mut stream).unwrap(), Some(Request::Ping));
            prop_assert!(read::<Request>(&mut stream).unwrap().is_none());
        }
    }

    #[test]
    fn a_message_without_an_end_does_not_fill_the_memory() {
        let mut endless = io::BufReader::new(io::repeat(b'x'));
        assert!(matches!(read::<Request>(&mut endless), Err(FrameError::TooLong)));
    }

    #[test]
    fn a_deep_message_does_not_overflow_the_stack() {
        let deep = format!("{}\n", "[".repeat(1_000_000));
        assert!(matches!(read::<Reply>(&mut deep.as_bytes()), Err(FrameError::Malformed { .. })));
    }

    #[test]
    fn half_a_message_is_not_taken_for_a_whole_one() {
        assert!(matches!(read::<Request>(&mut &b"\"ping\""[..]), Err(FrameError::CutShort)));
        let error = read::<Request>(&mut &b"Permission \x1b[1mdenied\n"[..]).unwrap_err().to_string();
        assert!(error.starts_with(r"`Permission \x1b[1mdenied` is not a message"), "{error}");
    }

    #[test]
    fn an_error_shows_a_short_beginning_of_what_was_sent_and_no_code_of_a_terminal() {
        // The parser repeats the word that it does not know.
        let word = format!("\\u001b]0;owned\\u0007\\u202e{}", "x".repeat(1_000_000));
        let error = read::<Reply>(&mut format!("\"{word}\"\n").as_bytes()).unwrap_err().to_string();
        assert!(error.len() < 1000, "{} bytes", error.len());
        assert_eq!(pitot_results::printable(&error), error);
        assert!(error.contains(r"unknown variant `\x1b]0;owned\x07\u202exxx"), "{error}");
    }
}
