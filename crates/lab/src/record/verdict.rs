//! Whether a repetition can be trusted, in a word and a sentence.

use serde::{Deserialize, Serialize};

/// Whether a measurement can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: VerdictKind,
    /// The sentence behind it; empty for `valid`.
    pub reason: String,
    /// The figures that it was drawn from, all of them whatever the verdict: name with its unit, value.
    pub figures: Vec<(String, f64)>,
}

/// The words of a verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The figures tell of the server.
    #[default]
    Valid,
    /// The load generator was the bottleneck: the server could do more.
    ClientBound,
    /// The network was: retransmits, drops.
    NetworkBound,
    /// Something else used the server's CPUs, or the machine withheld them.
    Noisy,
    /// The server or the load generator died, hung or answered nothing right.
    Failed,
}

impl VerdictKind {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            VerdictKind::Valid => "valid",
            VerdictKind::ClientBound => "client-bound",
            VerdictKind::NetworkBound => "network-bound",
            VerdictKind::Noisy => "noisy",
            VerdictKind::Failed => "failed",
        }
    }

    /// The verdict of that word.
    pub fn from_name(name: &str) -> Option<VerdictKind> {
        use VerdictKind::*;
        [Valid, ClientBound, NetworkBound, Noisy, Failed].into_iter().find(|v| v.name() == name)
    }
}
