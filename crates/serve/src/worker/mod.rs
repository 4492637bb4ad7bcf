//! The worker loops: blocking calls, readiness, completion. A mechanism chooses one, a model starts as many as it
//! likes and gives each its source of connections.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use pitot_sys::Waker;

use crate::relay::RemotePlan;
use crate::server::Server;

pub mod blocking;
pub mod desk;
pub mod readiness;
pub mod ring;

/// Where a worker's connections come from.
#[derive(Debug)]
pub enum Source {
    /// A listener, which it accepts from.
    Listener(OwnedFd),
    /// Another thread, which has accepted them.
    Handoff(Arc<Handoff>),
}

/// Connections on their way from an acceptor to a worker loop. It is as long as connections come faster than the
/// loop wakes up, and the limit on connections bounds it.
#[derive(Debug)]
pub struct Handoff {
    queue: Mutex<VecDeque<OwnedFd>>,
    wake: Waker,
}

impl Handoff {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`Waker::new`].
    pub fn new() -> io::Result<Handoff> {
        Ok(Handoff { queue: Mutex::default(), wake: Waker::new()? })
    }

    /// Gives a connection to the loop. It is a blocking one, as a ring wants it: in a ring a send on a non-blocking
    /// socket fails with EAGAIN where another waits for room.
    pub fn give(&self, connection: OwnedFd) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.push_back(connection);
        if queue.len() == 1 {
            self.wake.wake();
        }
    }

    /// The next connection, if there is one.
    pub fn take(&self) -> Option<OwnedFd> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Forgets that it was woken. What was given before is still to be taken, by the same wake-up.
    pub fn reset(&self) {
        self.wake.reset();
    }
}

impl AsFd for Handoff {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Told by a worker to whoever starts it, once it has all that it needs to serve.
#[derive(Debug, Default)]
pub struct Prepared(Option<Sender<()>>);

impl Prepared {
    /// To be told to the other end of a channel. (The default is told to nobody.)
    pub fn to(starter: &Sender<()>) -> Prepared {
        Prepared(Some(starter.clone()))
    }

    /// Tells. A worker that cannot serve drops it instead.
    pub fn tell(self) {
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
    /// Told when it starts to serve.
    pub prepared: Prepared,
    /// Where threads wait that take the turns of its connections; without one it takes them itself.
    pub pool: Option<Arc<desk::Desk>>,
    /// Where the process is that has the files, if that is another, and what is woken once it has answered.
    pub remote: Option<(RemotePlan, Arc<Waker>)>,
}

/// What to do about a failed accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptFailure {
    /// There is nothing to accept.
    Nothing,
    /// That connection is gone, or the call was interrupted; try the next.
    TryNext,
    /// No descriptor or memory is left: the connections in the backlog have to wait.
    NoRoom,
    /// The listener is shut down.
    Closed,
}

impl AcceptFailure {
    /// Reads the errors of accept(2), which include those of the network that the new connection has brought.
    pub fn of(e: &io::Error) -> AcceptFailure {
        use rustix::io::Errno;
        match Errno::from_io_error(e) {
            Some(Errno::AGAIN) => AcceptFailure::Nothing,
            Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => AcceptFailure::NoRoom,
            Some(Errno::INVAL | Errno::BADF | Errno::NOTSOCK | Errno::CANCELED) => AcceptFailure::Closed,
            _ => AcceptFailure::TryNext,
        }
    }
}
