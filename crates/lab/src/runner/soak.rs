//! The interface of a soak to the engine.

use pitot_host::CpuSplit;
use pitot_host::setting::Change;
use pitot_results::Failure;

use super::event::{Event, Outcome};
use super::long_running::LocalHost;

/// Long-running servers and loads that are watched and recorded.
pub trait Soak {
    /// The CPUs of its servers and loads.
    fn cpus(&self) -> &CpuSplit;

    /// The settings of the host while it runs.
    fn host(&self) -> &[Change];

    /// Measures on the prepared machine until its time is over or the user stops it.
    ///
    /// # Errors
    /// If a server or load cannot be started or ends unexpectedly, or the file cannot be written.
    fn measure(
        &mut self,
        local_host: &LocalHost<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Outcome, Failure>;
}
