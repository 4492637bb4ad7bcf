//! Replies in a form in which they can be compared.

use std::collections::HashMap;

/// What a server has reported so far.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The unique numbers of each key, in the order in which they were reported first.
    numbers: HashMap<String, Vec<u64>>,
}

impl Known {
    /// The number that was reported last for a key, or the one before that; the same where none was.
    pub(crate) fn number(&self, key: &str, earlier: bool) -> u64 {
        let numbers = self.numbers.get(key).map_or(&[][..], Vec::as_slice);
        let at = numbers.len().checked_sub(if earlier { 2 } else { 1 });
        at.map_or(987_654_321, |at| numbers[at])
    }

    /// The lines and the blocks of a reply. Unique numbers, which count the changes of one key with us and of all in
    /// memcached, become the count of those that were reported for the key.
    pub(crate) fn lines(&mut self, mut reply: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(end) = reply.iter().position(|&b| b == b'\n') {
            let line = String::from_utf8_lossy(&reply[..end]).into_owned();
            reply = &reply[end + 1..];
            let words: Vec<&str> = line.trim_end_matches('\r').split(' ').collect();
            let block = match words[..] {
                ["VALUE", _, _, len, ..] | ["VA", len, ..] => len.parse::<usize>().ok(),
                _ => None,
            };
            lines.push(self.comparable(&words));
            if let Some(len) = block.filter(|len| len + 2 <= reply.len()) {
                let (block, rest) = reply.split_at(len + 2);
                lines.push(format!("[{}]", String::from_utf8_lossy(block)));
                reply = rest;
            }
        }
        if !reply.is_empty() {
            lines.push(format!("an incomplete line {}", reply.escape_ascii()));
        }
        lines
    }

    fn comparable(&mut self, words: &[&str]) -> String {
        let text = |words: &[String]| words.join(" ");
        let mut shown: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        match words {
            ["VALUE", key, _, _, cas] => shown[4] = self.ordinal(key, cas),
            ["HD" | "VA", ..] => {
                let key = words.iter().find_map(|word| word.strip_prefix('k'));
                for word in &mut shown[1..] {
                    if let Some(cas) = word.strip_prefix('c').filter(|cas| *cas != "0") {
                        *word = format!("c{}", key.map_or("?".to_owned(), |key| self.ordinal(key, cas)));
                    } else if word.strip_prefix('l').is_some_and(|l| l.parse::<u64>().is_ok()) {
                        // memcached updates the time of the last access once a minute.
                        *word = "l?".to_owned();
                    }
                }
            }
            ["ME", key, ..] => {
                for word in &mut shown[2..] {
                    *word = match word.split_once('=') {
                        Some(("cas", cas)) => format!("cas={}", self.ordinal(key, cas)),
                        // Memory is organised differently.
                        Some((name @ ("la" | "cls" | "size"), _)) => format!("{name}=?"),
                        // memcached 1.6.18 shows the time left with a minus sign.
                        Some(("exp", "-1")) | None => continue,
                        Some(("exp", left)) => format!("t{}", left.trim_start_matches('-')),
                        Some(_) => continue,
                    };
                }
            }
            _ => {}
        }
        text(&shown)
    }

    fn ordinal(&mut self, key: &str, cas: &str) -> String {
        let Ok(cas) = cas.parse() else { return cas.to_owned() };
        let numbers = self.numbers.entry(key.to_owned()).or_default();
        let at = numbers.iter().position(|&known| known == cas).unwrap_or_else(|| {
            numbers.push(cas);
            numbers.len() - 1
        });
        format!("#{at}")
    }
}

/// Whether two lines say the same. Times that are left may differ by the age of a second.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let same_word =
        |(a, b): (&str, &str)| a == b || time(a).zip(time(b)).is_some_and(|(a, b)| a.abs_diff(b) <= 2);
    a == b || a.split(' ').count() == b.split(' ').count() && a.split(' ').zip(b.split(' ')).all(same_word)
}

/// The number of a word `t<number>`. Below zero, where an item has just been given a time in the past, memcached shows
/// it modulo 2^32, and we show 0.
fn time(word: &str) -> Option<u32> {
    let time: u32 = word.strip_prefix('t')?.parse().ok()?;
    Some(if time > i32::MAX as u32 { 0 } else { time })
}
