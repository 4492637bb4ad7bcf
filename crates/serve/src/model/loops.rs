use std::sync::Arc;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_loops};
use super::r#loop::start_loops;

use crate::launch::LaunchPlan;
use crate::server::Server;
use crate::worker::Source;

pub(super) static LOOPS: Model = Model {
    name: "loops",
    summary: "an event loop per worker thread, each with its own listener",
    doc: "Every thread has its own listener on the same port (SO_REUSEPORT) and the kernel distributes connections over \
          them by a hash of their addresses. Serving a request shares no state; a connection stays with its loop, so \
          that the load of the loops may be uneven. `--steer` sends a connection to the loop on the CPU that receives its first packet \
          instead, so that the kernel's work for it and the server's are done on one CPU.",
    workers: "loops; one per CPU by default",
    workers_default: |cpus| cpus,
    pairs_with: only_loops,
    launch,
    listens: Listens::Each,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: true,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: true,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let sources = listeners.0.into_iter().map(Source::Listener).collect();
    start_loops(plan, &server, sources).map(|threads| Box::new(threads) as _)
}
