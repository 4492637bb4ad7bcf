//! Parsing and formatting of decimal numbers.

/// The digits of a number.
pub(crate) struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    pub(crate) fn of(mut n: u64) -> Digits {
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

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Parses a number of digits only that fits.
pub(crate) fn unsigned(word: &[u8]) -> Option<u64> {
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

/// Parses a number that may have a minus sign.
pub(super) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(unsigned(digits)?),
        None => i64::try_from(unsigned(word)?).ok(),
    }
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
        assert_eq!(signed(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed(b"-9223372036854775809"), None);
        assert_eq!(signed(b"9223372036854775808"), None);
        assert_eq!((signed(b"--1"), signed(b"-")), (None, None));
    }
}
