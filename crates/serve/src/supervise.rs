//! The life of a server: start, serve, stop, report.

use std::sync::Arc;
use std::time::Duration;

use pitot_sys::process::SingleThreaded;
use pitot_sys::signal::{self, Signal, SignalFd};
use pitot_sys::{limits, process, readiness, usage};

use pitot_results::Failure;

use crate::address::Address;
use crate::check::check;
use crate::counters::{Count, Counters};
use crate::failure::starting;
use crate::listen;
use crate::model::Workers;
use crate::plan::ServePlan;
use crate::rights;

/// How often the supervisor checks its workers, as threads send no signal when they end.
const TEND_INTERVAL: Duration = Duration::from_millis(500);
/// The same while the server stops.
const TEND_STOPPING_INTERVAL: Duration = Duration::from_millis(10);
/// How long workers may take after the grace time, which they enforce themselves.
const BEYOND_GRACE: Duration = Duration::from_secs(2);

/// What a server did, from its start to its end.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The counters, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// The peak of open connections.
    pub open_peak: u64,
    /// Connections that were still open at the end.
    pub open: u64,
    /// CPU time of all threads and processes.
    pub cpu_user: Duration,
    /// The same, in the kernel.
    pub cpu_system: Duration,
    /// The largest resident set of one process.
    pub rss_peak_bytes: u64,
    /// The largest resident set of a worker process; 0 if there were none.
    pub worker_rss_peak_bytes: u64,
    /// How long it served.
    pub duration: Duration,
    /// True if workers had to be killed after the grace time.
    pub forced: bool,
}

/// Runs a server until SIGINT, SIGTERM or SIGHUP. `ready` is called with the address once connections are accepted.
///
/// It must be called before the process has started any thread.
///
/// # Errors
/// Why it cannot start or continue, with a fix.
pub fn run(plan: &ServePlan, ready: impl FnOnce(&Address)) -> Result<Summary, Failure> {
    check(plan)?;
    process::end_on_panic();
    if !plan.cpus.is_empty() {
        pitot_sys::affinity::pin(&plan.cpus).map_err(|e| {
            Failure::misuse(
                format!("cannot bind the server to CPUs {:?}: {e}", plan.cpus),
                "--cpus takes numbers of online CPUs; see `lscpu -e`",
            )
        })?;
    }
    limits::raise_descriptors().map_err(|e| starting("cannot raise the limit on file descriptors", &e))?;
    // Every thread and process inherits this mask: signals interrupt only workers that unblock them.
    readiness::block_sigio();
    let signals = SignalFd::new(&[Signal::that_end(), vec![Signal::Child]].concat())
        .map_err(|e| starting("cannot wait for signals", &e))?;
    if plan.engine().is_some_and(|disk| disk.engine.threads_take_signals) {
        // The library's threads block no signals, so that one of them might receive those meant for this thread.
        signal::forward_stop();
    }
    let counters = Counters::new(plan.workers() + 1)
        .map_err(|e| starting("cannot allocate memory for the counters", &e))?;
    let server = Arc::new(plan.server(counters.clone())?);
    // It is removed when this function is left; children end without that.
    let (listeners, address, _socket_file) = listen::bind(plan)?;

    let single_threaded = SingleThreaded::check();
    rights::give_up(plan, &server, single_threaded)?;
    let started = pitot_meter::now();
    let mut workers = (plan.model.launch)(&plan.launch(single_threaded), server, listeners)?;
    ready(&address);
    let ended = serve(&signals, &mut *workers);
    workers.stop();
    let forced = !wind_down(&signals, &mut *workers, plan.limits.grace + BEYOND_GRACE);
    ended?;

    let (own, children) = (usage::of_this_process(), usage::of_ended_children());
    Ok(Summary {
        counts: Count::ALL.iter().map(|&(count, name)| (name, counters.total(count))).collect(),
        open_peak: counters.open_peak(),
        open: counters.open(),
        cpu_user: own.cpu_user + children.cpu_user,
        cpu_system: own.cpu_system + children.cpu_system,
        rss_peak_bytes: own.rss_peak_bytes.max(children.rss_peak_bytes),
        worker_rss_peak_bytes: children.rss_peak_bytes,
        duration: (pitot_meter::now() - started).into(),
        forced,
    })
}

/// Supervises the workers until a signal stops the server.
fn serve(signals: &SignalFd, workers: &mut dyn Workers) -> Result<(), Failure> {
    loop {
        if signals.wait(Some(TEND_INTERVAL)).is_some_and(Signal::ends) {
            return Ok(());
        }
        workers.tend()?;
    }
}

/// Waits until all workers have ended; false if they had to be killed. A second signal ends the wait.
fn wind_down(signals: &SignalFd, workers: &mut dyn Workers, timeout: Duration) -> bool {
    let end = pitot_meter::now() + timeout.into();
    let mut waits = true;
    while waits && pitot_meter::now() < end {
        let _ = workers.tend();
        if workers.done() {
            return true;
        }
        waits = !signals.wait(Some(TEND_STOPPING_INTERVAL)).is_some_and(Signal::ends);
    }
    workers.kill();
    while !workers.done() {
        let _ = workers.tend();
        signals.wait(Some(TEND_STOPPING_INTERVAL));
    }
    false
}
