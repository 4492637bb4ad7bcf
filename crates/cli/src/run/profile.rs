//! The option `--profile`.

use clap::Args;
use pitot_plan::{Plan, Profiled};

/// What is sampled.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Profile {
    /// Sample where the CPU time goes, by function, in slices of their own that do not count: `cpu`. The report says which functions
    /// make one program slower than the other (docs/profile.md).
    #[arg(long, value_name = "WHAT", value_parser = ["cpu"])]
    profile: Option<String>,
}

impl Profile {
    /// Changes what the plan says.
    pub(super) fn change(&self, plan: &mut Plan) {
        let asked = |word: &str| self.profile.as_deref() == Some(word);
        plan.profile.extend(Profiled::ALL.iter().filter(|(word, _)| asked(word)).map(|(_, what)| *what));
        plan.profile.dedup();
    }
}
