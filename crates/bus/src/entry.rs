//! The state of a job: the one entry that agents and the coordinator change, each time from the revision that they know.

use std::collections::BTreeMap;

use pitot_results::printable_start;
use serde::{Deserialize, Serialize};

use crate::places::TRIES_MAX;

/// A line of JSON; after [`State::Done`] come the bytes of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) agent: String,
    /// Which delivery of the job this is: the fence.
    pub(crate) attempt: u64,
    /// How often it was begun.
    pub(crate) tries: u32,
    /// The agents that lack something for it, and what: sentences. Such a try does not count.
    pub(crate) lacking: BTreeMap<String, String>,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// The agent works on it.
    Claimed,
    /// The agent holds it, and waits for something before it works on it: a sentence.
    Waiting(String),
    /// The result follows.
    Done,
    /// The result is the object of this name.
    Object(String),
    /// The agent cannot carry it out, for this reason.
    Failed(String),
}

impl Entry {
    pub(crate) fn is_over(&self) -> bool {
        match self.state {
            State::Claimed | State::Waiting(_) => false,
            State::Done | State::Object(_) => true,
            State::Failed(_) => self.tries >= TRIES_MAX,
        }
    }

    /// Whether another entry is of the same delivery to the same agent, which still holds the job.
    pub(crate) fn is_same_claim(&self, other: &Entry) -> bool {
        let is_held = matches!(other.state, State::Claimed | State::Waiting(_));
        is_held && (&self.agent, self.attempt) == (&other.agent, other.attempt)
    }

    pub(crate) fn to_bytes(&self, result: &[u8]) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("plain data has a JSON form");
        bytes.push(b'\n');
        bytes.extend(result);
        bytes
    }

    /// The entry and the result that follows it; none if it is no entry.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Entry, &[u8])> {
        let split = bytes.iter().position(|b| *b == b'\n')?;
        Some((serde_json::from_slice(&bytes[..split]).ok()?, &bytes[split + 1..]))
    }
}

/// How much is shown of a sentence of an agent.
const SENTENCE_CHARS: usize = 1000;

/// What an agent says, for a person.
pub(crate) fn sentence(of_agent: &str) -> String {
    printable_start(of_agent, SENTENCE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_is_short_and_commands_no_terminal() {
        assert_eq!(sentence("no nginx\x1b[2J\n"), r"no nginx\x1b[2J\x0a");
        assert_eq!(sentence(&"x".repeat(1 << 20)).len(), SENTENCE_CHARS + 3);
    }

    #[test]
    fn a_claim_is_the_same_while_it_waits_and_another_s_is_not() {
        let entry = |agent: &str, attempt, state| Entry {
            agent: agent.to_owned(),
            attempt,
            tries: 1,
            lacking: BTreeMap::new(),
            state,
        };
        let claim = entry("a", 2, State::Claimed);
        assert!(claim.is_same_claim(&entry("a", 2, State::Waiting("for b".into()))));
        assert!(!claim.is_same_claim(&entry("a", 3, State::Claimed)), "handed out again");
        assert!(!claim.is_same_claim(&entry("b", 2, State::Claimed)));
        assert!(!claim.is_same_claim(&entry("a", 2, State::Failed(String::new()))));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for state in [
            State::Claimed,
            State::Waiting("w".into()),
            State::Done,
            State::Object("o".into()),
            State::Failed("a\nb".into()),
        ] {
            let lacking = [("b".to_owned(), "no nginx".to_owned())].into();
            let entry = Entry { agent: "a".into(), attempt: 2, tries: 1, lacking, state };
            assert_eq!(Entry::read(&entry.to_bytes(b"x\ny")), Some((entry.clone(), &b"x\ny"[..])));
        }
        assert_eq!(Entry::read(b"{}\n"), None);
        assert_eq!(Entry::read(b""), None);
    }
}
