//! Grammar that several HTTP parsers share.

/// A character of a token (RFC 9110 section 5.6.2).
pub fn is_token_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

/// A byte of a field value (RFC 9110 section 5.5): no control character except tab.
pub const fn is_field_byte(b: u8) -> bool {
    b == b'\t' || (b >= b' ' && b != 0x7f)
}

/// `value` without surrounding spaces and tabs (OWS, RFC 9110 section 5.6.3).
pub fn trim(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// The elements of a comma-separated list, trimmed; empty ones are skipped (RFC 9110 section 5.6.1.2). Not for lists of
/// quoted strings.
pub fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&b| b == b',').map(trim).filter(|element| !element.is_empty())
}

/// A number of decimal digits, without sign or spaces. Numbers beyond a u64 saturate.
pub fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| {
        b.is_ascii_digit().then(|| n.saturating_mul(10).saturating_add(u64::from(b - b'0')))
    })
}

/// Appends `n` in decimal.
#[inline]
pub fn write_decimal(buf: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    buf.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_digits_and_saturate() {
        for (text, n) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("99999999999999999999999999999", Some(u64::MAX)),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1 ", None),
            ("1_0", None),
        ] {
            assert_eq!(decimal(text.as_bytes()), n, "{text:?}");
        }
    }

    #[test]
    fn a_written_decimal_reads_back() {
        for n in [0, 1, 9, 10, 99, 100, 1024, 1 << 30, u64::MAX] {
            let mut buf = Vec::new();
            write_decimal(&mut buf, n);
            assert_eq!(buf, n.to_string().as_bytes());
        }
    }

    #[test]
    fn lists_skip_what_is_empty() {
        let list: Vec<&[u8]> = elements(b" , a,\tb ,,c d, ").collect();
        assert_eq!(list, [&b"a"[..], b"b", b"c d"]);
    }
}
