use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use pitot_sys::{Waker, affinity, signal, socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use pitot_results::{Failure, stderr};

use super::contract::{Listeners, Listens, Model, Workers};
use super::r#loop::run_loop;
use super::processes::Processes;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::mechanism::{Kind, Mechanism};
use crate::relay::data::DataWorker;
use crate::relay::remote::RemotePlan;
use crate::server::Server;
use crate::worker::{LoopWorker, Prepared, Source};

pub(super) static RELAY: Model = Model {
    name: "relay",
    summary: "a network process and a data process, joined by a TCP connection",
    doc: "The relay process serves the clients. A data process opens and reads files with the disk engine `pool`, or \
          the one chosen with --disk (with `nowait`, hot files do not wait behind cold ones), and stores uploads in \
          its threads. One TCP connection over loopback (or --links of them) joins the two. Disk and clients are \
          isolated from each other: if the data process dies, it is restarted while the relay answers 503. The price is \
          that every byte passes through the kernel two more times. The split data server of a design note of about 2006.",
    workers: "relay processes, in addition to the data process; one by default",
    workers_default: |_| 1,
    pairs_with,
    launch,
    listens: Listens::Each,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: true,
    connection_per_worker: false,
    splits_files: true,
    reads_by_engine: true,
    is_one_process: false,
    executes: false,
    connects: true,
};

/// How long the start waits for the data process.
const DATA_PROCESS_TIMEOUT: Duration = Duration::from_secs(5);

fn pairs_with(mechanism: &Mechanism) -> Result<(), &'static str> {
    match mechanism.kind {
        Kind::Blocking => Err("a loop that blocks on one connection could serve no other"),
        Kind::Readiness { .. } => Ok(()),
        Kind::Completion { .. } => {
            Err("io_uring reads files itself, faster than through another process; use loop or preloop")
        }
    }
}

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let run = run_loop(plan)?;
    let Kind::Readiness { run_data, .. } = plan.mechanism.kind else {
        return Err(Failure::run("model relay needs a readiness mechanism", "`pitot list pairs` shows them"));
    };
    let starting = |e| starting("cannot prepare the data process", &e);
    let mut secret = [0; _];
    File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut secret)).map_err(starting)?;
    let how = socket::Listen { backlog: 128, reuse_port: false, nonblocking: true, congestion: None };
    let to_data = socket::listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), how).map_err(starting)?;
    let addr = socket::local_addr(&to_data).map_err(starting)?;
    let to_data = Arc::new(to_data);
    let remote = RemotePlan { addr, secret, links: plan.links };
    let relays = plan.workers;
    let ups =
        (0..relays).map(|_| Waker::new().map(Arc::new)).collect::<Result<Vec<_>, _>>().map_err(starting)?;

    let mut cpus: Vec<_> = (0..relays).map(|worker| plan.cpus_of(worker)).collect();
    // The data process has the next CPU, if there is one for it.
    cpus.push(plan.cpus.get(relays).map_or_else(|| plan.cpus.clone(), |&cpu| vec![cpu]));
    // The parent keeps every listener open, so that connections wait for the replacement of a process that died.
    let listeners: Vec<_> = listeners.0.into_iter().map(Some).collect();
    let listeners = Rc::new(RefCell::new(listeners));
    let to_close = Rc::clone(&listeners);
    let counters = server.counters.clone();
    let notified = ups.clone();
    let work = move |index: usize| {
        let Ok(stop) = Waker::new().map(Arc::new) else { return 1 };
        signal::wake_on_stop(Arc::clone(&stop));
        if !cpus[index].is_empty() && affinity::pin(&cpus[index]).is_err() {
            return 1;
        }
        let server = Arc::clone(&server);
        let listener = take_one(&mut listeners.borrow_mut(), index);
        let ended = match listener {
            Some(listener) => {
                let (source, prepared) = (Source::Listener(listener), Prepared::default());
                let remote = Some((remote, Arc::clone(&notified[index])));
                run(LoopWorker { server, index, source, stop, prepared, pool: None, remote })
            }
            None => run_data(DataWorker { server, index, listener: Arc::clone(&to_data), secret, stop }),
        };
        match ended {
            Ok(()) => 0,
            Err(e) => {
                stderr::line(format_args!("pitot: a process of the relay failed: {e}"));
                1
            }
        }
    };
    let stop = move || to_close.borrow_mut().clear();
    let workers =
        Processes::start(relays + 1, plan.single_threaded, &counters, Box::new(work), Box::new(stop))?;
    let end = pitot_meter::now() + DATA_PROCESS_TIMEOUT.into();
    ups.iter().for_each(|up| wait_for(up, Duration::from(end - pitot_meter::now())));
    Ok(Box::new(workers))
}

/// Waits until a relay is connected to its data process, so that the first clients are not answered 503.
fn wait_for(up: &Waker, at_most: Duration) {
    let timeout = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    let _ = poll(&mut [PollFd::from_borrowed_fd(up.as_fd(), PollFlags::IN)], Some(&timeout));
}

/// Takes the listener of a relay, or none in the data process, and closes the others.
fn take_one(listeners: &mut Vec<Option<OwnedFd>>, index: usize) -> Option<OwnedFd> {
    let own = listeners.get_mut(index).and_then(Option::take);
    listeners.clear();
    own
}
