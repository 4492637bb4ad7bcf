//! The state that all workers of a server share, and the state of each worker.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_proto::{FileFailure, OpenError, Outbox, Protocol, StoreError, StoreStep, Tally, Upload, Worker};

use crate::access_log::{AccessLog, LogBuffer};
use crate::admission::Admission;
use crate::clock::Clock;
use crate::counters::{Count, Counters, WorkerCounters};
use crate::disk::{DiskPlan, Route};
use crate::files::{Files, Root};
use crate::limits::Limits;
use crate::ring_features::RingFeatures;
use crate::send::unreadable;
use crate::store::{Store, Stored};
use crate::tls::Tls;

/// The state that all workers share.
pub struct Server {
    /// The protocol.
    pub protocol: Box<dyn Protocol>,
    /// The directory that is served, if there is one.
    pub root: Option<Root>,
    /// Where mail or uploads are stored, if anything is.
    pub store: Option<Store>,
    /// Where requests are logged, if they are.
    pub access_log: Option<Arc<AccessLog>>,
    /// The engine that reads files, if there is one, and the route of file bodies.
    pub disk: Option<DiskPlan>,
    /// See `disk`.
    pub route: Route,
    /// TLS, if the server has a certificate.
    pub tls: Option<Tls>,
    /// Send the head of a reply in one packet with the first bytes of its file (MSG_MORE).
    pub cork: bool,
    /// What the mechanism uring uses.
    pub ring: RingFeatures,
    /// Limits on time, memory and connections.
    pub limits: Limits,
    /// Which connections are taken.
    pub admission: Admission,
    /// True if clients connect to a Unix socket, whose connections do not inherit the options of their listener.
    pub is_unix: bool,
    /// True if each worker serves one connection at a time, so that further ones wait until one ends.
    pub connection_per_worker: bool,
    /// Counters.
    pub counters: Counters,
}

impl Server {
    /// The engine that each worker opens, if file bodies are read by one.
    pub fn engine(&self) -> Option<&DiskPlan> {
        self.disk.as_ref().filter(|_| self.route != Route::InPlace)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("root", &self.root)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The size of one read of a file that is encrypted, bytes.
const READ_BYTES: usize = 64 << 10;

/// The state of one worker.
#[derive(Debug)]
pub struct Env {
    /// The state that its connections share.
    pub worker: Worker,
    /// Its open-file cache.
    pub files: Files,
    /// Its counters.
    pub counters: WorkerCounters,
    /// Limits on time, memory and connections.
    pub limits: Limits,
    /// The route of file bodies.
    pub route: Route,
    /// See [`Server::cork`].
    pub cork: bool,
    /// True if this worker must not wait for the disk, so that storing is left to others.
    pub stores_elsewhere: bool,
    /// True if lines of the log may wait for more to be written with them: an event loop, which wakes up again.
    pub batches_log: bool,
    store: Option<Store>,
    /// The last part read of a file; reusable once it is encrypted.
    read_buffer: Arc<Vec<u8>>,
    clock: Clock,
    /// Replies of the current tally whose additional CPU time was spent.
    burnt: u64,
}

impl Env {
    /// The state of worker `index`.
    pub fn new(server: &Server, index: usize) -> Env {
        let mut env = Env {
            worker: Worker::new(&server.limits.connection),
            files: Files::new(server.root.clone(), server.engine().map(DiskPlan::file_options)),
            counters: server.counters.worker(index),
            limits: server.limits,
            route: server.route,
            cork: server.cork,
            stores_elsewhere: false,
            batches_log: false,
            store: server.store.clone(),
            read_buffer: Arc::default(),
            clock: Clock::new(),
            burnt: 0,
        };
        if let Some(tls) = &server.tls {
            tls.prepare(&mut env.worker);
        }
        if let Some(log) = &server.access_log {
            env.worker.log = Some(Box::new(LogBuffer::new(Arc::clone(log), env.counters.clone())));
        }
        env.update_time();
        env
    }

    /// Updates the time. Call it after each wait.
    pub fn update_time(&mut self) {
        self.clock.update(&mut self.worker);
    }

    /// Adds the tally to the shared counters. Call it before each wait.
    pub fn publish_counts(&mut self) {
        if self.worker.tally != Tally::default() {
            self.counters.add_tally(std::mem::take(&mut self.worker.tally));
            self.burnt = 0;
        }
        if let Some(log) = &mut self.worker.log {
            log.flush(self.worker.now, !self.batches_log);
        }
    }

    /// True if lines of the log wait to be written, so that the next wait must not be without end.
    pub fn log_is_waiting(&self) -> bool {
        self.worker.log.as_ref().is_some_and(|log| log.is_waiting())
    }

    /// Spends the extra CPU time of the replies that are about to be sent (`--burn`).
    pub fn burn(&mut self) {
        if !self.limits.burn.is_zero() {
            let replies = self.worker.tally.replies - self.burnt;
            self.burnt = self.worker.tally.replies;
            pitot_meter::burn((self.limits.burn * u32::try_from(replies).unwrap_or(u32::MAX)).into());
        }
    }

    /// Reads the next part of the first file in the outbox in this thread, which blocks on the disk as sendfile(2) does.
    ///
    /// # Errors
    /// The file is shorter than its announced size, or cannot be read.
    pub fn read_file(&mut self, out: &mut Outbox) -> Result<(), FileFailure> {
        let Some((handle, range)) = out.file_to_read() else { return Ok(()) };
        let Some(file) = handle.0.downcast_ref::<OwnedFd>() else {
            return Err(FileFailure::Unreadable(OpenError::Failed));
        };
        if Arc::get_mut(&mut self.read_buffer).is_none_or(|buffer| buffer.is_empty()) {
            self.read_buffer = Arc::new(vec![0; READ_BYTES]);
        }
        let Some(buffer) = Arc::get_mut(&mut self.read_buffer) else { return Ok(()) };
        let len = (range.end - range.start).min(READ_BYTES as u64) as usize;
        match rustix::io::pread(file, &mut buffer[..len], range.start) {
            Ok(0) => Err(FileFailure::Truncated),
            Ok(n) => {
                out.fill(self.read_buffer.clone(), 0..n);
                Ok(())
            }
            Err(rustix::io::Errno::INTR) => Ok(()),
            Err(e) => Err(unreadable(&e.into())),
        }
    }

    /// Carries out a step of storing in this thread, which blocks on the disk.
    pub fn store(&mut self, path: &[u8], step: &mut StoreStep) -> Result<Option<Upload>, StoreError> {
        let result = match &self.store {
            Some(store) => store.store(path, step),
            None => Err(StoreError::Failed),
        };
        self.answer_to_store(result)
    }

    /// Takes a step of storing out of its exchange, for another thread or process to carry out. The outcome is passed to
    /// [`Env::answer_to_store`].
    pub fn take_step(&mut self, path: &[u8], step: &mut StoreStep) -> (Box<[u8]>, StoreStep) {
        if step.upload.is_none() {
            // Closing the replaced file later would free its blocks, which blocks on the disk.
            self.files.forget(path);
        }
        (path.into(), std::mem::take(step))
    }

    /// The answer to a connection for the outcome of a step of storing.
    pub fn answer_to_store(
        &mut self,
        result: Result<Stored, StoreError>,
    ) -> Result<Option<Upload>, StoreError> {
        match result {
            Ok(Stored::Begun(upload)) => Ok(Some(upload)),
            Ok(Stored::Done(path)) => {
                self.files.forget(&path);
                Ok(None)
            }
            Err(error) => {
                self.counters.add(Count::StoreFailed, 1);
                Err(error)
            }
        }
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        self.batches_log = false;
        self.publish_counts();
    }
}
