//! How parts of a run get to those who carry them out, and results back.

use std::path::PathBuf;

use pitot_results::Failure;

use super::part::Part;
use pitot_record::{Repetition, RunState};

/// Carries parts of a run to other machines, and their results back. It may deliver a part or a result more than once.
pub trait Carrier {
    /// Begins or goes on with the run of this identity.
    ///
    /// # Errors
    /// If parts of it cannot be carried.
    fn begin(&mut self, run: &str) -> Result<(), Failure>;

    /// Takes a part.
    ///
    /// # Errors
    /// If it can never be carried.
    fn offer(&mut self, part: &Part) -> Result<(), Failure>;

    /// What has arrived, within a moment; none if nothing has.
    ///
    /// # Errors
    /// If nothing will arrive any more.
    fn next(&mut self) -> Result<Option<Arrival>, Failure>;

    /// What the carrier knows of a repetition that it has brought, and those who carried it out do not.
    fn complete(&self, _repetition: &mut Repetition) {}

    /// The result of a part is recorded: it may be forgotten.
    fn settle(&mut self, part: &str);

    /// The run has ended, in this state.
    fn end(&mut self, state: RunState);
}

/// What comes back of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A run file of the part alone.
    Done {
        /// The part's name.
        part: String,
        /// Who carried it out.
        host: String,
        /// Its run file.
        file: PathBuf,
    },
    /// Nobody carries it out any more.
    Failed {
        /// The part's name.
        part: String,
        /// Who tried last.
        host: String,
        /// Why not: a sentence.
        reason: String,
    },
}
