use std::os::fd::AsFd;
use std::sync::Arc;

use pitot_sys::socket;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_blocking};
use super::processes::Processes;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::server::{Env, Server};
use crate::socket::RECEIVE_BYTES;
use crate::worker::blocking::{self, BySignal, Interrupt};

pub(super) static PREFORK: Model = Model {
    name: "prefork",
    summary: "a fixed pool of processes, each serving one connection at a time",
    doc: "Every process accepts from one shared listener and serves its connection to the end, then the next, like \
          Apache's prefork module. Connections beyond the size of the pool wait in the backlog; \
          while any do, connections are closed after a second of idle time or five seconds in a request head.",
    workers: "processes; 64 by default",
    workers_default: |_| 64,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: true,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: false,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let listener = Arc::new(listeners.only());
    blocking::prepare_listener(&listener, &server)
        .map_err(|e| starting("cannot prepare the listener", &e))?;
    let to_stop = Arc::clone(&listener);
    let counters = server.counters.clone();
    let work = move |index| {
        let interrupt = BySignal::prepare();
        let mut env = Env::new(&server, index);
        let mut scratch = vec![0; RECEIVE_BYTES];
        while let Some(fd) =
            blocking::accept(&listener, (&server.admission, &env.counters), || interrupt.stopping())
        {
            if server.admission.admit(&env.counters, Some(fd.as_fd())) {
                blocking::serve(&server, &mut env, &interrupt, fd, Some(&listener), &mut scratch);
            }
        }
        0
    };
    let stop = move || {
        let _ = socket::stop_receiving(&*to_stop);
    };
    Ok(Box::new(Processes::start(
        plan.workers,
        plan.single_threaded,
        &counters,
        Box::new(work),
        Box::new(stop),
    )?))
}
