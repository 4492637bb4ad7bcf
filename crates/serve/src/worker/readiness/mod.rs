//! The event loop over a readiness mechanism.
//!
//! Its connections take their turns in the loop itself or, where a pool of threads waits at a desk, there; an engine
//! that reads files, or threads that store them, tell of what is done through a descriptor beside the sockets
//! (`helpers.rs`). The parts that this takes: [`Loop::turn`] gives a turn, [`Loop::after_turn`] says what is waited for
//! then.

mod helpers;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_sys::readiness::{Interest, Readiness, Ready, Trigger};
use pitot_sys::{Token, Waker, socket};

use super::desk::{Desk, Done, Job};
use super::{AcceptFailure, LoopWorker, Source};
use crate::clock::Tick;
use crate::conn::{Conn, Helpers, RECEIVE_BYTES, Socket, Turn};
use crate::counters::Count;
use crate::depot::Depot;
use crate::disk::{Disk, Route};
use crate::files::Files;
use crate::relay::{LINKS_MAX, RETRY, Remote};
use crate::server::{Env, Server};
use crate::slots::Slots;
use crate::storing::Storing;

/// How often the loop looks at time-outs and tries to accept again after it ran out of descriptors.
pub const SWEEP: Duration = Duration::from_millis(250);

/// How often an engine is asked that tells nobody of its completions.
const ASK: Duration = Duration::from_millis(1);
/// How long a loop whose mechanism would tell of the same sockets again waits for the threads that serve them.
const SETTLE: Duration = Duration::from_millis(1);

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const DISK: Token = Token::new(u32::MAX - 2, 0);
const RETURNED: Token = Token::new(u32::MAX - 3, 0);
const STORED: Token = Token::new(u32::MAX - 4, 0);
/// The connections to a data process have the numbers from here on.
const LINKS: u32 = u32::MAX - LINKS_MAX as u32 - 8;

/// Serves until it is told to stop and the requests in flight are done.
///
/// # Errors
/// What keeps the mechanism from working at all.
pub fn run<R: Readiness>(worker: LoopWorker) -> io::Result<()> {
    let pool = worker.pool.clone();
    let result = Loop::<R>::new(worker).and_then(|mut this| {
        this.serve()?;
        this.finish()
    });
    if let Some(desk) = pool {
        desk.close();
    }
    result
}

struct Entry {
    /// `None` while a thread of the pool has it.
    conn: Option<Conn>,
    interest: Interest,
    deadline: Option<Tick>,
    /// Known to the mechanism. A connection that ends in its first turn never is.
    watched: bool,
    /// It became ready while a thread had it, which an edge trigger tells only once.
    ready_again: bool,
    /// The end of input was told meanwhile, which an edge trigger does only once too.
    ended: bool,
    /// It is in the engine's list of those that hold a block which they cannot send.
    stalled: bool,
    /// Its socket, where it has to be watched no more while a thread has the connection.
    socket: Option<Arc<OwnedFd>>,
}

struct Loop<R> {
    server: Arc<Server>,
    env: Env,
    mechanism: R,
    source: Option<Source>,
    stop: Arc<Waker>,
    disk: Option<Disk>,
    /// The process that has the files, if that is another, and whom to tell that it has answered.
    remote: Option<Remote>,
    tell_up: Option<Arc<Waker>>,
    /// The threads that store what connections send, unless those of the pool do it or another process.
    storing: Option<Storing<Token>>,
    pool: Option<Arc<Desk>>,
    /// Connections on their way to the threads.
    batch: Vec<Job>,
    conns: Slots<Entry>,
    /// Connections that want another turn without waiting.
    again: Vec<Token>,
    /// The source may have more than one wake-up takes, and its mechanism will not tell again.
    accept_again: bool,
    /// No descriptor was left; the source is not watched until the next sweep.
    accept_paused: bool,
    scratch: Box<[u8]>,
    next_sweep: Tick,
    stop_told: bool,
}

impl<R: Readiness> Loop<R> {
    fn new(worker: LoopWorker) -> io::Result<Loop<R>> {
        let LoopWorker { server, index, source, stop, prepared, pool, remote } = worker;
        let mut env = Env::new(&server, index);
        let (remote, tell_up) = match remote {
            Some((plan, up)) => {
                env.files = Files::remote();
                (Some(Remote::new(plan)), Some(up))
            }
            None => (None, None),
        };
        let mut mechanism = R::new()?;
        mechanism.watch(source_fd(&source), SOURCE, Interest::Read)?;
        mechanism.watch(stop.as_fd(), STOP, Interest::Read)?;
        if let Some(desk) = &pool {
            mechanism.watch(desk.as_fd(), RETURNED, Interest::Read)?;
        }
        // An engine that reads in its caller belongs to the threads that may wait, if there are any.
        let engine =
            server.engine().filter(|disk| remote.is_none() && (pool.is_none() || !disk.reads_in_caller()));
        let disk = engine.map(Disk::open).transpose();
        let disk = disk.map_err(|e| io::Error::new(io::ErrorKind::Unsupported, e))?;
        if let Some(fd) = disk.as_ref().and_then(Disk::completion_fd) {
            mechanism.watch(fd, DISK, Interest::Read)?;
        }
        // A pool's threads store by themselves, and what goes among the files of another process is stored by that.
        let is_stored_here = |depot: &Depot| remote.is_none() || matches!(depot, Depot::Maildir(_));
        let depot = server.depot.clone().filter(|depot| pool.is_none() && is_stored_here(depot));
        let storing = depot.map(Storing::new).transpose()?;
        if let Some(storing) = &storing {
            mechanism.watch(storing.as_fd(), STORED, Interest::Read)?;
        }
        env.stores_elsewhere = storing.is_some() || remote.is_some();
        prepared.tell();
        let next_sweep = env.clock.tick().after(SWEEP);
        Ok(Loop {
            server,
            env,
            mechanism,
            source: Some(source),
            stop,
            disk,
            remote,
            tell_up,
            storing,
            pool,
            batch: Vec::new(),
            conns: Slots::new(),
            again: Vec::new(),
            accept_again: false,
            accept_paused: false,
            scratch: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            next_sweep,
            stop_told: false,
        })
    }

    fn serve(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        self.connect_remote();
        while !self.stop_told {
            self.wake_up(&mut ready)?;
        }
        Ok(())
    }

    /// Accepts no more, closes what is idle, and serves the rest up to the grace time.
    fn finish(&mut self) -> io::Result<()> {
        self.env.stopping = true;
        if let Some(desk) = &self.pool {
            desk.stop();
        }
        self.mechanism.unwatch(self.stop.as_fd(), false);
        // Connections that were established before the stop still get their answer.
        self.accept(u32::MAX);
        if let Some(source) = self.source.take() {
            self.mechanism.unwatch(source_fd(&source), true);
        }
        let end = self.env.clock.tick().after(self.env.limits.grace);
        for token in self.conns.tokens() {
            // In it a request that has arrived is answered; who has none is closed after it.
            self.turn(token);
        }
        self.hand_over();
        let mut ready = Vec::new();
        while !self.conns.is_empty() && self.env.clock.tick() < end {
            self.wake_up(&mut ready)?;
        }
        self.env.counters.add(Count::CutAtStop, self.conns.len() as u64);
        for token in self.conns.tokens() {
            self.close(token);
        }
        Ok(())
    }

    /// Waits once and serves what is ready.
    fn wake_up(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let must_ask = self.disk.as_ref().is_some_and(Disk::must_be_asked);
        let timeout = if !self.again.is_empty() || self.accept_again {
            Some(Duration::ZERO)
        } else if must_ask {
            Some(ASK)
        } else if self.remote.as_ref().is_some_and(Remote::is_short) {
            Some(RETRY)
        } else if self.conns.is_empty() && !self.accept_paused {
            None
        } else {
            Some(SWEEP)
        };
        ready.clear();
        self.mechanism.wait(timeout, ready)?;
        self.env.clock.update();
        let mut accept = std::mem::take(&mut self.accept_again);
        let rung = self.pool.is_some() && ready.iter().any(|ready| ready.token == RETURNED);
        self.take_back(rung);
        let again = std::mem::take(&mut self.again);
        for token in again {
            self.turn(token);
        }
        let mut reap = must_ask;
        for ready in ready.iter() {
            match ready.token {
                SOURCE => accept = true,
                STOP => self.stop_told = true,
                DISK => reap = true,
                STORED => self.take_stored(),
                RETURNED => {}
                link if link.index() >= LINKS => self.hear(link.index() - LINKS),
                _ => self.became_ready(ready),
            }
        }
        if reap {
            self.reap()?;
        }
        if accept {
            self.accept(self.env.limits.accepts_per_wakeup);
        }
        if self.env.clock.tick() >= self.next_sweep {
            self.sweep()?;
        }
        self.feed_starved();
        if let Some(disk) = &mut self.disk {
            disk.commit()?;
        }
        self.connect_remote();
        self.speak();
        self.hand_over();
        Ok(())
    }

    /// Something has happened on a socket.
    fn became_ready(&mut self, ready: &Ready) {
        let Some(entry) = self.conns.get(ready.token) else { return };
        match &mut entry.conn {
            Some(conn) => {
                if ready.ended {
                    conn.input_ends();
                }
                if !conn.is_asked() {
                    return self.turn(ready.token);
                }
                conn.became_ready();
                if R::TRIGGER == Trigger::Level {
                    // It would be told in every wait until the engine is done; afterwards it is watched anew.
                    self.mechanism.unwatch(conn.as_fd(), false);
                    entry.watched = false;
                }
            }
            None => {
                match &entry.socket {
                    Some(socket) => {
                        self.mechanism.unwatch(socket.as_fd(), false);
                        entry.watched = false;
                    }
                    None => entry.ready_again = true,
                }
                entry.ended |= ready.ended;
                if let Some(desk) = &self.pool
                    && !desk.want(ready.token)
                {
                    self.take_back(false);
                }
            }
        }
    }

    /// Takes what the threads give back.
    fn take_back(&mut self, rung: bool) {
        let Some(desk) = &self.pool else { return };
        for Done { token, conn, turn } in desk.take_back(rung) {
            if let Some(entry) = self.conns.get(token) {
                entry.conn = Some(conn);
                self.after_turn(token, turn);
            }
        }
    }

    /// Hands the connections that are to get a turn to the threads.
    fn hand_over(&mut self) {
        let Some(desk) = &self.pool else { return };
        if self.batch.is_empty() {
            return;
        }
        desk.give(&mut self.batch);
        if R::TRIGGER == Trigger::Level {
            // The next wait would tell of those again whose input has not been received yet. To watch them no more costs
            // two calls for each turn; to wait a moment for the threads costs two for all of them.
            desk.await_all(SETTLE);
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
                    // One that cannot be made non-blocking is gone already.
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
                Err(AcceptFailure::NoRoom) => {
                    self.env.counters.add(Count::AcceptFailed, 1);
                    self.mechanism.unwatch(source_fd(&source), false);
                    self.accept_paused = true;
                    self.source = Some(source);
                    return;
                }
            }
        }
        // A level trigger tells again by itself, except of a queue whose counter was reset.
        self.accept_again = R::TRIGGER == Trigger::Edge || matches!(source, Source::Handoff(_));
        self.source = Some(source);
    }

    fn open(&mut self, fd: OwnedFd) {
        if !self.env.counters.opened(self.env.limits.connections_max) {
            return;
        }
        let is_shared = self.pool.is_some() && R::TRIGGER == Trigger::Level;
        let socket = Socket::new(fd, is_shared || self.env.route == Route::Send);
        let shared = if is_shared { socket.shared().cloned() } else { None };
        let conn = Conn::open(&self.server, &mut self.env, socket);
        let entry = Entry {
            conn: Some(conn),
            socket: shared,
            stalled: false,
            interest: Interest::Nothing,
            deadline: None,
            watched: false,
            ready_again: false,
            ended: false,
        };
        let token = self.conns.insert(|_| entry);
        // The request is often there already; then one wake-up serves it.
        self.turn(token);
    }

    /// Gives a connection a turn: here, or at the desk.
    fn turn(&mut self, token: Token) {
        let Some(entry) = self.conns.get(token) else { return };
        if self.pool.is_some() {
            if let Some(mut conn) = entry.conn.take_if(|conn| !conn.is_asked()) {
                if std::mem::take(&mut entry.ended) {
                    conn.input_ends();
                }
                entry.ready_again = false;
                let watched = entry.watched;
                self.conns.set_deadline(token, Tick::NEVER);
                self.batch.push(Job { token, conn, watched });
            }
            return;
        }
        let Some(conn) = &mut entry.conn else { return };
        let mut helpers = Helpers {
            disk: self.disk.as_mut(),
            remote: self.remote.as_mut(),
            storing: self.storing.as_mut(),
        };
        let turn = conn.turn_with(token, &mut self.env, &mut self.scratch, Some(&mut helpers));
        self.after_turn(token, turn);
    }

    fn after_turn(&mut self, token: Token, mut turn: Turn) {
        let Some(entry) = self.conns.get(token) else { return };
        let Some(conn) = &mut entry.conn else { return };
        if self.pool.is_some() {
            if turn == Turn::AwaitHelper
                && let Some(disk) = &mut self.disk
                && !conn.ask_if_not_asked(token, &mut self.env, disk)
            {
                turn = Turn::Again;
            }
            if turn == Turn::Again
                || (entry.ready_again && matches!(turn, Turn::AwaitInput | Turn::AwaitRoom))
            {
                return self.turn(token);
            }
        }
        let interest = match turn {
            Turn::AwaitInput => Interest::Read,
            Turn::AwaitRoom => Interest::Write,
            // What it waits for is no affair of the mechanism.
            Turn::AwaitHelper => entry.interest,
            Turn::Again => {
                self.again.push(token);
                Interest::Nothing
            }
            Turn::Over => return self.close(token),
        };
        if self.env.stopping && turn == Turn::AwaitInput && conn.is_idle() {
            return if conn.dismiss(&mut self.env) { self.turn(token) } else { self.close(token) };
        }
        let watch = if turn == Turn::AwaitHelper {
            Ok(())
        } else if !entry.watched {
            // With an edge trigger this tells of whatever has happened since the turn.
            let watch = self.mechanism.watch(conn.as_fd(), token, interest);
            entry.watched = watch.is_ok();
            watch
        } else if R::TRIGGER == Trigger::Level && interest != entry.interest {
            self.mechanism.rewatch(conn.as_fd(), token, interest)
        } else {
            Ok(())
        };
        entry.interest = interest;
        if turn == Turn::AwaitRoom
            && let Some(disk) = &mut self.disk
            && !std::mem::replace(&mut entry.stalled, true)
        {
            disk.stalled(token);
        }
        let deadline = conn.deadline(&self.env, entry.deadline);
        entry.deadline = Some(deadline);
        self.conns.set_deadline(token, deadline);
        if watch.is_err() {
            // No memory for one more watch (epoll's max_user_watches): this connection cannot be served.
            self.env.counters.add(Count::Shed, 1);
            self.close(token);
        } else if self.pool.is_some() && deadline <= self.env.clock.tick() {
            // A thread may have it in every sweep.
            self.expire(token);
        }
    }

    fn close(&mut self, token: Token) {
        let Some(entry) = self.conns.remove(token) else { return };
        if let Some(mut conn) = entry.conn {
            if entry.watched {
                // An engine that sends to the socket keeps it open.
                self.mechanism.unwatch(conn.as_fd(), !conn.is_asked());
            }
            conn.abandon(&mut self.env);
        }
        if let Some(remote) = &mut self.remote {
            remote.cancel(token);
        }
        self.env.counters.closed();
    }

    fn expire(&mut self, token: Token) {
        let Some(entry) = self.conns.get(token) else { return };
        entry.deadline = None;
        if let Some(conn) = &mut entry.conn {
            let turn = conn.expire(&mut self.env);
            self.after_turn(token, turn);
        }
    }

    fn sweep(&mut self) -> io::Result<()> {
        self.next_sweep = self.env.clock.tick().after(SWEEP);
        let mut expired = Vec::new();
        self.conns.expired(self.env.clock.tick(), &mut expired);
        for token in expired {
            self.expire(token);
        }
        if self.accept_paused
            && let Some(source) = &self.source
        {
            self.mechanism.watch(source_fd(source), SOURCE, Interest::Read)?;
            self.accept_paused = false;
            self.accept_again = true;
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
