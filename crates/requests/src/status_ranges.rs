//! Statuses that a user names.

use std::ops::RangeInclusive;

use pitot_results::Failure;

/// `200,301`, `2xx`, `200-299`.
pub fn statuses(text: &str) -> Result<Vec<RangeInclusive<u16>>, Failure> {
    let bad = |word: &str| {
        Failure::misuse(
            format!("`{word}` is not a status"),
            "write --expect-status 200,204 or 2xx or 200-299",
        )
    };
    let number = |word: &str| word.parse().ok().filter(|s| (100..1000).contains(s)).ok_or_else(|| bad(word));
    text.split(',')
        .map(|word| match (word.strip_suffix("xx"), word.split_once('-')) {
            (Some(class), _) => match class.parse::<u16>() {
                Ok(class @ 1..=9) => Ok(class * 100..=class * 100 + 99),
                _ => Err(bad(word)),
            },
            (None, Some((from, to))) => Ok(number(from)?..=number(to)?),
            (None, None) => number(word).map(|s| s..=s),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_statuses() {
        assert_eq!(statuses("200,3xx,500-503").unwrap(), [200..=200, 300..=399, 500..=503]);
        for bad in ["", "0xx", "99", "2xx,", "200-x"] {
            assert!(statuses(bad).is_err(), "{bad}");
        }
    }
}
