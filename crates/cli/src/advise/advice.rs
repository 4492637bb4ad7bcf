//! The answer before it is shown.

use pitot_host::check::Judgement;
use pitot_study::advise::{Case, Choice, Contender, Known, LevelAnswer, Probe, Turns};

use super::measure::Measured;

pub(super) struct Advice<'a> {
    pub(super) case: &'a Case,
    pub(super) known: Vec<&'static Known>,
    pub(super) choices: &'a [(&'static Contender, Choice)],
    /// The plan of the description.
    pub(super) plan: String,
    /// CPUs of servers and load.
    pub(super) cpus: (String, String),
    pub(super) estimate_s: f64,
    /// Other loads, with their results after the run.
    pub(super) probes: Vec<(Probe, Tried)>,
    pub(super) measured: Option<(Measured, LevelAnswer)>,
    /// Rules of the host that matter: violated ones, then those to consider.
    pub(super) host: Vec<Judgement>,
    /// How many other rules are violated.
    pub(super) host_others: usize,
    pub(super) notes: Vec<String>,
}

/// The state of a probe.
pub(super) enum Tried {
    Measured(Box<Measured>, Turns),
    /// The reason why it was not run.
    Not(String),
    Planned,
}
