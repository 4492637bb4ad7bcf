use pitot_disk::{EngineEntry, EngineOptions, FileOptions, Route};

use crate::relay::frame::PAYLOAD_MAX;

/// An engine for file bodies.
#[derive(Clone, Copy, Debug)]
pub struct DiskPlan {
    /// The engine.
    pub engine: &'static EngineEntry,
    /// Its options.
    pub options: EngineOptions,
    /// True if the user chose how helper threads notify; otherwise the mechanism decides.
    pub notify_is_set: bool,
    /// Size of one read in bytes.
    pub block_bytes: usize,
}

impl DiskPlan {
    /// The route that bodies take with this engine.
    pub fn route(&self) -> Route {
        self.engine.route
    }

    /// True if reads are done by the caller of the engine, so that a call may block but leaves nothing in flight.
    pub fn reads_in_caller(&self) -> bool {
        self.engine.completes_in_queue(&self.options)
    }

    /// How files have to be opened for the engine.
    pub fn file_options(&self) -> FileOptions {
        let descriptors = if self.options.descriptor_per_slot { self.options.depth } else { 1 };
        FileOptions { direct: self.options.direct, descriptors, ..FileOptions::default() }
    }

    /// The default engine of a data process: that of the design note.
    pub fn usual() -> Option<DiskPlan> {
        let engine = pitot_disk::find("pool")?;
        let options = EngineOptions { threads: 32, ..EngineOptions::default() };
        Some(DiskPlan { engine, options, notify_is_set: false, block_bytes: PAYLOAD_MAX })
    }

    /// The same with blocks that fit into a frame.
    pub fn framed(self) -> DiskPlan {
        DiskPlan { block_bytes: self.block_bytes.min(PAYLOAD_MAX), ..self }
    }
}
