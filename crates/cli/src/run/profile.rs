//! The option `--profile`.

use clap::Args;
use pitot_plan::{Plan, Profiled};

use crate::choice::one_of;

/// What is recorded.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Profile {
    /// Record what the servers do, in slices of their own that do not count: `cpu` (where CPU time goes, by function), `off-cpu` (where
    /// threads wait), `counters` (switches, page faults, instructions), `calls` (system calls); or several: `cpu,calls`. The report says
    /// which functions make one program slower than the other (docs/profile.md).
    #[arg(long, value_name = "WHAT", value_delimiter = ',', num_args = 1, value_parser = one_of(Profiled::ALL))]
    profile: Vec<Profiled>,
}

impl Profile {
    /// What is asked for, each once.
    pub(crate) fn kinds(&self) -> Vec<Profiled> {
        let mut kinds = self.profile.clone();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Adds it to what the plan says.
    pub(crate) fn change(&self, plan: &mut Plan) {
        plan.profile.extend(self.kinds());
        plan.profile.sort_unstable();
        plan.profile.dedup();
    }
}
