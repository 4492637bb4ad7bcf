//! What all workers of a server share, and what each has for itself.

use std::fmt;

use pitot_proto::{Protocol, StoreError, StoreStep, Tally, Upload, Worker};

use crate::clock::Clock;
use crate::counters::{Count, Counters, WorkerCounters};
use crate::disk::{DiskPlan, Route};
use crate::files::{Files, Root};
use crate::limits::Limits;
use crate::store::{Store, Stored};

/// What all workers share.
pub struct Server {
    /// The protocol.
    pub protocol: Box<dyn Protocol>,
    /// The directory that is served.
    pub root: Option<Root>,
    /// Where mail goes, or where files may be put.
    pub store: Option<Store>,
    /// The engine that reads files, if one does, and the route that bodies take.
    pub disk: Option<DiskPlan>,
    /// See `disk`.
    pub route: Route,
    /// The head of a reply waits for the first bytes of its file, to share a packet with them (MSG_MORE).
    pub cork: bool,
    /// Limits.
    pub limits: Limits,
    /// Counters.
    pub counters: Counters,
}

impl Server {
    /// The engine that the workers of this server open, if bodies go by one.
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

/// What one worker has for itself.
#[derive(Debug)]
pub struct Env {
    /// What its connections share.
    pub worker: Worker,
    /// Its open files.
    pub files: Files,
    /// Its counters.
    pub counters: WorkerCounters,
    /// Limits.
    pub limits: Limits,
    /// How the bodies of files travel.
    pub route: Route,
    /// See [`Server::cork`].
    pub cork: bool,
    /// What is stored is not stored by this worker, which must not wait for the disk.
    pub stores_elsewhere: bool,
    store: Option<Store>,
    clock: Clock,
    /// Replies of the present tally whose CPU time has been burnt.
    burnt: u64,
}

impl Env {
    /// The environment of worker `index`.
    pub fn new(server: &Server, index: usize) -> Env {
        let mut env = Env {
            worker: Worker::new(&server.limits.connection),
            files: Files::new(server.root.clone(), server.engine().map(DiskPlan::file_options)),
            counters: server.counters.worker(index),
            limits: server.limits,
            route: server.route,
            cork: server.cork,
            stores_elsewhere: false,
            store: server.store.clone(),
            clock: Clock::new(),
            burnt: 0,
        };
        env.update_time();
        env
    }

    /// Reads the time, after each wait.
    pub fn update_time(&mut self) {
        self.clock.update(&mut self.worker);
    }

    /// Adds what has happened to the shared counters. To be called before each wait.
    pub fn publish_counts(&mut self) {
        if self.worker.tally != Tally::default() {
            self.counters.add_tally(std::mem::take(&mut self.worker.tally));
            self.burnt = 0;
        }
    }

    /// Burns the CPU time of the replies that are about to be sent, if some was asked for.
    pub fn burn(&mut self) {
        if !self.limits.burn.is_zero() {
            let replies = self.worker.tally.replies - self.burnt;
            self.burnt = self.worker.tally.replies;
            pitot_meter::burn((self.limits.burn * u32::try_from(replies).unwrap_or(u32::MAX)).into());
        }
    }

    /// Carries out a step of storing here, which waits for the disk.
    pub fn store(&mut self, path: &[u8], step: &mut StoreStep) -> Result<Option<Upload>, StoreError> {
        let result = match &self.store {
            Some(store) => store.store(path, step),
            None => Err(StoreError::Failed),
        };
        self.answer_to_store(result)
    }

    /// Takes a step of storing out of its exchange, for somebody else to carry out. The outcome comes back through
    /// [`Env::answer_to_store`].
    pub fn take_step(&mut self, path: &[u8], step: &mut StoreStep) -> (Box<[u8]>, StoreStep) {
        if step.upload.is_none() {
            // To close the file that is replaced after it was frees its blocks, and that waits for the disk.
            self.files.forget(path);
        }
        (path.into(), std::mem::take(step))
    }

    /// What a connection is to know of the outcome of a step of storing.
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
        self.publish_counts();
    }
}
