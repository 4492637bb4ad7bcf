use std::sync::Arc;
use std::sync::mpsc::channel;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers};
use super::threads::Threads;
use crate::disk::Disk;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::mechanism::{Kind, Mechanism};
use crate::server::{Env, Server};
use crate::socket::{Helper, RECEIVE_BYTES, Turn};
use crate::worker::work_queue::{Done, Job, WorkQueue};
use crate::worker::{LoopWorker, Prepared, Source};

pub(super) static HYBRID: Model = Model {
    name: "hybrid",
    summary: "an event loop waits for the sockets, a pool of threads does the work",
    doc: "One loop waits. A connection that becomes ready goes to a thread of the pool, which receives, serves and \
          sends, and returns it to the loop. A slow request delays no other connection and idle connections occupy no \
          thread, but each turn costs two hand-overs between threads. Servlet containers are built like this.",
    workers: "threads of the pool, in addition to the loop; two per CPU by default",
    workers_default: |cpus| cpus * 2,
    pairs_with,
    launch,
    listens: Listens::Shared,
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

fn pairs_with(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Err("a loop that blocks on one connection could serve no other"),
        Kind::Readiness { .. } => Ok(()),
        Kind::Completion { .. } => Err(
            "completions arrive on the ring's thread with the work half done; to distribute them over threads, \
                 use loops or handoff",
        ),
    }
}

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let run = super::r#loop::run_loop(plan)?;
    let mut threads = Threads::default();
    let queue = WorkQueue::new().map_err(|e| starting("cannot create a pipe", &e))?;
    let queue = Arc::new(queue);
    for index in 1..=plan.workers {
        let (server, queue) = (Arc::clone(&server), Arc::clone(&queue));
        threads.start(format!("pool-{index}"), plan.cpus.clone(), move || {
            let engine = server.engine().filter(|disk| disk.reads_in_caller());
            let disk = engine.map(Disk::open).transpose();
            let disk = disk.map_err(|e| std::io::Error::new(std::io::ErrorKind::Unsupported, e))?;
            work(&queue, Env::new(&server, index), disk);
            Ok(())
        })?;
    }
    let (ready_sender, ready_receiver) = channel();
    let (stop, prepared) = (threads.stop_waker()?, Prepared::to(&ready_sender));
    let source = Source::Listener(listeners.only());
    let worker = LoopWorker { server, index: 0, source, stop, prepared, pool: Some(queue), remote: None };
    threads.start("loop".into(), plan.cpus.clone(), move || run(worker))?;
    drop(ready_sender);
    threads.wait_until_prepared(&ready_receiver)?;
    Ok(Box::new(threads))
}

/// Runs a thread of the pool.
fn work(queue: &WorkQueue, mut env: Env, mut disk: Option<Disk>) {
    let mut scratch = vec![0; RECEIVE_BYTES];
    while let Some((Job { token, mut connection, is_watched }, stopping)) = queue.take() {
        env.update_time();
        env.worker.stopping = stopping;
        let helper = disk.as_mut().map(|disk| disk as &mut dyn Helper);
        let turn = connection.turn_with(token, &mut env, &mut scratch, helper);
        if disk.as_ref().is_some_and(Disk::is_short) {
            // Blocks of slow clients are released and read again later: others need the memory.
            connection.give_block_back();
        }
        env.publish_counts();
        let needs_loop = !matches!(turn, Turn::AwaitInput) || !is_watched || stopping;
        queue.give_back(Done { token, connection, turn }, needs_loop);
    }
}
