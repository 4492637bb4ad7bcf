use std::sync::Arc;

use pitot_sys::socket;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_loops};
use super::r#loop::start_loops;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::server::Server;
use crate::worker::{Handoff, Source, blocking};

pub(super) static HANDOFF: Model = Model {
    name: "handoff",
    summary: "an acceptor hands connections to worker loops in turn",
    doc: "One thread accepts and hands each connection to the next loop, like memcached. Connections are \
          distributed evenly, at the price of a queue and a wake-up for each new one.",
    workers: "loops, in addition to the acceptor; one per CPU by default",
    workers_default: |cpus| cpus,
    pairs_with: only_loops,
    launch,
    listens: Listens::SharedBlocking,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: true,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let queue = || Handoff::new().map(Arc::new).map_err(|e| starting("cannot create a pipe", &e));
    let queues = (0..plan.workers).map(|_| queue()).collect::<Result<Vec<_>, _>>()?;
    let sources = queues.iter().map(|queue| Source::Handoff(Arc::clone(queue))).collect();
    let mut loops = start_loops(plan, &server, sources)?;
    let listener = Arc::new(listeners.only());
    let accepting = Arc::clone(&listener);
    let counters = server.counters.worker(0);
    loops.start("acceptor".into(), plan.cpus.clone(), move || {
        for queue in queues.iter().cycle() {
            let Some(fd) = blocking::accept(&accepting, (&server.admission, &counters), || false) else {
                break;
            };
            queue.give(fd);
        }
        Ok(())
    })?;
    loops.before_stop(move || drop(socket::stop_receiving(&*listener)));
    Ok(Box::new(loops))
}
