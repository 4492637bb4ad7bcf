//! `/delay/TIME`: the reply comes after this time, like that of a slow backend. The connection waits, and its worker serves
//! others as far as its architecture can.

use std::time::Duration;

use super::syntax::{decimal, write_decimal};

/// The prefix of its path.
pub(super) const PREFIX: &[u8] = b"/delay/";
/// The longest delay.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(60);
/// The reason to refuse a longer one.
pub(super) const TOO_MUCH: &str = "the longest delay is 60s";

/// The units, the longest first.
const UNITS: [(&[u8], u64); 3] = [(b"ms", 1_000), (b"us", 1), (b"s", 1_000_000)];

/// The rest of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// A delay.
    For(Duration),
    /// More than [`DELAY_MAX`].
    TooMuch,
    /// Not a time: the path is that of a file.
    Nothing,
}

/// Reads a time: a whole number of `us`, `ms` or `s`.
pub(super) fn parse(time: &[u8]) -> Asked {
    let read = UNITS.iter().find_map(|(unit, us)| Some((decimal(time.strip_suffix(*unit)?)?, us)));
    let Some((count, us)) = read else { return Asked::Nothing };
    match count.checked_mul(*us).map(Duration::from_micros) {
        Some(delay) if delay <= DELAY_MAX => Asked::For(delay),
        _ => Asked::TooMuch,
    }
}

/// The content of the reply.
pub(super) fn content(delay: Duration) -> Vec<u8> {
    let us = delay.as_micros() as u64;
    let (count, unit) = match us {
        0 => (0, " s"),
        us if us.is_multiple_of(1_000_000) => (us / 1_000_000, " s"),
        us if us.is_multiple_of(1_000) => (us / 1_000, " ms"),
        us => (us, " us"),
    };
    let mut content = b"after ".to_vec();
    write_decimal(&mut content, count);
    content.extend_from_slice(unit.as_bytes());
    content.push(b'\n');
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_a_bound_and_anything_else_is_a_file() {
        for (text, asked) in [
            ("100ms", Asked::For(Duration::from_millis(100))),
            ("250us", Asked::For(Duration::from_micros(250))),
            ("2s", Asked::For(Duration::from_secs(2))),
            ("0ms", Asked::For(Duration::ZERO)),
            ("60s", Asked::For(DELAY_MAX)),
            ("60000001us", Asked::TooMuch),
            ("99999999999999999999s", Asked::TooMuch),
            ("3", Asked::Nothing),
            ("ms", Asked::Nothing),
            ("1.5s", Asked::Nothing),
            ("-1s", Asked::Nothing),
            ("1s/x", Asked::Nothing),
            ("", Asked::Nothing),
        ] {
            assert_eq!(parse(text.as_bytes()), asked, "{text}");
        }
        assert_eq!(content(Duration::from_millis(1500)), b"after 1500 ms\n");
        assert_eq!(content(Duration::from_secs(2)), b"after 2 s\n");
    }
}
