use std::sync::Arc;
use std::sync::mpsc::channel;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_loops};
use super::threads::Threads;
use crate::launch::LaunchPlan;
use crate::mechanism::Run;
use crate::server::Server;
use crate::worker::{LoopWorker, Prepared, Source};

pub(super) static LOOP: Model = Model {
    name: "loop",
    summary: "one event loop for everything",
    doc: "One thread waits for all connections at once and serves those that are ready: no context switches, no locks, \
          one CPU. The asynchronous architecture of the 2001 comparison.",
    workers: "loops; always one",
    workers_default: |_| 1,
    pairs_with: only_loops,
    launch,
    listens: Listens::Shared,
    takes_workers: true,
    workers_max: 1,
    loops_accept: true,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: true,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    start_loops(plan, &server, vec![Source::Listener(listeners.only())]).map(|threads| Box::new(threads) as _)
}

/// Starts a thread with an event loop for each source.
pub(super) fn start_loops(
    plan: &LaunchPlan,
    server: &Arc<Server>,
    sources: Vec<Source>,
) -> Result<Threads, Failure> {
    let run = run_loop(plan)?;
    let mut threads = Threads::default();
    let (ready_sender, ready_receiver) = channel();
    for (index, source) in sources.into_iter().enumerate() {
        let (server, stop, prepared) =
            (Arc::clone(server), threads.stop_waker()?, Prepared::to(&ready_sender));
        let worker = LoopWorker { server, index, source, stop, prepared, pool: None, remote: None };
        threads.start(format!("loop-{index}"), plan.cpus_of(index), move || run(worker))?;
    }
    drop(ready_sender);
    threads.wait_until_prepared(&ready_receiver)?;
    Ok(threads)
}

/// The event loop of the plan's mechanism. A checked plan has one.
pub(super) fn run_loop(plan: &LaunchPlan) -> Result<Run, Failure> {
    plan.mechanism.run_loop().ok_or_else(|| {
        Failure::misuse(
            format!("an event loop cannot use mechanism {}", plan.mechanism.name),
            "`pitot list pairs` shows the supported combinations",
        )
    })
}
