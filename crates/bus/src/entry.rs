//! The state of a job: the one entry that agents and the coordinator change, each time from the revision that they know.

use serde::{Deserialize, Serialize};

/// A line of JSON; after [`State::Done`] come the bytes of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) agent: String,
    /// Which delivery of the job this is: the fence.
    pub(crate) attempt: u64,
    /// Whether it is the last one that is tried.
    pub(crate) is_last: bool,
    pub(crate) state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// The agent works on it.
    Claimed,
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
            State::Claimed => false,
            State::Done | State::Object(_) => true,
            State::Failed(_) => self.is_last,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for state in [State::Claimed, State::Done, State::Object("o".into()), State::Failed("a\nb".into())] {
            let entry = Entry { agent: "a".into(), attempt: 2, is_last: false, state };
            assert_eq!(Entry::read(&entry.to_bytes(b"x\ny")), Some((entry.clone(), &b"x\ny"[..])));
        }
        assert_eq!(Entry::read(b"{}\n"), None);
        assert_eq!(Entry::read(b""), None);
    }
}
