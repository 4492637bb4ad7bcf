//! Parsing and formatting of decimal numbers.

/// The digits of a number.
pub struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    /// Those of a number.
    #[inline]
    pub fn of(mut n: u64) -> Digits {
        let mut digits = Digits { bytes: [0; 20], start: 20 };
        loop {
            digits.start -= 1;
            digits.bytes[digits.start] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                return digits;
            }
        }
    }

    /// In ASCII.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Parses a number of digits only that fits.
#[inline]
pub fn unsigned(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |n, &b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parses a number as memcached does, with strtoull(3): after white space, with a sign, and up to white space. A
/// negative number is one modulo 2^64, and is refused unless that is below 2^63.
pub(super) fn wide(text: &[u8]) -> Option<u64> {
    let (is_negative, magnitude) = magnitude(text)?;
    let n = if is_negative { magnitude.wrapping_neg() } else { magnitude };
    (n < 1 << 63 || !text.contains(&b'-')).then_some(n)
}

/// The same for a number of which memcached keeps the lower 32 bits.
pub(super) fn lower_half(text: &[u8]) -> Option<u32> {
    wide(text).map(|n| n as u32)
}

/// Parses a signed number as memcached does, with strtol(3). It keeps the lower 32 bits.
pub(super) fn signed(text: &[u8]) -> Option<i32> {
    let (is_negative, magnitude) = magnitude(text)?;
    let n =
        if is_negative { 0i64.checked_sub_unsigned(magnitude)? } else { i64::try_from(magnitude).ok()? };
    Some(n as i32)
}

/// Whether a number has a minus sign, and its digits.
fn magnitude(text: &[u8]) -> Option<(bool, u64)> {
    let is_space = |&b: &u8| b == b' ' || (b'\t'..=b'\r').contains(&b);
    let start = text.iter().position(|b| !is_space(b))?;
    let (is_negative, digits) = match &text[start..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let end = digits.iter().position(is_space).unwrap_or(digits.len());
    Some((is_negative, unsigned(&digits[..end])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for n in [0, 1, 9, 10, 4_294_967_296, u64::MAX] {
            let digits = Digits::of(n);
            assert_eq!(digits.as_slice(), n.to_string().as_bytes());
            assert_eq!(unsigned(digits.as_slice()), Some(n));
        }
    }

    #[test]
    fn words_that_are_not_numbers() {
        for word in ["", "-1", "+1", "1 ", "x", "18446744073709551616", "1e3"] {
            assert_eq!(unsigned(word.as_bytes()), None, "{word:?}");
        }
    }

    #[test]
    fn numbers_are_read_as_strtol_reads_them() {
        for (text, n) in [
            ("7", Some(7)),
            ("+5", Some(5)),
            (" \t5", Some(5)),
            ("5 x", Some(5)),
            ("5\r\n", Some(5)),
            ("5x", None),
            ("-0", Some(0)),
            ("-1", None),
            ("-18446744073709551615", Some(1)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            (" ", None),
            ("+", None),
            ("+-1", None),
        ] {
            assert_eq!(wide(text.as_bytes()), n, "{text:?}");
        }
        assert_eq!((lower_half(b"4294967296"), lower_half(b"4294967297")), (Some(0), Some(1)));
        for (text, n) in [
            ("+5", Some(5)),
            ("-5", Some(-5)),
            ("2147483648", Some(i32::MIN)),
            ("4294967297", Some(1)),
            ("-9223372036854775808", Some(0)),
            ("-9223372036854775809", None),
            ("9223372036854775808", None),
            ("--1", None),
            ("-", None),
        ] {
            assert_eq!(signed(text.as_bytes()), n, "{text:?}");
        }
    }
}
