//! What is asked for, from the command line until it is carried out.

use pitot_lab::Prepared;
use pitot_plan::Plan;
use pitot_record::Run as RunFile;

use crate::plan_text::PlanText;

/// What a user asks for.
pub(crate) enum Asked {
    /// A run of a plan, or of what the options of a comparison describe.
    New { plan: Box<Plan>, source: PlanText, is_described: bool },
    /// What a run lacks that was begun.
    Begun(Box<RunFile>),
}

impl Asked {
    pub(crate) fn plan(&self) -> &Plan {
        match self {
            Asked::New { plan, .. } => plan,
            Asked::Begun(run) => &run.plan,
        }
    }
}

/// The same where a new plan is ready for its place.
pub(crate) enum Ready {
    New(Box<Prepared>),
    Begun(Box<RunFile>),
}
