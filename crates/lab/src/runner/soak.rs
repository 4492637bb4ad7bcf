//! What the engine asks of a soak: the third way to measure, beside slices and fresh runs.

use pitot_host::CpuSplit;
use pitot_host::setting::Change;
use pitot_results::Failure;

use super::event::{Event, Outcome};
use super::standing::Ground;

/// Servers and loads that stand while they are watched, for as long as their owner wants. What comes about goes into a file of
/// its own.
pub trait Soak {
    /// The CPUs of its servers and loads.
    fn cpus(&self) -> &CpuSplit;

    /// The settings of the host that it needs for as long as it goes on.
    fn host(&self) -> &[Change];

    /// Measures on the machine that was made ready for it, until its time is over or its ground says that the user wants the end.
    ///
    /// # Errors
    /// If a server or load cannot be started, one ends that is not to end, or the file cannot be written.
    fn measure(&mut self, ground: &Ground<'_>, watch: &mut dyn FnMut(&Event<'_>))
    -> Result<Outcome, Failure>;
}
