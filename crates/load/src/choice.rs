//! Sets of requests: a range in a path stands for many, and a choice decides how often each of them is sent.

use pitot_client::RequestSpec;

use pitot_results::Failure;

/// The most requests that ranges may expand to: each is built and kept in memory.
const REQUESTS_MAX: u64 = 1_000_000;

/// How requests are chosen from a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Choice {
    /// One after the other, in rounds.
    Turn,
    /// By their weights alone.
    Uniform,
    /// By Zipf's law: the nth is chosen n^exponent times less often than the first.
    Zipf { exponent: f64 },
}

impl Choice {
    /// Reads `turn`, `uniform`, `zipf` or `zipf:0.99`.
    pub(crate) fn parse(text: &str) -> Result<Choice, Failure> {
        let wrong = || {
            Failure::misuse(
                format!("`{text}` is not a choice"),
                "write --choice turn, uniform, zipf or zipf:0.99",
            )
        };
        match text.split_once(':') {
            None if text == "turn" => Ok(Choice::Turn),
            None if text == "uniform" => Ok(Choice::Uniform),
            None if text == "zipf" => Ok(Choice::Zipf { exponent: 0.99 }),
            Some(("zipf", exponent)) => match exponent.parse() {
                Ok(exponent) if (0.01..=10.0).contains(&exponent) => Ok(Choice::Zipf { exponent }),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }

    /// Multiplies the weight of each request by that of its rank in the set.
    pub(crate) fn weigh(self, specs: &mut [RequestSpec]) {
        if let Choice::Zipf { exponent } = self {
            for (rank, spec) in (1u32..).zip(specs) {
                spec.weight *= f64::from(rank).powf(-exponent);
            }
        }
    }
}

/// The paths that a path with ranges stands for: `/{1..3}` is `/1`, `/2` and `/3`. A leading zero keeps the width:
/// `/{00..99}`.
pub(crate) fn paths(pattern: &str) -> Result<Vec<String>, Failure> {
    let mut paths = vec![String::new()];
    let mut rest = pattern;
    while let Some((before, range, after)) = next_range(rest) {
        let count = range.last.checked_sub(range.first).and_then(|n| n.checked_add(1)).ok_or_else(|| {
            Failure::misuse(
                format!("the range in `{pattern}` runs backwards"),
                "write the smaller number first: {0..99}",
            )
        })?;
        if count.saturating_mul(paths.len() as u64) > REQUESTS_MAX {
            return Err(Failure::misuse(
                format!("`{pattern}` stands for more than {REQUESTS_MAX} requests"),
                "take a smaller range",
            ));
        }
        paths = paths
            .iter()
            .flat_map(|head| {
                (range.first..=range.last)
                    .map(move |n| format!("{head}{before}{n:0width$}", width = range.width))
            })
            .collect();
        rest = after;
    }
    paths.iter_mut().for_each(|path| path.push_str(rest));
    Ok(paths)
}

struct Range {
    first: u64,
    last: u64,
    width: usize,
}

/// The first `{a..b}` of a text with what stands before and after it. Other braces are plain characters.
fn next_range(text: &str) -> Option<(&str, Range, &str)> {
    for (open, _) in text.match_indices('{') {
        let (inside, after) = text[open + 1..].split_once('}')?;
        let Some((first, last)) = inside.split_once("..") else { continue };
        let width = if first.len() > 1 && first.starts_with('0') { first.len() } else { 0 };
        if let (Ok(first), Ok(last)) = (first.parse(), last.parse()) {
            return Some((&text[..open], Range { first, last, width }, after));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_stand_for_many_paths() {
        assert_eq!(paths("/a").unwrap(), ["/a"]);
        assert_eq!(paths("/f/{8..11}.bin").unwrap(), ["/f/8.bin", "/f/9.bin", "/f/10.bin", "/f/11.bin"]);
        assert_eq!(paths("/{08..10}").unwrap(), ["/08", "/09", "/10"]);
        assert_eq!(paths("/{0..1}/{5..6}").unwrap(), ["/0/5", "/0/6", "/1/5", "/1/6"]);
        assert_eq!(paths("/{id}/{1..2}{").unwrap(), ["/{id}/1{", "/{id}/2{"]);
        assert!(paths("/{2..1}").unwrap_err().to_string().contains("backwards"));
        assert!(paths("/{0..999}/{0..9999}").unwrap_err().to_string().contains("more than 1000000"));
        assert!(paths("/{0..18446744073709551615}").is_err());
    }

    #[test]
    fn zipf_makes_later_requests_rarer() {
        let spec = RequestSpec { weight: 2.0, ..RequestSpec::default() };
        let mut specs = vec![spec; 4];
        Choice::parse("zipf:1").unwrap().weigh(&mut specs);
        assert_eq!(specs.iter().map(|s| s.weight).collect::<Vec<_>>(), [2.0, 1.0, 2.0 / 3.0, 0.5]);
        Choice::Uniform.weigh(&mut specs);
        assert_eq!(specs[1].weight, 1.0);
    }

    #[test]
    fn choices_are_words() {
        assert_eq!(Choice::parse("turn").unwrap(), Choice::Turn);
        assert_eq!(Choice::parse("zipf").unwrap(), Choice::Zipf { exponent: 0.99 });
        for wrong in ["zipf:0", "zipf:x", "zipf:-1", "random", "turn:1", ""] {
            assert!(Choice::parse(wrong).is_err(), "{wrong}");
        }
    }
}
