use pitot_host::check::Judgement;
use pitot_study::advise::{Case, Choice, Contender, Known, LevelAnswer, Probe, Turns};

use super::measure::Measured;

/// All that an answer says.
pub(super) struct Advice<'a> {
    pub(super) case: &'a Case,
    pub(super) known: Vec<&'static Known>,
    pub(super) choices: &'a [(&'static Contender, Choice)],
    /// The plan of the description.
    pub(super) plan: String,
    /// CPUs of servers and load.
    pub(super) cpus: (String, String),
    pub(super) estimate_s: f64,
    /// Other loads and, after the run, what they have shown.
    pub(super) probes: Vec<(Probe, Tried)>,
    pub(super) measured: Option<(Measured, LevelAnswer)>,
    /// Rules of the host that matter: those that stand in the way, then those to consider.
    pub(super) host: Vec<Judgement>,
    /// How many more stand in the way.
    pub(super) host_others: usize,
    pub(super) notes: Vec<String>,
}

/// What became of a probe.
pub(super) enum Tried {
    /// It was run.
    Measured(Box<Measured>, Turns),
    /// It was not, for this reason.
    Not(String),
    /// It would be.
    Planned,
}
