//! Outcomes by their reasons, of all recipients, of each domain and of each host, while they come in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use pitot_client::smtp::{EnhancedCode, Line};
use pitot_results::mail::{Outcome, OutcomeRow};

use crate::outcome::Settled;

/// The most distinct reasons, among all recipients and for each domain and host; further ones are summed.
const REASONS_MAX: usize = 1000;
const REASONS_OF_ONE_MAX: usize = 8;
const EXAMPLE_BYTES_MAX: usize = 200;

/// What tells two reasons apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    outcome: Outcome,
    code: u16,
    enhanced: Option<EnhancedCode>,
    /// Where no host has replied: the reason in words.
    words: Option<Box<str>>,
}

impl Key {
    /// `words` is the reason without the name of the host.
    fn new(settled: Settled<'_>, words: &[u8]) -> Key {
        let line = Line { code: settled.code, last: true, text: settled.text };
        Key {
            outcome: settled.outcome,
            code: settled.code,
            enhanced: EnhancedCode::of(&line),
            words: (settled.code == 0).then(|| readable(words).into()),
        }
    }

    /// The key of all further reasons.
    fn further(outcome: Outcome) -> Key {
        Key { outcome, code: 0, enhanced: None, words: None }
    }
}

/// The beginning of a text, on one line.
fn readable(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(&text[..text.len().min(EXAMPLE_BYTES_MAX)]);
    if text.contains(char::is_control) { text.replace(char::is_control, " ").into() } else { text }
}

/// The outcomes of all recipients by their reasons, while they come in.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    rows: HashMap<Key, (u64, Arc<str>)>,
}

/// A reason as [`Tally::add`] has noted it, to note it for a domain and a host too.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    key: Key,
    example: Arc<str>,
}

impl Tally {
    /// Counts an outcome. `words` is its text without the name of the host. Returns the reason of a refusal or failure.
    pub(crate) fn add(&mut self, settled: Settled<'_>, words: &[u8]) -> Option<Reason> {
        let key = Key::new(settled, words);
        let is_taken = matches!(settled.outcome, Outcome::Sent | Outcome::Accepted);
        // The way of most recipients.
        if is_taken && let Some((count, _)) = self.rows.get_mut(&key) {
            *count += 1;
            return None;
        }
        let text = readable(settled.text);
        let is_full = self.rows.len() >= REASONS_MAX && !self.rows.contains_key(&key);
        let row_key = if is_full { Key::further(key.outcome) } else { key.clone() };
        let row = self.rows.entry(row_key).or_insert_with(|| (0, Arc::from(&*text)));
        row.0 += 1;
        // A text that many domains have in common is stored once.
        let example = if *row.1 == *text { Arc::clone(&row.1) } else { Arc::from(&*text) };
        (!is_taken).then_some(Reason { key, example })
    }

    /// Most frequent first.
    pub(crate) fn rows(self) -> Vec<OutcomeRow> {
        sorted(self.rows.into_iter().map(|(key, (count, example))| row(&key, count, &example)).collect())
    }
}

/// Why recipients of one domain or at one host were refused or given up.
#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<(Reason, u64)>);

impl Reasons {
    /// Counts a reason.
    pub(crate) fn add(&mut self, reason: &Reason) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| known.key == reason.key) {
            *count += 1;
        } else if self.0.len() < REASONS_OF_ONE_MAX {
            self.0.push((reason.clone(), 1));
        } else {
            let key = Key::further(reason.key.outcome);
            match self.0.iter_mut().find(|(known, _)| known.key == key) {
                Some((_, count)) => *count += 1,
                None => self.0.push((Reason { key, example: Arc::clone(&reason.example) }, 1)),
            }
        }
    }

    /// Most frequent first.
    pub(crate) fn rows(&self) -> Vec<OutcomeRow> {
        sorted(self.0.iter().map(|(reason, count)| row(&reason.key, *count, &reason.example)).collect())
    }
}

fn row(key: &Key, count: u64, example: &str) -> OutcomeRow {
    let further = key.code == 0 && key.words.is_none();
    OutcomeRow {
        outcome: Some(key.outcome),
        code: key.code,
        enhanced: key.enhanced.map(|e| e.to_string()),
        count,
        example: if further { format!("further reasons, such as: {example}") } else { example.to_owned() },
    }
}

fn sorted(mut rows: Vec<OutcomeRow>) -> Vec<OutcomeRow> {
    rows.sort_by(|a, b| {
        (b.count, a.outcome, a.code, &a.example).cmp(&(a.count, b.outcome, b.code, &b.example))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(outcome: Outcome, code: u16, text: &str) -> Settled<'_> {
        Settled { outcome, code, text: text.as_bytes() }
    }

    #[test]
    fn reasons_without_a_reply_are_told_apart_by_their_words_and_not_by_the_host() {
        let mut tally = Tally::default();
        for (text, words) in [
            ("a at 1.1.1.1:25: ECONNREFUSED", "ECONNREFUSED"),
            ("b at 2.2.2.2:25: ECONNREFUSED", "ECONNREFUSED"),
            ("b at 2.2.2.2:25: ETIMEDOUT", "ETIMEDOUT"),
        ] {
            tally.add(settled(Outcome::GaveUp, 0, text), words.as_bytes());
        }
        tally.add(settled(Outcome::Refused, 550, "5.1.1 no p"), b"5.1.1 no p");
        tally.add(settled(Outcome::Refused, 550, "5.1.1 no q"), b"5.1.1 no q");
        let rows: Vec<_> = tally.rows().into_iter().map(|r| (r.code, r.count, r.example)).collect();
        let expected = [
            (550, 2, "5.1.1 no p".to_owned()),
            (0, 2, "a at 1.1.1.1:25: ECONNREFUSED".to_owned()),
            (0, 1, "b at 2.2.2.2:25: ETIMEDOUT".to_owned()),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_domain_has_its_own_example_and_a_bounded_number_of_reasons() {
        let (mut tally, mut one, mut two) = (Tally::default(), Reasons::default(), Reasons::default());
        let mut reason = |outcome, code, text| tally.add(settled(outcome, code, text), b"");
        one.add(&reason(Outcome::Refused, 550, "5.7.1 list A").unwrap());
        two.add(&reason(Outcome::Refused, 550, "5.7.1 list B").unwrap());
        for _ in 0..2 {
            assert!(reason(Outcome::Sent, 250, "ok").is_none());
        }
        assert_eq!(one.rows()[0].example, "5.7.1 list A");
        assert_eq!((two.rows().len(), &*two.rows()[0].example), (1, "5.7.1 list B"));
        for code in 500..600 {
            one.add(&reason(Outcome::Refused, code, "no").unwrap());
        }
        let rows = one.rows();
        assert_eq!(rows.len(), REASONS_OF_ONE_MAX + 1);
        assert_eq!(rows.iter().map(|r| r.count).sum::<u64>(), 101);
        assert_eq!((rows[0].code, &*rows[0].example), (0, "further reasons, such as: no"));
    }
}
