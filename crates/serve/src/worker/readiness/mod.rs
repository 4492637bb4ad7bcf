//! The event loop over a readiness mechanism.
//!
//! Connections take their turns in the loop itself or in a pool of threads behind a queue. The engine that reads files
//! and the threads that store them notify of completions through a descriptor that is watched like the sockets
//! (`helpers.rs`). [`Loop::turn`] gives a turn; [`Loop::after_turn`] then makes the connection wait for what it needs.

mod helpers;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::Tick;
use pitot_sys::readiness::{Interest, Readiness, Ready, Trigger};
use pitot_sys::{Token, Waker, socket};

use super::accept::AcceptFailure;
use super::loop_worker::LoopWorker;
use super::source::Source;
use super::work_queue::{Done, Job, WorkQueue};
use crate::counters::Count;
use crate::delays::Delays;
use crate::disk::{Disk, Route};
use crate::relay::remote::{LINKS_MAX, RETRY, Remote};
use crate::server::{Env, Server};
use crate::slots::Slots;
use crate::socket::{Helper, Helpers, RECEIVE_BYTES, Socket, SocketConnection, Turn};
use crate::store::{Store, StoreThreads};

/// How often a loop looks whether something has changed that nobody notifies it of: it has a descriptor to accept with, a line of its log
/// has waited for long enough, threads have returned connections, or its grace time is over.
pub const LOOK: Duration = Duration::from_millis(250);

/// How often an engine is polled that does not notify of its completions.
const ENGINE_POLL: Duration = Duration::from_millis(1);
/// How long a loop whose mechanism would report the same sockets again waits for the threads that serve them.
const SETTLE: Duration = Duration::from_millis(1);

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const DISK: Token = Token::new(u32::MAX - 2, 0);
const RETURNED: Token = Token::new(u32::MAX - 3, 0);
const STORED: Token = Token::new(u32::MAX - 4, 0);
/// The first token index of the connections to the data process.
const LINKS: u32 = u32::MAX - LINKS_MAX as u32 - 8;

/// Serves until it is stopped and the requests in flight are finished.
///
/// # Errors
/// Failures of the mechanism.
pub fn run<R: Readiness + 'static>(worker: LoopWorker) -> io::Result<()> {
    run_over(worker, || Ok(Box::new(R::new()?)))
}

fn run_over(worker: LoopWorker, open: fn() -> io::Result<Box<dyn Readiness>>) -> io::Result<()> {
    let pool = worker.pool.clone();
    let result = open().and_then(|mechanism| {
        let mut this = Loop::new(worker, mechanism)?;
        this.serve()?;
        this.finish()
    });
    if let Some(queue) = pool {
        queue.close();
    }
    result
}

/// A connection of the loop.
struct Entry {
    holder: Holder,
    watch: Watch,
    /// True if it is in the engine's list of connections that hold a block and cannot send it.
    stalled: bool,
}

/// Who has a connection.
enum Holder {
    /// The loop.
    Loop(SocketConnection),
    /// A thread of the pool.
    Thread {
        /// The events of its socket meanwhile.
        news: News,
        /// Its socket, if that must not be watched while the thread has the connection.
        socket: Option<Arc<OwnedFd>>,
    },
}

/// Events of a socket while a thread had its connection, which an edge-triggered mechanism reports only once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    Ready,
    /// The peer has finished sending.
    Ended,
}

/// The registration of a socket with the mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    /// Not registered. A connection that ends in its first turn stays like this.
    No,
    /// Registered for this interest.
    For(Interest),
}

impl Entry {
    fn connection(&mut self) -> Option<&mut SocketConnection> {
        match &mut self.holder {
            Holder::Loop(connection) => Some(connection),
            Holder::Thread { .. } => None,
        }
    }
}

struct Loop {
    server: Arc<Server>,
    env: Env,
    mechanism: Box<dyn Readiness>,
    trigger: Trigger,
    source: Option<Source>,
    stop: Arc<Waker>,
    disk: Option<Disk>,
    /// The data process, if there is one, and the waker to notify of its first answer.
    remote: Option<Remote>,
    remote_is_up: Option<Arc<Waker>>,
    /// The threads that store what connections receive, unless those of the pool or another process do it.
    store_threads: Option<StoreThreads<Token>>,
    pool: Option<Arc<WorkQueue>>,
    /// Connections on their way to the threads.
    batch: Vec<Job>,
    connections: Slots<Entry>,
    /// Connections that wait for a time to pass.
    delays: Delays,
    /// Connections that need another turn without waiting.
    again: Vec<Token>,
    accept: AcceptState,
    scratch: Box<[u8]>,
    stop_requested: bool,
}

/// The state of the loop's source of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcceptState {
    /// Waiting until the mechanism reports it.
    Waiting,
    /// To be continued in the next wake-up: the source may have more connections, and will not be reported again.
    Due,
    /// Out of descriptors; the source is not watched until a connection closes, or this time.
    Paused { until: Tick },
}

impl Loop {
    fn new(worker: LoopWorker, mut mechanism: Box<dyn Readiness>) -> io::Result<Loop> {
        let LoopWorker { server, index, source, stop, prepared, pool, remote } = worker;
        let mut env = Env::new(&server, index);
        env.batches_log = true;
        let (remote, remote_is_up) = match remote {
            Some((plan, is_up)) => {
                env.files = env.files.in_other_process();
                env.worker.opens_when_sent = true;
                (Some(Remote::new(plan)), Some(is_up))
            }
            None => (None, None),
        };
        mechanism.watch(source_fd(&source), SOURCE, Interest::Read)?;
        mechanism.watch(stop.as_fd(), STOP, Interest::Read)?;
        if let Some(queue) = &pool {
            mechanism.watch(queue.as_fd(), RETURNED, Interest::Read)?;
        }
        // An engine that reads in its caller belongs to the threads of the pool, which may block, if there is one.
        let engine =
            server.engine().filter(|disk| remote.is_none() && (pool.is_none() || !disk.reads_in_caller()));
        let disk = engine.map(Disk::open).transpose();
        let disk = disk.map_err(|e| io::Error::new(io::ErrorKind::Unsupported, e))?;
        if let Some(fd) = disk.as_ref().and_then(Disk::completion_fd) {
            mechanism.watch(fd, DISK, Interest::Read)?;
        }
        // The threads of a pool store by themselves; a data process stores uploads itself.
        let is_stored_here = |store: &Store| remote.is_none() || matches!(store, Store::Maildir(_));
        let store = server.store.clone().filter(|store| pool.is_none() && is_stored_here(store));
        let store_threads = store.map(StoreThreads::new).transpose()?;
        if let Some(threads) = &store_threads {
            mechanism.watch(threads.as_fd(), STORED, Interest::Read)?;
        }
        env.stores_elsewhere = store_threads.is_some() || remote.is_some();
        prepared.notify();
        Ok(Loop {
            server,
            env,
            trigger: mechanism.trigger(),
            mechanism,
            source: Some(source),
            stop,
            disk,
            remote,
            remote_is_up,
            store_threads,
            pool,
            batch: Vec::new(),
            connections: Slots::new(),
            delays: Delays::default(),
            again: Vec::new(),
            accept: AcceptState::Waiting,
            scratch: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            stop_requested: false,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        self.connect_remote();
        while !self.stop_requested {
            self.wake_up(&mut ready)?;
        }
        Ok(())
    }

    /// Stops accepting, closes idle connections, and serves the others until the end of the grace time.
    fn finish(&mut self) -> io::Result<()> {
        self.env.worker.stopping = true;
        if let Some(queue) = &self.pool {
            queue.stop();
        }
        self.mechanism.unwatch(self.stop.as_fd(), false);
        // Connections that were established before the stop are still served.
        self.accept(u32::MAX);
        if let Some(source) = self.source.take() {
            self.mechanism.unwatch(source_fd(&source), true);
        }
        let end = self.env.worker.now.after(self.env.limits.grace);
        for token in self.connections.tokens() {
            // The turn answers a request that has arrived; connections without one are closed after it.
            self.turn(token);
        }
        self.hand_over();
        let mut ready = Vec::new();
        while !self.connections.is_empty() && self.env.worker.now < end {
            self.wake_up(&mut ready)?;
        }
        self.env.counters.add(Count::CutAtStop, self.connections.len() as u64);
        for token in self.connections.tokens() {
            self.close(token);
        }
        Ok(())
    }

    /// The timeout of the next wait.
    fn timeout(&self) -> Option<Duration> {
        if !self.again.is_empty() || !self.batch.is_empty() || self.accept == AcceptState::Due {
            return Some(Duration::ZERO);
        }
        let now = self.env.worker.now;
        let paused_until = match self.accept {
            AcceptState::Paused { until } => until,
            AcceptState::Waiting | AcceptState::Due => Tick::NEVER,
        };
        let looks = self.env.worker.stopping
            || self.env.log_is_waiting()
            || self.pool.as_ref().is_some_and(|queue| queue.has_connections());
        let reasons = [
            self.disk.as_ref().is_some_and(Disk::needs_polling).then_some(ENGINE_POLL),
            self.remote.as_ref().is_some_and(Remote::is_short).then_some(RETRY),
            looks.then_some(LOOK),
            now.wait_for(paused_until.min(self.connections.due())),
            self.delays.until_next(),
        ];
        reasons.into_iter().flatten().min()
    }

    /// Waits once and serves what is ready.
    fn wake_up(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let must_ask = self.disk.as_ref().is_some_and(Disk::needs_polling);
        self.env.publish_counts();
        let timeout = self.timeout();
        ready.clear();
        self.mechanism.wait(timeout, ready)?;
        self.env.update_time();
        let mut accept = self.accept == AcceptState::Due;
        if accept {
            self.accept = AcceptState::Waiting;
        }
        let notified = self.pool.is_some() && ready.iter().any(|ready| ready.token == RETURNED);
        self.take_back(notified);
        let again = std::mem::take(&mut self.again);
        for token in again {
            self.turn(token);
        }
        let mut reap = must_ask;
        for ready in ready.iter() {
            match ready.token {
                SOURCE => accept = true,
                STOP => self.stop_requested = true,
                DISK => reap = true,
                STORED => self.take_stored(),
                RETURNED => {}
                link if link.index() >= LINKS => self.receive_from_link(link.index() - LINKS),
                _ => self.became_ready(ready),
            }
        }
        if reap {
            self.reap()?;
        }
        for token in self.delays.take_ended() {
            self.pass_on(token, |connection, env| connection.delayed(env));
        }
        if accept {
            self.accept(self.env.limits.accepts_per_wakeup);
        }
        self.act_on_time()?;
        // Connections that come back ask for what the steps below pass on.
        self.hand_over();
        self.feed_starved();
        if let Some(disk) = &mut self.disk {
            disk.commit()?;
        }
        self.connect_remote();
        self.flush_links();
        Ok(())
    }

    /// Handles an event of a socket.
    fn became_ready(&mut self, ready: &Ready) {
        let Some(entry) = self.connections.get(ready.token) else { return };
        match &mut entry.holder {
            Holder::Loop(connection) => {
                if ready.ended {
                    connection.input_ends();
                }
                if !connection.is_asked() {
                    return self.turn(ready.token);
                }
                connection.became_ready();
                if self.trigger == Trigger::Level {
                    // It would be reported in every wait until the engine is done; afterwards it is watched again.
                    self.mechanism.unwatch(connection.as_fd(), false);
                    entry.watch = Watch::No;
                }
            }
            Holder::Thread { news, socket } => {
                *news = if ready.ended || *news == News::Ended { News::Ended } else { News::Ready };
                if let Some(socket) = socket {
                    self.mechanism.unwatch(socket.as_fd(), false);
                    entry.watch = Watch::No;
                }
                if let Some(queue) = &self.pool
                    && !queue.want(ready.token)
                {
                    self.take_back(false);
                }
            }
        }
    }

    /// Takes back connections from the threads.
    fn take_back(&mut self, notified: bool) {
        let Some(queue) = &self.pool else { return };
        for Done { token, connection, turn } in queue.take_back(notified) {
            let Some(entry) = self.connections.get(token) else { continue };
            let mut turn = turn;
            if let Holder::Thread { news, socket } =
                std::mem::replace(&mut entry.holder, Holder::Loop(connection))
            {
                if news == News::Ended
                    && let Holder::Loop(connection) = &mut entry.holder
                {
                    connection.input_ends();
                }
                // A level-triggered mechanism reports it again; the connection remembers the end of input.
                let is_edge = socket.is_none();
                if is_edge && news != News::None && matches!(turn, Turn::AwaitInput | Turn::AwaitRoom) {
                    turn = Turn::Again;
                }
            }
            self.after_turn(token, turn);
        }
    }

    /// Hands connections that need a turn to the threads.
    fn hand_over(&mut self) {
        let Some(queue) = &self.pool else { return };
        if self.batch.is_empty() {
            return;
        }
        queue.give(&mut self.batch);
        if self.trigger == Trigger::Level {
            // The next wait would report connections again whose input has not been received yet. To stop watching
            // them costs two calls per turn; to wait a moment for the threads costs two for all of them.
            queue.await_all(SETTLE);
            self.take_back(false);
        }
    }

    fn accept(&mut self, at_most: u32) {
        let Some(source) = self.source.take() else { return };
        if let Source::Handoff(handoff) = &source {
            handoff.reset();
        }
        for _ in 0..at_most {
            let accepted = match &source {
                Source::Listener(listener) => {
                    socket::accept(listener, true).map_err(|e| AcceptFailure::of(&e))
                }
                Source::Handoff(handoff) => match handoff.take() {
                    // A socket that cannot be made non-blocking is broken already.
                    Some(fd) if socket::set_nonblocking(&fd, true).is_err() => Err(AcceptFailure::TryNext),
                    other => other.ok_or(AcceptFailure::Nothing),
                },
            };
            match accepted {
                Ok(fd) => self.open(fd),
                Err(AcceptFailure::TryNext) => {}
                Err(AcceptFailure::Nothing | AcceptFailure::Closed) => {
                    self.source = Some(source);
                    return;
                }
                Err(AcceptFailure::NoRoom(why)) => {
                    self.server.admission.no_room(&self.env.counters, why);
                    self.mechanism.unwatch(source_fd(&source), false);
                    self.accept = AcceptState::Paused { until: self.env.worker.now.after(LOOK) };
                    self.source = Some(source);
                    return;
                }
            }
        }
        // A level-triggered mechanism reports it again, except a queue whose counter was reset.
        if self.trigger == Trigger::Edge || matches!(source, Source::Handoff(_)) {
            self.accept = AcceptState::Due;
        }
        self.source = Some(source);
    }

    fn open(&mut self, fd: OwnedFd) {
        if !self.server.admission.admit(&self.env.counters, Some(fd.as_fd())) {
            return;
        }
        let is_shared = self.pool.is_some() && self.trigger == Trigger::Level;
        let socket = Socket::new(fd, is_shared || self.env.route == Route::Send);
        let connection = SocketConnection::open(&self.server, &mut self.env, socket);
        let entry = Entry { holder: Holder::Loop(connection), watch: Watch::No, stalled: false };
        let token = self.connections.insert(|_| entry);
        // The request has often arrived already; then one wake-up serves it.
        self.turn(token);
    }

    /// Gives a connection a turn: here, or in the pool.
    fn turn(&mut self, token: Token) {
        if self.pool.is_some() {
            return self.give_to_pool(token);
        }
        let Some(connection) = self.connections.get(token).and_then(Entry::connection) else { return };
        let mut helpers = Helpers {
            disk: self.disk.as_mut(),
            remote: self.remote.as_mut(),
            store_threads: self.store_threads.as_mut(),
        };
        let turn = connection.turn_with(token, &mut self.env, &mut self.scratch, Some(&mut helpers));
        self.after_turn(token, turn);
    }

    fn give_to_pool(&mut self, token: Token) {
        let Some(entry) = self.connections.get(token) else { return };
        let Some(connection) = entry.connection().filter(|connection| !connection.is_asked()) else { return };
        let socket = if self.trigger == Trigger::Level { connection.shared_socket().cloned() } else { None };
        let away = Holder::Thread { news: News::None, socket };
        let is_watched = entry.watch != Watch::No;
        if let Holder::Loop(connection) = std::mem::replace(&mut entry.holder, away) {
            self.connections.set_deadline(token, Tick::NEVER);
            self.batch.push(Job { token, connection, is_watched });
        }
    }

    /// Makes a connection wait for what it needs after a turn.
    fn after_turn(&mut self, token: Token, mut turn: Turn) {
        if let Turn::AwaitTime(time) = turn {
            let connections = &mut self.connections;
            let count = connections.len();
            self.delays.add(token, time, count, |token| connections.get(token).is_some());
        }
        let Some(Entry { holder: Holder::Loop(connection), watch, stalled }) = self.connections.get(token)
        else {
            return;
        };
        if let Turn::Ask(request) = turn {
            // A thread of the pool has no helper.
            let mut helpers = Helpers {
                disk: self.disk.as_mut(),
                remote: self.remote.as_mut(),
                store_threads: self.store_threads.as_mut(),
            };
            helpers.ask(token, &mut self.env, connection, request);
            turn = if connection.is_asked() { Turn::AwaitHelper } else { Turn::Again };
        }
        let interest = match turn {
            Turn::AwaitInput if self.env.worker.stopping && connection.is_idle() => {
                connection.dismiss(&mut self.env);
                return self.turn(token);
            }
            Turn::AwaitInput => Some(Interest::Read),
            Turn::AwaitRoom => Some(Interest::Write),
            // The mechanism does not report what it waits for.
            Turn::AwaitHelper | Turn::AwaitTime(_) | Turn::Ask(_) => None,
            Turn::Again if self.pool.is_some() => return self.turn(token),
            Turn::Again => {
                self.again.push(token);
                Some(Interest::Nothing)
            }
            Turn::Over => return self.close(token),
        };
        let mut watched = Ok(());
        if let Some(interest) = interest {
            watched = match *watch {
                // An edge-triggered mechanism then reports everything since the turn.
                Watch::No => self.mechanism.watch(connection.as_fd(), token, interest),
                Watch::For(before) if self.trigger == Trigger::Level && before != interest => {
                    self.mechanism.rewatch(connection.as_fd(), token, interest)
                }
                Watch::For(_) if self.server.is_unix && matches!(turn, Turn::AwaitRoom) => {
                    self.mechanism.rewatch(connection.as_fd(), token, interest)
                }
                Watch::For(_) => Ok(()),
            };
            if watched.is_ok() {
                *watch = Watch::For(interest);
            }
        }
        if matches!(turn, Turn::AwaitRoom)
            && let Some(disk) = &mut self.disk
            && !std::mem::replace(stalled, true)
        {
            disk.stalled(token);
        }
        let deadline = connection.deadline(&self.env);
        self.connections.set_deadline(token, deadline);
        if watched.is_err() {
            // No memory for one more watch (epoll's max_user_watches): this connection cannot be served.
            self.env.counters.add(Count::Shed, 1);
            self.close(token);
        } else if self.pool.is_some() && deadline <= self.env.worker.now {
            // A thread may have the connection whenever deadlines are checked.
            self.expire(token);
        }
    }

    fn close(&mut self, token: Token) {
        let Some(Entry { holder, watch, .. }) = self.connections.remove(token) else { return };
        if let Holder::Loop(mut connection) = holder {
            if watch != Watch::No {
                // An engine that sends to the socket keeps it open.
                self.mechanism.unwatch(connection.as_fd(), !connection.is_asked());
            }
            connection.abandon(&mut self.env);
        }
        if let Some(remote) = &mut self.remote {
            remote.cancel(token);
        }
        self.env.counters.closed();
        // Its descriptor is there for the next one. What the mechanism refuses is tried again later.
        let _ = self.accept_again();
    }

    fn expire(&mut self, token: Token) {
        if let Some(connection) = self.connections.get(token).and_then(Entry::connection) {
            connection.expire(&mut self.env);
            self.turn(token);
        }
    }

    /// Ends the waiting for what the time has come for, besides delays.
    fn act_on_time(&mut self) -> io::Result<()> {
        let now = self.env.worker.now;
        for token in self.connections.expired(now) {
            self.expire(token);
        }
        if matches!(self.accept, AcceptState::Paused { until } if until <= now) {
            self.accept_again()?;
        }
        Ok(())
    }

    /// Accepts again if there was no descriptor.
    fn accept_again(&mut self) -> io::Result<()> {
        if matches!(self.accept, AcceptState::Paused { .. })
            && let Some(source) = &self.source
        {
            self.mechanism.watch(source_fd(source), SOURCE, Interest::Read)?;
            self.accept = AcceptState::Due;
        }
        Ok(())
    }
}

fn source_fd(source: &Source) -> std::os::fd::BorrowedFd<'_> {
    match source {
        Source::Listener(listener) => listener.as_fd(),
        Source::Handoff(handoff) => handoff.as_fd(),
    }
}
