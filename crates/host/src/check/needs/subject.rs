use serde::{Deserialize, Serialize};

/// What rules are about: a word of the plan's key `needs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Very many connections open at once.
    Connections,
}

/// The words of plans for subjects, in the order of [`Subject`].
pub const SUBJECTS: [(&str, Subject); 1] = [("connections", Subject::Connections)];
