//! The failure of a command: what is wrong, how to fix it, and the exit code.

/// Why a command failed: one line for the error and one for the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Failure {
    /// What is wrong: one line, no full stop.
    pub what: String,
    /// How to fix it: one line, no full stop.
    pub fix: String,
    /// The kind of failure, which determines the exit code.
    pub kind: FailureKind,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Wrong usage, or something that this machine does not have: exit code 2.
    Misuse,
    /// Correct usage, but the run failed: exit code 1.
    Run,
}

impl Failure {
    /// Wrong use: exit code 2.
    pub fn misuse(what: impl Into<String>, fix: impl Into<String>) -> Failure {
        Failure { what: what.into(), fix: fix.into(), kind: FailureKind::Misuse }
    }

    /// The run itself failed: exit code 1.
    pub fn run(what: impl Into<String>, fix: impl Into<String>) -> Failure {
        Failure { what: what.into(), fix: fix.into(), kind: FailureKind::Run }
    }

    /// The exit code of the process.
    pub const fn exit_code(&self) -> u8 {
        match self.kind {
            FailureKind::Run => 1,
            FailureKind::Misuse => 2,
        }
    }
}
