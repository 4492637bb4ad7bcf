use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;

use pitot_sys::{Waker, affinity, signal};

use pitot_results::{Failure, stderr};

use super::contract::{Listeners, Listens, Model, Workers, only_loops};
use super::r#loop::run_loop;
use super::processes::Processes;
use crate::launch::LaunchPlan;
use crate::server::Server;
use crate::worker::{LoopWorker, Prepared, Source};

pub(super) static PRELOOP: Model = Model {
    name: "preloop",
    summary: "a process per worker, an event loop in each",
    doc: "As loops, but the workers are processes, as in nginx: they share nothing, a worker that dies is replaced, and \
          each has its own limit on descriptors, so that the server may have more connections than one process could.",
    workers: "processes; one per CPU by default",
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
    is_one_process: false,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let run = run_loop(plan)?;
    let cpus: Vec<_> = (0..plan.workers).map(|worker| plan.cpus_of(worker)).collect();
    // The parent keeps every listener open, so that connections wait for the replacement of a worker that died.
    let listeners: Vec<_> = listeners.0.into_iter().map(Some).collect();
    let listeners = Rc::new(RefCell::new(listeners));
    let to_close = Rc::clone(&listeners);
    let counters = server.counters.clone();
    let work = move |index: usize| {
        let Some(listener) = take_one(&mut listeners.borrow_mut(), index) else { return 1 };
        let Ok(stop) = Waker::new().map(Arc::new) else { return 1 };
        signal::wake_on_stop(Arc::clone(&stop));
        if !cpus[index].is_empty() && affinity::pin(&cpus[index]).is_err() {
            return 1;
        }
        let (server, source) = (Arc::clone(&server), Source::Listener(listener));
        let worker = LoopWorker {
            server,
            index,
            source,
            stop,
            prepared: Prepared::default(),
            pool: None,
            remote: None,
        };
        match run(worker) {
            Ok(()) => 0,
            Err(e) => {
                stderr::line(format_args!("pitot: a worker process failed: {e}"));
                1
            }
        }
    };
    // A worker closes its listener when it has accepted the last; no other copy may keep the port open.
    let stop = move || to_close.borrow_mut().clear();
    Ok(Box::new(Processes::start(
        plan.workers,
        plan.single_threaded,
        &counters,
        Box::new(work),
        Box::new(stop),
    )?))
}

/// Takes the listener of a worker, and closes the others.
fn take_one(listeners: &mut Vec<Option<OwnedFd>>, index: usize) -> Option<OwnedFd> {
    let own = listeners.get_mut(index)?.take();
    listeners.clear();
    own
}
