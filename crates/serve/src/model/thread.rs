use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use pitot_sys::{socket, thread};

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_blocking};
use super::threads::Threads;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::server::{Env, Server};
use crate::worker::blocking::{self, ByThread};

/// Stack size of a connection's thread in bytes. Only address space is reserved; pages are allocated on use.
const STACK_BYTES: usize = 128 << 10;
/// Size of the receive buffer of a thread with one connection; it is on the stack.
const RECEIVE_BYTES: usize = 16 << 10;

pub(super) static THREAD: Model = Model {
    name: "thread",
    summary: "a new thread for every connection",
    doc: "An acceptor starts a thread for each connection. It serves the connection with blocking calls and ends. The \
          threaded architecture of the 2001 comparison.",
    workers: "always as many threads as connections",
    workers_default: |_| 1,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
    takes_workers: false,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: true,
    executes: false,
    connects: false,
};

type Connections = Mutex<HashMap<u64, Arc<ByThread>>>;

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let listener = Arc::new(listeners.only());
    blocking::prepare_listener(&listener, &server)
        .map_err(|e| starting("cannot prepare the listener", &e))?;
    let connections = Arc::new(Connections::default());
    let mut threads = Threads::default();
    let (accepting, serving) = (Arc::clone(&listener), Arc::clone(&connections));
    threads.start("acceptor".into(), plan.cpus.clone(), move || {
        let counters = server.counters.worker(0);
        let mut number = 0;
        while let Some(fd) = blocking::accept(&accepting, (&server.admission, &counters), || false) {
            if !server.admission.admit(&counters, Some(fd.as_fd())) {
                continue;
            }
            number += 1;
            if let Err(e) = start(number, fd, &server, &serving) {
                server.admission.no_worker(&counters, "thread", &e);
            }
        }
        Ok(())
    })?;
    Ok(Box::new(ThreadPerConnection { listener, connections, threads }))
}

fn start(
    number: u64,
    fd: OwnedFd,
    server: &Arc<Server>,
    connections: &Arc<Connections>,
) -> std::io::Result<()> {
    let interrupt = Arc::new(ByThread::default());
    lock(connections).insert(number, Arc::clone(&interrupt));
    let (server, serving) = (Arc::clone(server), Arc::clone(connections));
    let work = move || {
        let mut env = Env::new(&server, 0);
        blocking::serve(&server, &mut env, &*interrupt, fd, None, &mut [0; RECEIVE_BYTES]);
        lock(&serving).remove(&number);
    };
    let started = thread::spawn(Builder::new(), STACK_BYTES, work);
    if started.is_err() {
        lock(connections).remove(&number);
    }
    started.map(drop)
}

fn lock(connections: &Connections) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<ByThread>>> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ThreadPerConnection {
    listener: Arc<OwnedFd>,
    connections: Arc<Connections>,
    threads: Threads,
}

impl Workers for ThreadPerConnection {
    fn stop(&mut self) {
        let _ = socket::stop_receiving(&*self.listener);
        lock(&self.connections).values().for_each(|connection| connection.stop());
        self.threads.stop();
    }

    fn tend(&mut self) -> Result<(), Failure> {
        self.threads.tend()
    }

    fn done(&self) -> bool {
        self.threads.done() && lock(&self.connections).is_empty()
    }

    fn kill(&mut self) {
        self.threads.kill();
        lock(&self.connections).clear();
    }
}
