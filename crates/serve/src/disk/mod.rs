//! File bodies through a disk engine: what a user may ask for, and how a body then travels.
//!
//! Without an engine a body goes from the page cache to the socket in the worker itself (sendfile(2), or reads of the
//! ring on io_uring). With one it takes one of two routes: the engine reads blocks into memory of a bounded pool and the
//! loop sends them, or the engine itself sends to the socket. In both the loop waits for nothing but its mechanism;
//! the engine's descriptor is watched beside the sockets.

use std::path::Path;
use std::sync::Arc;

pub use pitot_disk::Route;
use pitot_disk::{DiskFile, EngineEntry, EngineOptions, FileOptions, NotifyBy};
use pitot_results::Failure;
use pitot_sys::Unavailable;

use crate::failure::unavailable;
use crate::mechanism::{Kind, Mechanism};
use crate::model::Model;
use crate::relay::frame::PAYLOAD_MAX;

mod reader;

pub use reader::{Disk, ReadFailure, Started, file_to_read, fill};

/// Files that are looked at, at most, to see whether the engine can read what is served.
const SAMPLES_MAX: usize = 200;

/// An engine for file bodies.
#[derive(Clone, Copy, Debug)]
pub struct DiskPlan {
    /// The engine.
    pub engine: &'static EngineEntry,
    /// Its options.
    pub options: EngineOptions,
    /// The user chose how helper threads notify; otherwise the mechanism decides.
    pub notify_is_set: bool,
    /// Bytes that are read at once.
    pub block_bytes: usize,
}

impl DiskPlan {
    /// The route that bodies take with this engine.
    pub fn route(&self) -> Route {
        self.engine.route
    }

    /// The route under a mechanism.
    pub fn route_under(&self, mechanism: &Mechanism) -> Route {
        if matches!(mechanism.kind, Kind::Completion { .. }) { Route::InPlace } else { self.route() }
    }

    /// Whether the caller of the engine reads by itself, so that it may wait for the disk and never has anything to wait
    /// for afterwards.
    pub fn reads_in_caller(&self) -> bool {
        self.engine.completes_in_queue(&self.options)
    }

    /// How files are to be opened for it.
    pub fn file_options(&self) -> FileOptions {
        let descriptors = if self.options.descriptor_per_slot { self.options.depth } else { 1 };
        FileOptions { direct: self.options.direct, descriptors, ..FileOptions::default() }
    }

    /// The engine of a data process where none is named: that of the design note.
    pub fn usual() -> Option<DiskPlan> {
        let engine = pitot_disk::find("pool")?;
        let options = EngineOptions { threads: 32, ..EngineOptions::default() };
        Some(DiskPlan { engine, options, notify_is_set: false, block_bytes: PAYLOAD_MAX })
    }

    /// The same with blocks that fit into a frame.
    pub fn framed(self) -> DiskPlan {
        DiskPlan { block_bytes: self.block_bytes.min(PAYLOAD_MAX), ..self }
    }

    /// Completes the plan for a mechanism: realtime signals report pipes, but no eventfds.
    pub fn under(mut self, mechanism: &Mechanism) -> DiskPlan {
        self.options.event_loop = true;
        if mechanism.name == "sigio"
            && !self.notify_is_set
            && self.engine.supports.contains(&pitot_disk::EngineOption::Notify)
        {
            self.options.notify = NotifyBy::Pipe;
        }
        self
    }

    /// Checks the engine with its options, with the model and the mechanism, and on this kernel.
    ///
    /// # Errors
    /// What makes no sense or cannot be had, with a cure.
    pub fn check(&self, model: &Model, mechanism: &Mechanism) -> Result<(), Failure> {
        let engine = self.engine;
        engine.check(&self.options).map_err(|e| {
            Failure::misuse(e.to_string(), "`pitot list engines` shows what each engine takes")
        })?;
        if let Err((why, cure)) = self.fits(model, mechanism) {
            let pair = format!("{}+{}", model.name, mechanism.name);
            return Err(Failure::misuse(format!("{pair} cannot use engine {}: {why}", engine.name), cure));
        }
        engine.probe().map_err(unavailable)
    }

    fn fits(&self, model: &Model, mechanism: &Mechanism) -> Result<(), (&'static str, &'static str)> {
        match mechanism.kind {
            Kind::Completion { .. } if !self.engine.native_to_ring => Err((
                "a ring reads files itself, and its connections are no descriptors that others could send to",
                "leave --disk away, or take --mechanism epoll-et",
            )),
            Kind::Blocking if !self.reads_in_caller() || self.options.direct => Err((
                "a worker with one connection has nothing to do while another reads for it",
                "take pread, mmap or sendfile, or a model with an event loop",
            )),
            _ if model.name == "relay" && self.route() != Route::Read => Err((
                "the data process frames what it reads, so that it cannot be sent straight from the file",
                "take pool, nowait or another engine that reads into memory",
            )),
            _ if model.name == "tokio" && self.route() != Route::InPlace => Err((
                "the threads of the runtime share their work, and an engine belongs to one thread",
                "leave --disk away, or take --model loops",
            )),
            _ if mechanism.name == "sigio" && !self.engine.raises_sigio(&self.under(mechanism).options) => {
                Err((
                    "realtime signals do not report the eventfd or ring that notifies of its completions",
                    "take --disk pool with --disk-notify pipe, or --mechanism epoll-et",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the engine can read the files that are to be served, as far as a look at some of them tells.
    ///
    /// # Errors
    /// What their file system lacks.
    pub fn admit(&self, root: &Path) -> Result<(), Unavailable> {
        let Ok(disk) = Disk::open(self) else { return Ok(()) };
        let names = std::fs::read_dir(root).into_iter().flatten().flatten().take(SAMPLES_MAX);
        let mut files = names.map(|entry| entry.path()).filter(|path| path.is_file());
        let Some(path) = files.next() else { return Ok(()) };
        match DiskFile::open(&path, &self.file_options()) {
            Ok(file) => disk.admit(&Arc::new(file)),
            Err(e) if self.options.direct && e.kind() == std::io::ErrorKind::InvalidInput => {
                Err(Unavailable {
                    what: "direct reads (O_DIRECT) of the files below the root".into(),
                    cause: "their file system does not offer them".into(),
                    cure: "leave --disk-direct away, or serve files of a file system on a disk".into(),
                })
            }
            // It may go away, or be none of ours to read.
            Err(_) => Ok(()),
        }
    }
}
