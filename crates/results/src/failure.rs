//! How every command fails: what is wrong, how to mend it, and which exit code says so.

/// Why a command failed: one line of what is wrong and one of how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What is wrong: one line, no full stop.
    pub what: String,
    /// How to mend it: one line, no full stop.
    pub cure: String,
    /// Whose fault it is, which decides the exit code.
    pub kind: FailureKind,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The command was used wrongly, or asks for what this machine does not have: exit code 2.
    Misuse,
    /// The command was right and its run failed: exit code 1.
    Run,
}

impl Failure {
    /// Wrong use: exit code 2.
    pub fn misuse(what: impl Into<String>, cure: impl Into<String>) -> Failure {
        Failure { what: what.into(), cure: cure.into(), kind: FailureKind::Misuse }
    }

    /// The run itself failed: exit code 1.
    pub fn run(what: impl Into<String>, cure: impl Into<String>) -> Failure {
        Failure { what: what.into(), cure: cure.into(), kind: FailureKind::Run }
    }

    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Run => 1,
            FailureKind::Misuse => 2,
        }
    }
}
