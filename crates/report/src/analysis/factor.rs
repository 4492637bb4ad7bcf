//! How factors and their levels are written for readers.

use pitot_plan::Levels;

/// How a factor is written, if not as its last word and its level.
struct FactorWords {
    /// Its whole name; or its last word, if that means the same for servers, loads and programs.
    name: &'static str,
    title: &'static str,
    /// Whether a level is a number of things, `1000 connections`, or a property, `size 4KiB`.
    counted: bool,
}

const FACTORS: &[FactorWords] = &[
    FactorWords { name: "load.idle", title: "idle connections", counted: true },
    FactorWords { name: "load.rate", title: "offered requests per second", counted: true },
    FactorWords { name: "size", title: "size", counted: false },
    FactorWords { name: "sizes", title: "size", counted: false },
    FactorWords { name: "block", title: "block", counted: false },
    FactorWords { name: "depth", title: "depth", counted: false },
    FactorWords { name: "requests-per-connection", title: "requests per connection", counted: true },
];

fn last_word(factor: &str) -> &str {
    factor.rsplit('.').next().unwrap_or(factor)
}

fn words(factor: &str) -> Option<&'static FactorWords> {
    FACTORS.iter().find(|f| f.name == factor || f.name == last_word(factor))
}

/// A factor's name for readers: `connections` for `load.connections`.
pub(crate) fn factor_title(factor: &str) -> &str {
    words(factor).map_or_else(|| last_word(factor), |f| f.title)
}

/// A level in words: `1000 connections` and `size 4KiB` for numbers, `direct true` for a switch, otherwise the level.
pub(crate) fn level_words(factor: &str, level: &str) -> String {
    let title = factor_title(factor);
    let is_number = level.starts_with(|c: char| c.is_ascii_digit());
    let is_switch = ["true", "false", "on", "off"].contains(&level);
    if last_word(factor) == "url" {
        return path_of(level).to_owned();
    }
    if is_switch || (is_number && words(factor).is_some_and(|f| !f.counted)) {
        format!("{title} {level}")
    } else if is_number {
        format!("{level} {}", if level == "1" { one_of(title) } else { title.to_owned() })
    } else {
        level.to_owned()
    }
}

/// One of the things that a title names: `request per connection` of `requests per connection`.
fn one_of(title: &str) -> String {
    let (things, of) =
        title.split_once(" per ").map_or((title, ""), |(things, _)| title.split_at(things.len()));
    format!("{}{of}", things.strip_suffix('s').unwrap_or(things))
}

/// A URL without what all URLs of a plan have: `/1k` of `http://{address}/1k`.
pub(super) fn path_of(url: &str) -> &str {
    url.split_once("{address}").map(|(_, path)| path).filter(|path| !path.is_empty()).unwrap_or(url)
}

/// The levels of several factors in words: `fork or spawn, 1000 connections`.
pub(crate) fn levels_words(levels: &Levels) -> String {
    let words = levels.0.iter().map(|(factor, wanted)| level_words(factor, &wanted.join(" or ")));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_things_are_counted_and_properties_are_named() {
        assert_eq!(level_words("load.connections", "1000"), "1000 connections");
        assert_eq!(level_words("load.connections", "1"), "1 connection");
        assert_eq!(level_words("load.requests-per-connection", "1"), "1 request per connection");
        assert_eq!(level_words("load.requests-per-connection", "20"), "20 requests per connection");
        assert_eq!(level_words("load.url", "http://{address}/1k"), "/1k");
        assert_eq!(level_words("load.url", "tcp://{address}"), "tcp://{address}");
        assert_eq!(level_words("load.tls-resume", "on"), "tls-resume on");
        assert_eq!(level_words("load.idle", "0"), "0 idle connections");
        assert_eq!(level_words("disk.sizes", "4KiB"), "size 4KiB");
        assert_eq!(level_words("disk.direct", "true"), "direct true");
        assert_eq!(level_words("server", "fork+blocking"), "fork+blocking");
    }
}
