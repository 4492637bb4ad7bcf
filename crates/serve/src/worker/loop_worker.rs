use std::sync::Arc;
use std::sync::mpsc::Sender;

use pitot_sys::Waker;

use super::source::Source;
use super::work_queue::WorkQueue;
use crate::relay::remote::RemotePlan;
use crate::server::Server;

/// How a worker tells its starter that it has all that it needs to serve.
#[derive(Debug, Default)]
pub struct Prepared(Option<Sender<()>>);

impl Prepared {
    /// Notifies the other end of a channel. (The default notifies nobody.)
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

/// A loop that is about to run, on the thread that calls the mechanism with it.
#[derive(Debug)]
pub struct LoopWorker {
    /// What it serves.
    pub server: Arc<Server>,
    /// Its number, for its counters.
    pub index: usize,
    /// Where its connections come from.
    pub source: Source,
    /// How it is stopped: readable from then on.
    pub stop: Arc<Waker>,
    /// Notified when it starts to serve.
    pub prepared: Prepared,
    /// Where threads wait that take the turns of its connections; without one it takes them itself.
    pub pool: Option<Arc<WorkQueue>>,
    /// Where the process is that has the files, if that is another, and what is woken once it has answered.
    pub remote: Option<(RemotePlan, Arc<Waker>)>,
}
