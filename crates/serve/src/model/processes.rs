//! Workers that are processes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use pitot_meter::Nanos;
use pitot_sys::process::{self, Child, Fork, SingleThreaded};
use pitot_sys::{signal, socket};

use pitot_results::Failure;

use super::contract::Workers;
use crate::counters::{Count, Counters};
use crate::failure::starting;
use crate::server::Server;
use crate::worker::blocking::{self, BySignal, Interrupt};

/// The main function of a worker process: takes its index, returns its exit code.
pub(super) type Work = Box<dyn Fn(usize) -> i32>;

/// Processes that are replaced when they die and stopped by SIGTERM.
pub(super) struct Processes {
    single_threaded: SingleThreaded,
    counters: Counters,
    work: Work,
    children: HashMap<Child, usize>,
    stopping: bool,
    before_stop: Box<dyn FnMut()>,
    /// Workers that died in a row, each soon after the one before; too many of them end the server.
    failures: u32,
    last_failure: Nanos,
}

/// Deaths within this time of each other count as consecutive.
const FAILURE_INTERVAL: Nanos = Nanos::from_secs(10);
/// Number of consecutive deaths after which the server gives up.
const FAILURES_MAX: u32 = 20;

impl Processes {
    /// Forks `count` workers, each of which uses the counter block of its index. `before_stop` runs in the parent before
    /// they are stopped.
    pub(super) fn start(
        count: usize,
        single_threaded: Option<SingleThreaded>,
        counters: &Counters,
        work: Work,
        before_stop: Box<dyn FnMut()>,
    ) -> Result<Processes, Failure> {
        let single_threaded = single_threaded.ok_or_else(|| {
            Failure::run("a process model must fork before any thread is started", "please report this")
        })?;
        // Those of an acceptor that is killed die with it, but later: the server has ended when they have.
        process::adopt_orphans().map_err(|e| starting("cannot become the parent of orphans", &e))?;
        let mut this = Processes {
            single_threaded,
            counters: counters.clone(),
            work,
            children: HashMap::new(),
            stopping: false,
            before_stop,
            failures: 0,
            last_failure: Nanos::ZERO,
        };
        for index in 0..count {
            this.fork(index)?;
        }
        Ok(this)
    }

    fn fork(&mut self, index: usize) -> Result<(), Failure> {
        let forked = self.single_threaded.fork();
        match forked.map_err(|e| starting("cannot start a worker process", &e))? {
            Fork::Child => process::exit_now((self.work)(index)),
            Fork::Parent(child) => {
                self.children.insert(child, index);
                Ok(())
            }
        }
    }
}

impl Workers for Processes {
    fn stop(&mut self) {
        self.stopping = true;
        (self.before_stop)();
        self.children.keys().for_each(|child| child.terminate());
    }

    fn tend(&mut self) -> Result<(), Failure> {
        while let Some(ended) = process::reap() {
            let Some(index) = self.children.remove(&ended.child) else { continue };
            // A worker that was killed has not counted its connections as closed.
            let cut = self.counters.settle(index);
            if self.stopping {
                self.counters.worker(index).add(Count::CutAtStop, cut);
                continue;
            }
            let now = pitot_meter::now();
            self.failures = if now - self.last_failure < FAILURE_INTERVAL { self.failures + 1 } else { 1 };
            self.last_failure = now;
            if self.failures > FAILURES_MAX {
                return Err(Failure::run(
                    format!("worker processes keep dying (the last by {ended})"),
                    "check the messages above; fewer --workers may help",
                ));
            }
            self.fork(index)?;
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.children.is_empty() && !process::has_children()
    }

    fn kill(&mut self) {
        self.children.keys().for_each(|child| child.kill());
    }
}

/// Starts a process for a connection.
pub(super) type Starter = dyn FnMut(OwnedFd) -> io::Result<()>;

/// A single worker that accepts, and starts a process for each connection with the starter from `make_starter`.
pub(super) fn start_acceptor(
    server: Arc<Server>,
    listener: OwnedFd,
    single_threaded: Option<SingleThreaded>,
    make_starter: Box<dyn FnOnce() -> io::Result<Box<Starter>>>,
) -> Result<Box<dyn Workers>, Failure> {
    blocking::prepare_listener(&listener, &server)
        .map_err(|e| starting("cannot prepare the listener", &e))?;
    let listener = Arc::new(listener);
    let (to_stop, counters) = (Arc::clone(&listener), server.counters.clone());
    let make_starter = RefCell::new(Some(make_starter));
    let work = move |_| {
        // The worker is a fork of this process and takes its own copy of the starter.
        let Some(make_starter) = make_starter.borrow_mut().take() else { return 1 };
        match make_starter() {
            Ok(mut starter) => accept_and_start(&server, &listener, &mut *starter),
            Err(_) => return 1,
        }
        0
    };
    let stop = move || {
        let _ = socket::stop_receiving(&*to_stop);
    };
    Ok(Box::new(Processes::start(1, single_threaded, &counters, Box::new(work), Box::new(stop))?))
}

/// Runs the acceptor, which leads the process group of its connections' processes.
fn accept_and_start(server: &Server, listener: &OwnedFd, start: &mut Starter) {
    let _ = process::lead_group();
    signal::reap_children();
    let interrupt = BySignal::prepare();
    let counters = server.counters.worker(0);
    while let Some(fd) = blocking::accept(listener, (&server.admission, &counters), || interrupt.stopping()) {
        // A process killed by a signal has not counted its connection as closed.
        (0..signal::take_failed_children()).for_each(|_| counters.closed());
        if server.admission.admit(&counters, Some(fd.as_fd()))
            && let Err(e) = start(fd)
        {
            server.admission.no_worker(&counters, "process", &e);
        }
    }
    process::terminate_group();
    process::wait_for_children();
}
