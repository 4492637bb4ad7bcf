//! Durations, counts and sizes as plans spell them, beyond what `pitot_meter::units` does.

use pitot_meter::{Nanos, units};

/// The number in a level, for an axis: a count, else a size in bytes, else a duration in seconds.
pub fn number(text: &str) -> Option<f64> {
    let whole = |n: u64| n as f64;
    text.parse()
        .ok()
        .filter(|n: &f64| n.is_finite())
        .or_else(|| units::count(text).ok().map(whole))
        .or_else(|| units::size(text).ok().map(whole))
        .or_else(|| units::duration(text).ok().map(Nanos::as_secs_f64))
        .or_else(|| units::rate(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_become_numbers_where_they_are_numbers() {
        assert_eq!(number("1000"), Some(1000.0));
        assert_eq!(number("10k"), Some(10_000.0));
        assert_eq!(number("4KiB"), Some(4096.0));
        assert_eq!(number("2ms"), Some(0.002));
        assert_eq!(number("500rps"), Some(500.0));
        for word in ["loop+epoll-et", "", "k", "1x", "1.2.3", "0:10:1s", "inf"] {
            assert_eq!(number(word), None, "{word}");
        }
    }
}
