//! The event loop over a readiness mechanism.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_sys::readiness::{Interest, Readiness, Ready, Trigger};
use pitot_sys::{Token, Waker, socket};

use super::{AcceptFailure, LoopWorker, Source};
use crate::clock::Tick;
use crate::conn::{Conn, RECEIVE_BYTES, Turn};
use crate::counters::Count;
use crate::server::{Env, Server};
use crate::slots::Slots;

/// How often the loop looks at time-outs and tries to accept again after it ran out of descriptors.
pub const SWEEP: Duration = Duration::from_millis(250);

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);

/// Serves until it is told to stop and the requests in flight are done.
///
/// # Errors
/// What keeps the mechanism from working at all.
pub fn run<R: Readiness>(worker: LoopWorker) -> io::Result<()> {
    let mut this = Loop::<R>::new(worker)?;
    this.serve()?;
    this.finish()
}

struct Entry {
    conn: Conn,
    interest: Interest,
    deadline: Option<Tick>,
    /// Known to the mechanism. A connection that ends in its first turn never is.
    watched: bool,
}

struct Loop<R> {
    server: Arc<Server>,
    env: Env,
    mechanism: R,
    source: Option<Source>,
    stop: Arc<Waker>,
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
        let LoopWorker { server, index, source, stop, prepared } = worker;
        let env = Env::new(&server, index);
        let mut mechanism = R::new()?;
        mechanism.watch(source_fd(&source), SOURCE, Interest::Read)?;
        mechanism.watch(stop.as_fd(), STOP, Interest::Read)?;
        prepared.tell();
        let next_sweep = env.clock.tick().after(SWEEP);
        Ok(Loop {
            server,
            env,
            mechanism,
            source: Some(source),
            stop,
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
        while !self.stop_told {
            self.wake_up(&mut ready)?;
        }
        Ok(())
    }

    /// Accepts no more, closes what is idle, and serves the rest up to the grace time.
    fn finish(&mut self) -> io::Result<()> {
        self.env.stopping = true;
        self.mechanism.unwatch(self.stop.as_fd(), false);
        // Connections that were established before the stop still get their answer.
        self.accept(u32::MAX);
        if let Some(source) = self.source.take() {
            self.mechanism.unwatch(source_fd(&source), true);
        }
        let end = self.env.clock.tick().after(self.env.limits.grace);
        for token in self.conns.tokens() {
            self.turn(token);
            if self.conns.get(token).is_some_and(|entry| entry.conn.is_idle()) {
                self.close(token);
            }
        }
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
        let timeout = if !self.again.is_empty() || self.accept_again {
            Some(Duration::ZERO)
        } else if self.conns.is_empty() && !self.accept_paused {
            None
        } else {
            Some(SWEEP)
        };
        ready.clear();
        self.mechanism.wait(timeout, ready)?;
        self.env.clock.update();
        let mut accept = std::mem::take(&mut self.accept_again);
        let again = std::mem::take(&mut self.again);
        for token in again {
            self.turn(token);
        }
        for ready in ready.iter() {
            match ready.token {
                SOURCE => accept = true,
                STOP => self.stop_told = true,
                token => {
                    if ready.ended
                        && let Some(entry) = self.conns.get(token)
                    {
                        entry.conn.input_ends();
                    }
                    self.turn(token);
                }
            }
        }
        if accept {
            self.accept(self.env.limits.accepts_per_wakeup);
        }
        if self.env.clock.tick() >= self.next_sweep {
            self.sweep()?;
        }
        Ok(())
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
        let conn = Conn::open(&self.server, &mut self.env, fd);
        let entry = Entry { conn, interest: Interest::Nothing, deadline: None, watched: false };
        let token = self.conns.insert(|_| entry);
        // The request is often there already; then one wake-up serves it.
        self.turn(token);
    }

    fn turn(&mut self, token: Token) {
        let Some(entry) = self.conns.get(token) else { return };
        let turn = entry.conn.turn(&mut self.env, &mut self.scratch);
        self.after_turn(token, turn);
    }

    fn after_turn(&mut self, token: Token, turn: Turn) {
        let Some(entry) = self.conns.get(token) else { return };
        let interest = match turn {
            Turn::AwaitInput => Interest::Read,
            Turn::AwaitRoom => Interest::Write,
            Turn::Again => {
                self.again.push(token);
                Interest::Nothing
            }
            Turn::Over => return self.close(token),
        };
        if self.env.stopping && turn == Turn::AwaitInput && entry.conn.is_idle() {
            return if entry.conn.dismiss(&mut self.env) { self.turn(token) } else { self.close(token) };
        }
        let watch = if !entry.watched {
            // With an edge trigger this tells of whatever has happened since the turn.
            let watch = self.mechanism.watch(entry.conn.as_fd(), token, interest);
            entry.watched = watch.is_ok();
            watch
        } else if R::TRIGGER == Trigger::Level && interest != entry.interest {
            self.mechanism.rewatch(entry.conn.as_fd(), token, interest)
        } else {
            Ok(())
        };
        entry.interest = interest;
        let deadline = entry.conn.deadline(&self.env, entry.deadline);
        entry.deadline = Some(deadline);
        self.conns.set_deadline(token, deadline);
        if watch.is_err() {
            // No memory for one more watch (epoll's max_user_watches): this connection cannot be served.
            self.env.counters.add(Count::Shed, 1);
            self.close(token);
        }
    }

    fn close(&mut self, token: Token) {
        let Some(mut entry) = self.conns.remove(token) else { return };
        if entry.watched {
            self.mechanism.unwatch(entry.conn.as_fd(), true);
        }
        entry.conn.abandon(&mut self.env);
        self.env.counters.closed();
    }

    fn sweep(&mut self) -> io::Result<()> {
        self.next_sweep = self.env.clock.tick().after(SWEEP);
        let mut expired = Vec::new();
        self.conns.expired(self.env.clock.tick(), &mut expired);
        for token in expired {
            if let Some(entry) = self.conns.get(token) {
                entry.deadline = None;
                let turn = entry.conn.expire(&mut self.env);
                self.after_turn(token, turn);
            }
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
