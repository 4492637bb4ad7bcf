//! The extent of a record (RFC 8446 section 5.1).

use crate::Fault;

/// Type, version and length.
const HEADER: usize = 5;
/// The longest record (RFC 5246 section 6.2.3).
const LENGTH_MAX: usize = (1 << 14) + 2048;

/// The first record of the input; `None` if it is incomplete.
///
/// # Errors
/// The input is not a record.
pub(super) fn first(input: &[u8]) -> Result<Option<&[u8]>, Fault> {
    // change_cipher_spec, alert, handshake, application_data.
    let begins_well = match input {
        [] => true,
        [kind] => matches!(kind, 20..=23),
        [kind, major, ..] => matches!(kind, 20..=23) && *major == 3,
    };
    if !begins_well {
        return Err(Fault::Named("not-tls"));
    }
    let [_, _, _, high, low, ..] = *input else { return Ok(None) };
    let length = usize::from(high) << 8 | usize::from(low);
    if length > LENGTH_MAX {
        return Err(Fault::Named("record-too-large"));
    }
    Ok(input.get(..HEADER + length))
}

/// The name of an answer that is not TLS.
pub(super) fn stranger(input: &[u8]) -> &'static str {
    if input.starts_with(b"HTTP/") { "plain-http" } else { "not-tls" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_as_long_as_its_header_says() {
        let record = [22, 3, 3, 0, 2, 7, 7, 23];
        for n in 0..7 {
            assert_eq!(first(&record[..n]), Ok(None), "{n}");
        }
        assert_eq!(first(&record), Ok(Some(&record[..7])));
        assert_eq!(first(&[23, 3, 3, 0, 0]), Ok(Some(&[23, 3, 3, 0, 0][..])));
    }

    #[test]
    fn other_protocols_are_recognised_by_their_first_bytes() {
        for text in ["H", "HTTP/1.1 400 Bad Request\r\n", "220 ready", "\x17\x02", "-ERR"] {
            assert_eq!(first(text.as_bytes()), Err(Fault::Named("not-tls")), "{text:?}");
        }
        assert_eq!(first(&[23, 3, 3, 0xff, 0xff]), Err(Fault::Named("record-too-large")));
        assert_eq!((stranger(b"HTTP/1.1 400"), stranger(b"220 ")), ("plain-http", "not-tls"));
    }
}
