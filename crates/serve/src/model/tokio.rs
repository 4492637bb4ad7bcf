use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use pitot_proto::{DeliverError, Delivery};
use pitot_results::Failure;
use pitot_sys::{Waker, affinity};

use super::threads::Threads;
use super::{Fleet, Listeners, Listens, Model};
use crate::clock::Tick;
use crate::conn::{Conn, RECEIVE_BYTES, Turn};
use crate::counters::Count;
use crate::depot::Stored;
use crate::failure::starting;
use crate::mechanism::Mechanism;
use crate::plan::ServePlan;
use crate::server::{Env, Server};
use crate::worker::AcceptFailure;

pub(super) static TOKIO: Model = Model {
    name: "tokio",
    summary: "a task per connection on the tokio runtime",
    doc: "The asynchronous runtime that most Rust servers use: a task per connection, a work-stealing scheduler over \
          a pool of threads, and edge-triggered epoll below. It is here to be measured beside the others; nothing \
          else in this server uses it.",
    workers: "threads of the runtime; one per CPU by default",
    workers_default: |cpus| cpus,
    pairs_with,
    launch,
    listens: Listens::Shared,
};

/// How long accepting pauses when no descriptor is left.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(50);

fn pairs_with(mechanism: &Mechanism) -> Result<(), &'static str> {
    if mechanism.name == "epoll-et" {
        Ok(())
    } else {
        Err("the runtime brings its own mechanism, which is epoll-et")
    }
}

fn launch(plan: &ServePlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Fleet>, Failure> {
    let mut threads = Threads::default();
    let (listener, stop, workers) = (listeners.only(), threads.stop_waker()?, plan.workers());
    let cpus = plan.cpus.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("tokio")
        .on_thread_start(move || {
            // A set of CPUs that cannot be had was refused before the start.
            let _ = if cpus.is_empty() { Ok(()) } else { affinity::pin(&cpus) };
        })
        .enable_io()
        .enable_time()
        .build()
        .map_err(|e| starting("the runtime could not be started", &e))?;
    threads.start("runtime".into(), plan.cpus.clone(), move || {
        runtime.block_on(async {
            runtime.spawn(accept(server, listener, stop)).await.map_err(io::Error::other)?
        })
    })?;
    Ok(Box::new(threads))
}

/// What a connection needs for a turn. As many exist as turns are taken at one time.
struct Bench {
    env: Env,
    scratch: Box<[u8]>,
}

struct Benches {
    server: Arc<Server>,
    free: Mutex<Vec<Bench>>,
}

impl Benches {
    fn take(&self) -> Bench {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut bench = free.unwrap_or_else(|| {
            let mut env = Env::new(&self.server, 0);
            env.stores_elsewhere = self.server.depot.is_some();
            Bench { env, scratch: vec![0; RECEIVE_BYTES].into_boxed_slice() }
        });
        bench.env.clock.update();
        bench
    }

    fn give_back(&self, bench: Bench) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(bench);
    }

    fn with<T>(&self, stopping: bool, work: impl FnOnce(&mut Env, &mut [u8]) -> T) -> T {
        let mut bench = self.take();
        bench.env.stopping = stopping;
        let result = work(&mut bench.env, &mut bench.scratch);
        self.give_back(bench);
        result
    }
}

async fn accept(server: Arc<Server>, listener: OwnedFd, stop: Arc<Waker>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener.into())?;
    let stop = pipe::Receiver::from_owned_fd(stop.as_fd().try_clone_to_owned()?)?;
    let benches = Arc::new(Benches { server: Arc::clone(&server), free: Mutex::default() });
    let (tell, told) = watch::channel(false);
    let counters = server.counters.worker(0);
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.readable() => break,
        };
        match accepted.map_err(|e| AcceptFailure::of(&e)) {
            Ok((socket, _)) => {
                if counters.opened(server.limits.connections_max) {
                    tasks.spawn(serve(Arc::clone(&benches), Arc::new(socket), told.clone()));
                }
                while tasks.try_join_next().is_some() {}
            }
            Err(AcceptFailure::TryNext | AcceptFailure::Nothing) => {}
            Err(AcceptFailure::Closed | AcceptFailure::NoRoom) => {
                counters.add(Count::AcceptFailed, 1);
                tokio::time::sleep(NO_ROOM_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = tell.send(true);
    let end = Instant::now() + server.limits.grace;
    while let Ok(Some(_)) = timeout_at(end, tasks.join_next()).await {}
    counters.add(Count::CutAtStop, tasks.len() as u64);
    Ok(())
}

/// Serves a connection to its end.
async fn serve(benches: Arc<Benches>, socket: Arc<TcpStream>, mut told: watch::Receiver<bool>) {
    let counters = benches.server.counters.worker(0);
    let mut conn = benches.with(false, |env, _| Conn::open(&benches.server, env, Arc::clone(&socket)));
    let mut stopping = false;
    let mut time = Time { deadline: None, ends: Instant::now() };
    let mut turn = take_turn(&benches, &mut conn, stopping, &mut time);
    loop {
        let awaited = match turn {
            Turn::AwaitInput if stopping && conn.is_idle() => {
                if !benches.with(stopping, |env, _| conn.dismiss(env)) {
                    break;
                }
                turn = take_turn(&benches, &mut conn, stopping, &mut time);
                continue;
            }
            Turn::AwaitInput => Interest::READABLE,
            Turn::AwaitRoom => Interest::WRITABLE,
            Turn::Again => {
                tokio::task::yield_now().await;
                turn = take_turn(&benches, &mut conn, stopping, &mut time);
                continue;
            }
            // No engine reads files under this model, so that it is something to be stored.
            Turn::AwaitHelper => {
                let step = benches.with(stopping, |env, _| conn.take_step(env));
                let Some((path, delivery)) = step else { break };
                let result = store(&benches.server, path, delivery).await;
                benches.with(stopping, |env, _| {
                    let answer = env.stored(result);
                    conn.stored(env, answer);
                });
                turn = take_turn(&benches, &mut conn, stopping, &mut time);
                continue;
            }
            Turn::Over => break,
        };
        turn = tokio::select! {
            biased;
            _ = told.changed(), if !stopping => {
                stopping = true;
                take_turn(&benches, &mut conn, stopping, &mut time)
            }
            ready = timeout_at(time.ends, socket.ready(awaited)) => match ready {
                Err(_) => {
                    time.deadline = None;
                    benches.with(stopping, |env, _| conn.expire(env))
                }
                Ok(Err(_)) => break,
                Ok(Ok(_)) => {
                    let mut next = turn;
                    // "Would block" makes the runtime forget the readiness that it knew of before the turn.
                    let _ = socket.try_io(awaited, || {
                        next = take_turn(&benches, &mut conn, stopping, &mut time);
                        if next == turn { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                    });
                    next
                }
            }
        };
    }
    benches.with(stopping, |env, _| conn.abandon(env));
    counters.closed();
}

/// Does a step of storing on one of the threads that the runtime has for what blocks.
async fn store(server: &Server, path: Box<[u8]>, mut delivery: Delivery) -> Result<Stored, DeliverError> {
    let depot = server.depot.clone().ok_or(DeliverError::Failed)?;
    let result = tokio::task::spawn_blocking(move || depot.store(&path, &mut delivery)).await;
    result.unwrap_or(Err(DeliverError::Failed))
}

/// When a connection's time is over.
struct Time {
    deadline: Option<Tick>,
    ends: Instant,
}

fn take_turn(benches: &Benches, conn: &mut Conn<Arc<TcpStream>>, stopping: bool, time: &mut Time) -> Turn {
    benches.with(stopping, |env, scratch| {
        let turn = conn.turn(env, scratch);
        let deadline = conn.deadline(env, time.deadline);
        if time.deadline != Some(deadline) {
            *time = Time { deadline: Some(deadline), ends: Instant::now() + conn.timeout(env) };
        }
        turn
    })
}
