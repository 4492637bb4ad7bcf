use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use pitot_proto::{StoreError, StoreStep, Tick};
use pitot_sys::{Waker, affinity};

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers};
use super::threads::Threads;
use super::tokio_sockets::{Accept, Stream};
use crate::counters::Count;
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::mechanism::Mechanism;
use crate::server::{Env, Server};
use crate::socket::{RECEIVE_BYTES, Request, SocketConnection, Turn};
use crate::store::Stored;
use crate::worker::AcceptFailure;

pub(super) static TOKIO: Model = Model {
    name: "tokio",
    summary: "a task per connection on the tokio runtime",
    doc: "The asynchronous runtime that most Rust servers use: a task per connection, a work-stealing scheduler over \
          a pool of threads, and edge-triggered epoll. It exists for comparison with the others; nothing else in \
          this server uses it.",
    workers: "threads of the runtime; one per CPU by default",
    workers_default: |cpus| cpus,
    pairs_with,
    launch,
    listens: Listens::Shared,
    takes_workers: true,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: false,
    is_one_process: true,
    executes: false,
    connects: false,
};

/// How long accepting pauses when no descriptor is left.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(50);

fn pairs_with(mechanism: &Mechanism) -> Result<(), &'static str> {
    if mechanism.is_of_runtime { Ok(()) } else { Err("the runtime has a built-in mechanism, epoll-et") }
}

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let mut threads = Threads::default();
    let (listener, stop, workers) = (listeners.only(), threads.stop_waker()?, plan.workers);
    let cpus = plan.cpus.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .thread_name("tokio")
        .on_thread_start(move || {
            // An invalid set of CPUs was refused before the start.
            let _ = if cpus.is_empty() { Ok(()) } else { affinity::pin(&cpus) };
        })
        .enable_io()
        .enable_time()
        .build()
        .map_err(|e| starting("cannot start the runtime", &e))?;
    threads.start("runtime".into(), plan.cpus.clone(), move || {
        runtime.block_on(async {
            let accepting = if server.is_unix {
                runtime.spawn(accept(server, UnixListener::from_std(listener.into())?, stop))
            } else {
                runtime.spawn(accept(server, TcpListener::from_std(listener.into())?, stop))
            };
            accepting.await.map_err(io::Error::other)?
        })
    })?;
    Ok(Box::new(threads))
}

/// The resources of a turn. There are as many as concurrent turns.
struct TurnEnv {
    env: Env,
    scratch: Box<[u8]>,
}

struct TurnEnvs {
    server: Arc<Server>,
    free: Mutex<Vec<TurnEnv>>,
}

impl TurnEnvs {
    fn take(&self) -> TurnEnv {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut turn_env = free.unwrap_or_else(|| {
            let mut env = Env::new(&self.server, 0);
            env.stores_elsewhere = self.server.store.is_some();
            TurnEnv { env, scratch: vec![0; RECEIVE_BYTES].into_boxed_slice() }
        });
        turn_env.env.update_time();
        turn_env
    }

    fn with<T>(&self, stopping: bool, work: impl FnOnce(&mut Env, &mut [u8]) -> T) -> T {
        let mut turn_env = self.take();
        turn_env.env.worker.stopping = stopping;
        let result = work(&mut turn_env.env, &mut turn_env.scratch);
        turn_env.env.publish_counts();
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(turn_env);
        result
    }
}

async fn accept<A: Accept>(server: Arc<Server>, listener: A, stop: Arc<Waker>) -> io::Result<()> {
    let stop = pipe::Receiver::from_owned_fd(stop.as_fd().try_clone_to_owned()?)?;
    let envs = Arc::new(TurnEnvs { server: Arc::clone(&server), free: Mutex::default() });
    let (stop_tasks, stopped) = watch::channel(false);
    let counters = server.counters.worker(0);
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            _ = stop.readable() => break,
        };
        match accepted.map_err(|e| AcceptFailure::of(&e)) {
            Ok(socket) => {
                if server.admission.admit(&counters, Some(socket.as_fd())) {
                    tasks.spawn(serve(Arc::clone(&envs), Arc::new(socket), stopped.clone()));
                }
                while tasks.try_join_next().is_some() {}
            }
            Err(AcceptFailure::TryNext | AcceptFailure::Nothing) => {}
            Err(failure) => {
                match failure {
                    AcceptFailure::NoRoom(why) => server.admission.no_room(&counters, why),
                    _ => counters.add(Count::AcceptFailed, 1),
                }
                tokio::time::sleep(NO_ROOM_PAUSE).await;
            }
        }
    }
    drop(listener);
    let _ = stop_tasks.send(true);
    let end = Instant::now() + server.limits.grace;
    while let Ok(Some(_)) = timeout_at(end, tasks.join_next()).await {}
    counters.add(Count::CutAtStop, tasks.len() as u64);
    Ok(())
}

/// Serves a connection until it is closed.
async fn serve<S: Stream>(envs: Arc<TurnEnvs>, socket: Arc<S>, mut stop: watch::Receiver<bool>) {
    let counters = envs.server.counters.worker(0);
    let mut connection =
        envs.with(false, |env, _| SocketConnection::open(&envs.server, env, Arc::clone(&socket)));
    let mut stopping = false;
    let mut time = Time { deadline: Tick::NEVER, ends: Instant::now() };
    let mut turn = take_turn(&envs, &mut connection, stopping, &mut time);
    loop {
        let awaited = match turn {
            Turn::AwaitInput if stopping && connection.is_idle() => {
                envs.with(stopping, |env, _| connection.dismiss(env));
                turn = take_turn(&envs, &mut connection, stopping, &mut time);
                continue;
            }
            Turn::AwaitInput => Interest::READABLE,
            Turn::AwaitRoom => Interest::WRITABLE,
            Turn::Again => {
                tokio::task::yield_now().await;
                turn = take_turn(&envs, &mut connection, stopping, &mut time);
                continue;
            }
            Turn::Ask(Request::Store(path, step)) => {
                let result = store(&envs.server, path, step).await;
                envs.with(stopping, |env, _| {
                    let answer = env.answer_to_store(result);
                    connection.stored(env, answer);
                });
                turn = take_turn(&envs, &mut connection, stopping, &mut time);
                continue;
            }
            Turn::AwaitTime(delay) => {
                tokio::time::sleep(delay).await;
                stopping |= *stop.borrow_and_update();
                envs.with(stopping, |env, _| connection.delayed(env));
                turn = take_turn(&envs, &mut connection, stopping, &mut time);
                continue;
            }
            // Under this model no engine reads files, and they belong to this process.
            Turn::Ask(Request::Read | Request::Look(_)) | Turn::AwaitHelper | Turn::Over => break,
        };
        turn = tokio::select! {
            biased;
            _ = stop.changed(), if !stopping => {
                stopping = true;
                take_turn(&envs, &mut connection, stopping, &mut time)
            }
            ready = timeout_at(time.ends, socket.until_ready(awaited)) => match ready {
                Err(_) => {
                    envs.with(stopping, |env, _| connection.expire(env));
                    take_turn(&envs, &mut connection, stopping, &mut time)
                }
                Ok(Err(_)) => break,
                Ok(Ok(_)) => {
                    let mut next = Turn::Again;
                    // `WouldBlock` clears the readiness that the runtime had recorded before the turn.
                    let _ = socket.attempt(awaited, || {
                        next = take_turn(&envs, &mut connection, stopping, &mut time);
                        if waits_for(&next) == Some(awaited) {
                            Err(io::ErrorKind::WouldBlock.into())
                        } else {
                            Ok(())
                        }
                    });
                    next
                }
            }
        };
    }
    envs.with(stopping, |env, _| connection.abandon(env));
    counters.closed();
}

/// What a connection waits for on its socket after a turn.
fn waits_for(turn: &Turn) -> Option<Interest> {
    match turn {
        Turn::AwaitInput => Some(Interest::READABLE),
        Turn::AwaitRoom => Some(Interest::WRITABLE),
        Turn::Ask(_) | Turn::AwaitHelper | Turn::AwaitTime(_) | Turn::Again | Turn::Over => None,
    }
}

/// Carries out a step of storing on one of the runtime's threads for blocking work.
async fn store(server: &Server, path: Box<[u8]>, mut step: StoreStep) -> Result<Stored, StoreError> {
    let store = server.store.clone().ok_or(StoreError::Failed)?;
    let result = tokio::task::spawn_blocking(move || store.store(&path, &mut step)).await;
    result.unwrap_or(Err(StoreError::Failed))
}

/// The deadline of a connection.
struct Time {
    deadline: Tick,
    ends: Instant,
}

fn take_turn<S: Stream>(
    envs: &TurnEnvs,
    connection: &mut SocketConnection<Arc<S>>,
    stopping: bool,
    time: &mut Time,
) -> Turn {
    envs.with(stopping, |env, scratch| {
        let turn = connection.turn(env, scratch);
        let deadline = connection.deadline(env);
        if time.deadline != deadline {
            *time = Time { deadline, ends: Instant::now() + env.worker.now.until(deadline) };
        }
        turn
    })
}
