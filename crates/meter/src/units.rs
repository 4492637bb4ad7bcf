//! Durations, counts, sizes and rates as people type them: `500ms`, `10k`, `4KiB`, `5000rps`; and counts as people read
//! them.
//!
//! A duration always has its unit. Counts are decimal, sizes binary, and neither may be confused with the other.

use std::fmt;

use crate::Nanos;

/// A word that should have been a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    word: String,
    wanted: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.word, self.wanted)
    }
}

impl std::error::Error for UnitError {}

const DURATION: &str = "a duration (write it with its unit: 500us, 20ms, 30s, 2m, 24h, 14d)";
const COUNT: &str = "a count (write a whole number, or thousands and millions as 10k and 1M)";
const SIZE: &str = "a size (write bytes as 512, or with a binary unit: 4KiB, 1MiB, 2GiB)";
const RATE: &str = "a rate (write events per second as 500, 10k or 2500rps)";

/// A duration: a number, which may have a decimal point, and `ns`, `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// Anything else, and durations beyond 584 years.
pub fn duration(word: &str) -> Result<Nanos, UnitError> {
    let scale = |unit: &str| match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        "m" => Some(60e9),
        "h" => Some(3600e9),
        "d" => Some(86_400e9),
        _ => None,
    };
    scaled(word, scale, DURATION).map(Nanos)
}

/// A whole number, with `k` for thousands, `M` for millions or `G` for thousands of millions.
///
/// # Errors
/// [`UnitError`] for anything else, and for fractions of one (`1.5`; but `1.5k` is 1500).
pub fn count(word: &str) -> Result<u64, UnitError> {
    scaled(word, decimal, COUNT)
}

/// A number of bytes, with `KiB`, `MiB`, `GiB` or nothing.
///
/// # Errors
/// [`UnitError`] for anything else.
pub fn size(word: &str) -> Result<u64, UnitError> {
    let scale = |unit: &str| match unit {
        "" | "B" => Some(1.0),
        "KiB" => Some(1024.0),
        "MiB" => Some(1048576.0),
        "GiB" => Some(1073741824.0),
        _ => None,
    };
    scaled(word, scale, SIZE)
}

/// Events per second: a number, with optional `k`, `M` or `G`, and optional `rps` or `/s`.
///
/// # Errors
/// Anything else, and numbers that are not finite.
pub fn rate(word: &str) -> Result<f64, UnitError> {
    let bare = word.strip_suffix("rps").or_else(|| word.strip_suffix("/s")).unwrap_or(word);
    let (number, unit) = split(bare);
    match (number.parse::<f64>(), decimal(unit)) {
        (Ok(n), Some(scale)) if (n * scale).is_finite() => Ok(n * scale),
        _ => Err(UnitError { word: word.to_owned(), wanted: RATE }),
    }
}

fn decimal(unit: &str) -> Option<f64> {
    match unit {
        "" => Some(1.0),
        "k" => Some(1e3),
        "M" => Some(1e6),
        "G" => Some(1e9),
        _ => None,
    }
}

/// The number, without a sign or an exponent, and what follows it.
fn split(word: &str) -> (&str, &str) {
    word.split_at(word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len()))
}

fn scaled(word: &str, scale: impl Fn(&str) -> Option<f64>, wanted: &'static str) -> Result<u64, UnitError> {
    let (number, unit) = split(word);
    let exact = || {
        let scale = scale(unit)?;
        // Whole numbers never pass through a float, which would round large ones.
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(scale as u64);
        }
        let value = number.parse::<f64>().ok()? * scale;
        ((value - value.round()).abs() < 1e-6 * scale && value < 1e19).then(|| value.round() as u64)
    };
    exact().ok_or_else(|| UnitError { word: word.to_owned(), wanted })
}

/// A count with its thousands apart: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A span of time in words of people, in its two largest units: `3 d 4 h`, `2 min 5 s`, `12 s`.
pub fn span(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let first = units.iter().position(|(size, _)| whole >= *size).unwrap_or(units.len() - 1);
    let (size, name) = units[first];
    let text = format!("{} {name}", whole / size);
    match units.get(first + 1) {
        Some((next, name)) if whole % size / next > 0 => format!("{text} {} {name}", whole % size / next),
        _ => text,
    }
}

/// A count with its noun: `1 thread`, `4,000 addresses`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

/// Bytes with the binary unit that suits, in three digits: `512 B`, `4 KiB`, `1.25 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = (n.max(1).ilog2() as usize / 10).min(UNITS.len() - 1);
    let value = n as f64 / 1024f64.powi(power as i32);
    let decimals = match value {
        v if v.fract() == 0.0 || v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    let digits = format!("{value:.decimals$}");
    let digits = if decimals == 0 { &*digits } else { digits.trim_end_matches('0').trim_end_matches('.') };
    format!("{digits} {}", UNITS[power])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_agrees_with_its_count() {
        assert_eq!(counted(1, "reply", "replies"), "1 reply");
        assert_eq!(
            [0, 2, 4000].map(|n| counted(n, "thread", "threads")),
            ["0 threads", "2 threads", "4,000 threads"]
        );
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn durations() {
        for (word, n) in [
            ("1ns", 1),
            ("500us", 500_000),
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1s", 100_000_000),
            ("2m", 120_000_000_000),
            ("24h", 86_400_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(word), Ok(Nanos(n)), "{word}");
        }
        for word in ["", "5", "s", "-1s", "1 s", "1sec", "1e3s", "1..5s", "9999999999999h", "0.5ns", "+1s"] {
            assert!(duration(word).is_err(), "{word}");
        }
    }

    #[test]
    fn counts_are_decimal_and_sizes_binary() {
        assert_eq!(count("10k"), Ok(10_000));
        assert_eq!(count("1.5M"), Ok(1_500_000));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(size("4KiB"), Ok(4096));
        assert_eq!(size("512"), Ok(512));
        for word in ["1.5", "10K", "4KiB", "-3", ""] {
            assert!(count(word).is_err(), "{word}");
        }
        for word in ["4k", "4KB", "1.0001KiB", "MiB"] {
            assert!(size(word).is_err(), "{word}");
        }
    }

    #[test]
    fn rates() {
        for (word, r) in
            [("500", 500.0), ("2.5", 2.5), ("10k", 10_000.0), ("1000rps", 1000.0), ("5k/s", 5000.0)]
        {
            assert_eq!(rate(word), Ok(r), "{word}");
        }
        for word in ["", "rps", "-1", "1e3", "inf", "NaN", "10 rps", "10rpm"] {
            assert!(rate(word).is_err(), "{word}");
        }
    }

    #[test]
    fn an_error_says_what_to_write() {
        assert!(duration("30").unwrap_err().to_string().contains("30s"));
    }

    #[test]
    fn long_times_are_shown_in_words() {
        for (seconds, text) in [
            (0.2, "0 s"),
            (7.4, "7 s"),
            (80.0, "1 min 20 s"),
            (120.0, "2 min"),
            (3_700.0, "1 h 1 min"),
            (273_700.0, "3 d 4 h"),
        ] {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn sizes_are_shown_in_three_digits() {
        for (n, text) in [
            (0, "0 B"),
            (1000, "1000 B"),
            (1536, "1.5 KiB"),
            (4096, "4 KiB"),
            (10_342, "10.1 KiB"),
            (1_342_177_280, "1.25 GiB"),
            (1 << 40, "1 TiB"),
            (300 << 40, "300 TiB"),
        ] {
            assert_eq!(bytes(n), text);
        }
    }
}
