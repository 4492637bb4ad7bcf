//! What a gate decides.

use std::fmt::Display;

use crate::tone::Tone;

/// More reasons than this are counted in a sentence.
const LISTED_MAX: usize = 3;

/// The outcome of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GateOutcome {
    /// Everything that it judges passed.
    Passed,
    /// Something met it: a sentence for each.
    Met(Vec<String>),
    /// Something cannot be decided, and nothing met it: a sentence for each reason.
    Undecided(Vec<String>),
}

impl GateOutcome {
    /// In JSON.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            GateOutcome::Passed => "passed",
            GateOutcome::Met(_) => "met",
            GateOutcome::Undecided(_) => "undecided",
        }
    }

    pub(crate) fn reasons(&self) -> &[String] {
        match self {
            GateOutcome::Passed => &[],
            GateOutcome::Met(reasons) | GateOutcome::Undecided(reasons) => reasons,
        }
    }

    pub(crate) fn tone(&self) -> Tone {
        match self {
            GateOutcome::Passed => Tone::Good,
            GateOutcome::Met(_) => Tone::Bad,
            GateOutcome::Undecided(_) => Tone::Care,
        }
    }

    /// The outcome of this gate in a sentence.
    pub fn sentence(&self, gate: &dyn Display) -> String {
        match self {
            GateOutcome::Passed => format!("gate '{gate}': passed"),
            GateOutcome::Met(reasons) => format!("gate '{gate}': met: {}", listed(reasons)),
            GateOutcome::Undecided(reasons) => format!("gate '{gate}': undecided, {}", listed(reasons)),
        }
    }
}

fn listed(reasons: &[String]) -> String {
    let listed = &reasons[..reasons.len().min(LISTED_MAX)];
    let more = reasons.len() - listed.len();
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", listed.join("; "))
}
