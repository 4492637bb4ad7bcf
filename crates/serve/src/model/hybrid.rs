use std::sync::Arc;
use std::sync::mpsc::channel;

use pitot_results::Failure;

use super::threads::Threads;
use super::{Fleet, Listeners, Listens, Model};
use crate::conn::{Helper, RECEIVE_BYTES, Turn};
use crate::disk::Disk;
use crate::failure::starting;
use crate::mechanism::{Kind, Mechanism};
use crate::plan::ServePlan;
use crate::server::{Env, Server};
use crate::worker::desk::{Desk, Done, Job};
use crate::worker::{LoopWorker, Prepared, Source};

pub(super) static HYBRID: Model = Model {
    name: "hybrid",
    summary: "an event loop waits for the sockets, a pool of threads does the work",
    doc: "One loop waits; a connection that becomes ready goes to a thread of the pool, which receives, serves and \
          sends, and gives it back. Work that takes long holds up no other connection, and connections that are idle \
          cost no thread; each turn costs two passages between threads. Servlet containers are built like this.",
    workers: "threads of the pool beside the loop; two per CPU by default",
    workers_default: |cpus| cpus * 2,
    pairs_with,
    launch,
    listens: Listens::Shared,
};

fn pairs_with(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Err("a loop that waits for one connection would serve no other"),
        Kind::Readiness { .. } => Ok(()),
        Kind::Completion { .. } => Err(
            "completions arrive on the ring's own thread with the work half done; to spread them over threads \
                 is what loops and handoff do",
        ),
    }
}

fn launch(plan: &ServePlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Fleet>, Failure> {
    let run = super::r#loop::run_loop(plan)?;
    let mut threads = Threads::default();
    let desk = Desk::new().map_err(|e| starting("a pipe could not be made", &e))?;
    let desk = Arc::new(desk);
    for index in 1..=plan.workers() {
        let (server, desk) = (Arc::clone(&server), Arc::clone(&desk));
        threads.start(format!("pool-{index}"), plan.cpus.clone(), move || {
            let engine = server.engine().filter(|disk| disk.reads_in_caller());
            let disk = engine.map(Disk::open).transpose();
            let disk = disk.map_err(|e| std::io::Error::new(std::io::ErrorKind::Unsupported, e))?;
            work(&desk, Env::new(&server, index), disk);
            Ok(())
        })?;
    }
    let (tell, told) = channel();
    let (stop, prepared) = (threads.stop_waker()?, Prepared::to(&tell));
    let source = Source::Listener(listeners.only());
    let worker = LoopWorker { server, index: 0, source, stop, prepared, pool: Some(desk), remote: None };
    threads.start("loop".into(), plan.cpus.clone(), move || run(worker))?;
    drop(tell);
    threads.wait_until_prepared(&told)?;
    Ok(Box::new(threads))
}

/// The life of a thread of the pool.
fn work(desk: &Desk, mut env: Env, mut disk: Option<Disk>) {
    let mut scratch = vec![0; RECEIVE_BYTES];
    while let Some((Job { token, mut conn, watched }, stopping)) = desk.take() {
        env.clock.update();
        env.stopping = stopping;
        let turn =
            conn.turn_with(token, &mut env, &mut scratch, disk.as_mut().map(|disk| disk as &mut dyn Helper));
        if disk.as_ref().is_some_and(Disk::is_short) {
            // What slow clients hold is read again; the next turn of another needs memory.
            conn.give_block_back();
        }
        let needs_loop = turn != Turn::AwaitInput || !watched || stopping;
        desk.give_back(Done { token, conn, turn }, needs_loop);
    }
}
