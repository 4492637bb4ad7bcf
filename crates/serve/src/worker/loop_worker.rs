use std::sync::Arc;
use std::sync::mpsc::Sender;

use pitot_sys::Waker;

use super::source::Source;
use super::work_queue::WorkQueue;
use crate::relay::remote::RemotePlan;
use crate::server::Server;

/// Reports to the starter of a worker that the worker has all that it needs to serve.
#[derive(Debug, Default)]
pub struct Prepared(Option<Sender<()>>);

impl Prepared {
    /// Notifies the other end of a channel. (The default has no effect.)
    pub fn to(starter: &Sender<()>) -> Prepared {
        Prepared(Some(starter.clone()))
    }

    /// Notifies the starter. A worker that cannot serve drops it instead.
    pub fn notify(self) {
        if let Some(starter) = self.0 {
            let _ = starter.send(());
        }
    }
}

/// The arguments of a worker loop, which runs on the calling thread.
#[derive(Debug)]
pub struct LoopWorker {
    /// What all workers share.
    pub server: Arc<Server>,
    /// Its index, which selects its counters.
    pub index: usize,
    /// The source of its connections.
    pub source: Source,
    /// Readable once the loop has to stop.
    pub stop: Arc<Waker>,
    /// Notified when it starts to serve.
    pub prepared: Prepared,
    /// The queue of a thread pool that takes the turns of its connections; without one the loop takes them itself.
    pub pool: Option<Arc<WorkQueue>>,
    /// The data process, if there is one, and the waker to notify once it has answered.
    pub remote: Option<(RemotePlan, Arc<Waker>)>,
}
