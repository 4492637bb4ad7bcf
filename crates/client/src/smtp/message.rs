//! A message as sent after DATA (RFC 5321 section 4.5.2).

/// A message with CR LF line ends, dots doubled at the beginning of lines, and the final line with a dot.
///
/// A lone CR or LF becomes a line end. Sent unchanged, some servers would take it for a line end and others not, which allows
/// to smuggle a second message into the first.
pub fn data_of(message: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + message.len() / 32 + 8);
    let mut rest = message;
    while !rest.is_empty() {
        let end = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).unwrap_or(rest.len());
        if rest[0] == b'.' {
            out.push(b'.');
        }
        out.extend_from_slice(&rest[..end]);
        out.extend_from_slice(b"\r\n");
        rest = match &rest[end..] {
            [b'\r', b'\n', after @ ..] | [_, after @ ..] => after,
            [] => &[],
        };
    }
    out.extend_from_slice(b".\r\n");
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_end_in_cr_lf_and_their_first_dot_is_doubled() {
        for (message, data) in [
            ("", ".\r\n"),
            ("a", "a\r\n.\r\n"),
            ("a\nb\r\nc\rd\r\n", "a\r\nb\r\nc\r\nd\r\n.\r\n"),
            (".\n..\na.b", "..\r\n...\r\na.b\r\n.\r\n"),
            ("\r\n.\r\n", "\r\n..\r\n.\r\n"),
            ("\n\r", "\r\n\r\n.\r\n"),
        ] {
            assert_eq!(String::from_utf8(data_of(message.as_bytes())).unwrap(), data, "{message:?}");
        }
    }

    proptest! {
        #[test]
        fn no_message_ends_before_its_end(message in proptest::collection::vec("[.a\r\n]", 0..40)) {
            let data = data_of(message.concat().as_bytes());
            let text = String::from_utf8(data).unwrap();
            let body = text.strip_suffix(".\r\n").unwrap();
            prop_assert!(body.is_empty() || body.ends_with("\r\n"));
            let lines: Vec<&str> = body.split_terminator("\r\n").collect();
            prop_assert!(lines.iter().all(|line| *line != "." && !line.contains(['\r', '\n'])));
        }
    }
}
