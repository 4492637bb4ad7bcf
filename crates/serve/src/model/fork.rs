use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use pitot_sys::process::{self, Fork};

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_blocking};
use super::processes::{Starter, start_acceptor};
use crate::launch::LaunchPlan;
use crate::server::{Env, Server};
use crate::worker::blocking::{self, BySignal};

/// Size of the receive buffer of a process with one connection.
const RECEIVE_BYTES: usize = 16 << 10;

pub(super) static FORK: Model = Model {
    name: "fork",
    summary: "a new process for every connection",
    doc: "An acceptor forks for each connection. The child serves it with blocking calls and exits. No connection can \
          harm another. The process architecture of the 2001 comparison.",
    workers: "always as many processes as connections",
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
    is_one_process: false,
    executes: false,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let (serving, single_threaded) = (Arc::clone(&server), plan.single_threaded);
    let starter = move || -> io::Result<Box<Starter>> {
        // The acceptor is a fork of the process that had one thread, and has one too.
        let single_threaded = single_threaded.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Box::new(move |fd| match single_threaded.fork()? {
            Fork::Parent(_) => Ok(()),
            Fork::Child => serve_and_exit(&serving, fd),
        }))
    };
    start_acceptor(server, listeners.only(), plan.single_threaded, Box::new(starter))
}

fn serve_and_exit(server: &Server, fd: OwnedFd) -> ! {
    let interrupt = BySignal::prepare();
    let mut env = Env::new(server, 0);
    blocking::serve(server, &mut env, &interrupt, fd, None, &mut vec![0; RECEIVE_BYTES]);
    process::exit_now(0)
}
