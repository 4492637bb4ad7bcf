use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_results::Failure;
use pitot_sys::socket;

use super::threads::Threads;
use super::{Fleet, Listeners, Listens, Model, only_blocking};
use crate::conn::RECEIVE_BYTES;
use crate::failure::starting;
use crate::plan::ServePlan;
use crate::server::{Env, Server};
use crate::worker::blocking::{self, ByThread, Interrupt};

pub(super) static POOL: Model = Model {
    name: "pool",
    summary: "a fixed pool of threads, each serving one connection at a time",
    doc: "Every thread accepts for itself and serves its connection to the end. There is no cost per connection but \
          the accept; a connection beyond the size of the pool waits in the backlog until another one ends, so the \
          pool must be larger than the number of connections that persist.",
    workers: "threads; 256 by default",
    workers_default: |_| 256,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
};

fn launch(plan: &ServePlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Fleet>, Failure> {
    let listener = Arc::new(listeners.only());
    blocking::prepare_listener(&listener, &server)
        .map_err(|e| starting("the listener could not be prepared", &e))?;
    let mut threads = Threads::default();
    let mut interrupts = Vec::new();
    for index in 0..plan.workers() {
        let interrupt = Arc::new(ByThread::default());
        interrupts.push(Arc::clone(&interrupt));
        let (server, listener) = (Arc::clone(&server), Arc::clone(&listener));
        threads.start(format!("pool-{index}"), plan.cpus.clone(), move || {
            let mut env = Env::new(&server, index);
            let mut scratch = vec![0; RECEIVE_BYTES];
            while let Some(fd) = blocking::accept(&listener, &env.counters, || interrupt.stopping()) {
                if env.counters.opened(env.limits.connections_max) {
                    blocking::serve(&server, &mut env, &*interrupt, fd, &mut scratch);
                }
            }
            Ok(())
        })?;
    }
    Ok(Box::new(Pool { listener, interrupts, threads }))
}

struct Pool {
    listener: Arc<OwnedFd>,
    interrupts: Vec<Arc<ByThread>>,
    threads: Threads,
}

impl Fleet for Pool {
    fn stop(&mut self) {
        let _ = socket::stop_receiving(&*self.listener);
        self.interrupts.iter().for_each(|interrupt| interrupt.stop());
        self.threads.stop();
    }

    fn tend(&mut self) -> Result<(), Failure> {
        self.threads.tend()
    }

    fn done(&self) -> bool {
        self.threads.done()
    }

    fn kill(&mut self) {
        self.threads.kill();
    }
}
