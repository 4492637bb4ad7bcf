use std::os::fd::AsFd;
use std::sync::Arc;

use pitot_sys::socket;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_blocking};
use super::threads::Threads;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::server::{Env, Server};
use crate::socket::RECEIVE_BYTES;
use crate::worker::blocking::{self, ByThread, Interrupt};

pub(super) static POOL: Model = Model {
    name: "pool",
    summary: "a fixed pool of threads, each serving one connection at a time",
    doc: "Every thread accepts a connection and serves it to the end. A connection costs only the accept, but those \
          beyond the size of the pool wait in the backlog until another one ends, so the pool should be larger than \
          the number of persistent connections. While others wait, connections are closed after a second of idle time \
          or five seconds in a request head.",
    workers: "threads; 256 by default",
    workers_default: |_| 256,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: true,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: true,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let listener = Arc::new(listeners.only());
    blocking::prepare_listener(&listener, &server)
        .map_err(|e| starting("cannot prepare the listener", &e))?;
    let mut threads = Threads::default();
    let mut interrupts = Vec::new();
    for index in 0..plan.workers {
        let interrupt = Arc::new(ByThread::default());
        interrupts.push(Arc::clone(&interrupt));
        let (server, listener) = (Arc::clone(&server), Arc::clone(&listener));
        threads.start(format!("pool-{index}"), plan.cpus.clone(), move || {
            let mut env = Env::new(&server, index);
            let mut scratch = vec![0; RECEIVE_BYTES];
            while let Some(fd) =
                blocking::accept(&listener, (&server.admission, &env.counters), || interrupt.stopping())
            {
                if server.admission.admit(&env.counters, Some(fd.as_fd())) {
                    blocking::serve(&server, &mut env, &*interrupt, fd, Some(&listener), &mut scratch);
                }
            }
            Ok(())
        })?;
    }
    threads.before_stop(move || {
        let _ = socket::stop_receiving(&*listener);
        interrupts.iter().for_each(|interrupt| interrupt.stop());
    });
    Ok(Box::new(threads))
}
