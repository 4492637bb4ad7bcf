use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use pitot_sys::readiness::{Interest, Readiness, Ready, Trigger};
use pitot_sys::{Token, Waker, socket};

use super::threads::Threads;
use super::{Fleet, Listeners, Listens, Model};
use crate::clock::Tick;
use crate::conn::{Conn, RECEIVE_BYTES, Turn};
use crate::counters::Count;
use crate::mechanism::{Kind, Mechanism};
use crate::plan::{ServeError, ServePlan};
use crate::server::{Env, Server};
use crate::slots::Slots;
use crate::worker::readiness::SWEEP;
use crate::worker::{AcceptFailure, Prepared};

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

fn launch(plan: &ServePlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Fleet>, ServeError> {
    let Kind::Readiness { run_hybrid, .. } = plan.mechanism.kind else {
        return Err(ServeError::new("hybrid needs a readiness mechanism", "`pitot list pairs` shows them"));
    };
    let mut threads = Threads::default();
    let returned = Waker::new().map_err(|e| ServeError::starting("a pipe could not be made", &e))?;
    let desk =
        Arc::new(Desk { jobs: Mutex::default(), more: Condvar::new(), done: Mutex::default(), returned });
    for index in 1..=plan.workers() {
        let (server, desk) = (Arc::clone(&server), Arc::clone(&desk));
        threads.start(format!("pool-{index}"), plan.cpus.clone(), move || {
            work(&desk, Env::new(&server, index));
            Ok(())
        })?;
    }
    let (tell, told) = channel();
    let (listener, stop, prepared) = (listeners.only(), threads.stop_waker()?, Prepared::to(&tell));
    let work = HybridLoop { server, listener, stop, desk, prepared };
    threads.start("loop".into(), plan.cpus.clone(), move || run_hybrid(work))?;
    drop(tell);
    threads.wait_until_prepared(&told)?;
    Ok(Box::new(threads))
}

/// A loop that only waits, about to run.
#[derive(Debug)]
pub struct HybridLoop {
    server: Arc<Server>,
    listener: OwnedFd,
    stop: Arc<Waker>,
    desk: Arc<Desk>,
    prepared: Prepared,
}

/// Where the loop and the pool pass connections to each other. Both queues are bounded by the number of connections.
#[derive(Debug)]
struct Desk {
    jobs: Mutex<Jobs>,
    more: Condvar,
    done: Mutex<Vec<Done>>,
    returned: Waker,
}

#[derive(Debug, Default)]
struct Jobs {
    queue: VecDeque<(Token, Box<Conn>)>,
    stopping: bool,
    closed: bool,
}

#[derive(Debug)]
struct Done {
    token: Token,
    conn: Box<Conn>,
    turn: Turn,
}

impl Desk {
    fn jobs(&self) -> std::sync::MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, token: Token, conn: Box<Conn>) {
        self.jobs().queue.push_back((token, conn));
        self.more.notify_one();
    }

    /// The next job and whether the server is stopping, or `None` when there will be no more.
    fn take(&self) -> Option<(Token, Box<Conn>, bool)> {
        let mut jobs = self.jobs();
        loop {
            if let Some((token, conn)) = jobs.queue.pop_front() {
                return Some((token, conn, jobs.stopping));
            }
            if jobs.closed {
                return None;
            }
            jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, done: Done) {
        let mut all = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(done);
        if all.len() == 1 {
            self.returned.wake();
        }
    }
}

/// The life of a thread of the pool.
fn work(desk: &Desk, mut env: Env) {
    let mut scratch = vec![0; RECEIVE_BYTES];
    while let Some((token, mut conn, stopping)) = desk.take() {
        env.clock.update();
        env.stopping = stopping;
        let turn = conn.turn(&mut env, &mut scratch);
        desk.give_back(Done { token, conn, turn });
    }
}

/// Runs the loop until it is stopped.
///
/// # Errors
/// What keeps the mechanism from working at all.
pub fn run<R: Readiness>(work: HybridLoop) -> io::Result<()> {
    let desk = Arc::clone(&work.desk);
    let result = Loop::<R>::new(work).and_then(|mut this| {
        this.serve()?;
        this.finish()
    });
    desk.jobs().closed = true;
    desk.more.notify_all();
    result
}

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const RETURNED: Token = Token::new(u32::MAX - 2, 0);

struct Entry {
    /// `None` while a thread of the pool has it.
    conn: Option<Box<Conn>>,
    interest: Interest,
    deadline: Option<Tick>,
    watched: bool,
    /// It became ready while a thread had it, which an edge trigger tells only once.
    ready_again: bool,
    /// The end of input was told, which an edge trigger does only once too.
    ended: bool,
}

struct Loop<R> {
    work: HybridLoop,
    env: Env,
    mechanism: R,
    conns: Slots<Entry>,
    accepting: bool,
    accept_again: bool,
    accept_paused: bool,
    next_sweep: Tick,
    stop_told: bool,
}

impl<R: Readiness> Loop<R> {
    fn new(mut work: HybridLoop) -> io::Result<Loop<R>> {
        let env = Env::new(&work.server, 0);
        let mut mechanism = R::new()?;
        mechanism.watch(work.listener.as_fd(), SOURCE, Interest::Read)?;
        mechanism.watch(work.stop.as_fd(), STOP, Interest::Read)?;
        mechanism.watch(work.desk.returned.as_fd(), RETURNED, Interest::Read)?;
        std::mem::take(&mut work.prepared).tell();
        let next_sweep = env.clock.tick().after(SWEEP);
        Ok(Loop {
            work,
            env,
            mechanism,
            conns: Slots::new(),
            accepting: true,
            accept_again: false,
            accept_paused: false,
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

    fn finish(&mut self) -> io::Result<()> {
        self.env.stopping = true;
        self.work.desk.jobs().stopping = true;
        self.mechanism.unwatch(self.work.stop.as_fd(), false);
        self.accept(u32::MAX);
        self.accepting = false;
        self.mechanism.unwatch(self.work.listener.as_fd(), false);
        // Whoever comes now is refused at once rather than kept waiting until the end.
        let _ = socket::stop_receiving(&self.work.listener);
        let end = self.env.clock.tick().after(self.env.limits.grace);
        // Everyone gets one more turn, in which a request that has arrived is answered.
        for token in self.conns.tokens() {
            self.give_turn(token);
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

    fn wake_up(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout = if self.accept_again {
            Some(std::time::Duration::ZERO)
        } else if self.conns.is_empty() && !self.accept_paused {
            None
        } else {
            Some(SWEEP)
        };
        ready.clear();
        self.mechanism.wait(timeout, ready)?;
        self.env.clock.update();
        let mut accept = std::mem::take(&mut self.accept_again);
        for ready in ready.iter() {
            match ready.token {
                SOURCE => accept = true,
                STOP => self.stop_told = true,
                RETURNED => self.take_back(),
                token => {
                    if ready.ended
                        && let Some(entry) = self.conns.get(token)
                    {
                        entry.ended = true;
                    }
                    self.give_turn(token);
                }
            }
        }
        if accept && self.accepting {
            self.accept(self.env.limits.accepts_per_wakeup);
        }
        if self.env.clock.tick() >= self.next_sweep {
            self.sweep()?;
        }
        Ok(())
    }

    fn accept(&mut self, at_most: u32) {
        for _ in 0..at_most {
            match socket::accept(&self.work.listener, true).map_err(|e| AcceptFailure::of(&e)) {
                Ok(fd) => self.open(fd),
                Err(AcceptFailure::TryNext) => {}
                Err(AcceptFailure::Nothing | AcceptFailure::Closed) => return,
                Err(AcceptFailure::NoRoom) => {
                    self.env.counters.add(Count::AcceptFailed, 1);
                    self.mechanism.unwatch(self.work.listener.as_fd(), false);
                    self.accept_paused = true;
                    return;
                }
            }
        }
        self.accept_again = R::TRIGGER == Trigger::Edge;
    }

    fn open(&mut self, fd: OwnedFd) {
        if !self.env.counters.opened(self.env.limits.connections_max) {
            return;
        }
        let conn = Some(Box::new(Conn::open(&self.work.server, &mut self.env, fd)));
        let entry = Entry {
            conn,
            interest: Interest::Nothing,
            deadline: None,
            watched: false,
            ready_again: false,
            ended: false,
        };
        let token = self.conns.insert(|_| entry);
        self.give_turn(token);
    }

    /// Gives the connection to the pool, or remembers that it wants a turn if it is there already.
    fn give_turn(&mut self, token: Token) {
        let Some(entry) = self.conns.get(token) else { return };
        let Some(mut conn) = entry.conn.take() else {
            entry.ready_again = true;
            return;
        };
        if entry.ended {
            conn.input_ends();
        }
        entry.ready_again = false;
        if R::TRIGGER == Trigger::Level && entry.watched && entry.interest != Interest::Nothing {
            // A level trigger would tell of it in every wait until the thread has served it.
            entry.interest = Interest::Nothing;
            let _ = self.mechanism.rewatch(conn.as_fd(), token, Interest::Nothing);
        }
        self.conns.set_deadline(token, Tick::NEVER);
        self.work.desk.give(token, conn);
    }

    fn take_back(&mut self) {
        self.work.desk.returned.reset();
        let done = std::mem::take(&mut *self.work.desk.done.lock().unwrap_or_else(PoisonError::into_inner));
        for Done { token, conn, turn } in done {
            if let Some(entry) = self.conns.get(token) {
                entry.conn = Some(conn);
                self.after_turn(token, turn);
            }
        }
    }

    fn after_turn(&mut self, token: Token, turn: Turn) {
        let Some(entry) = self.conns.get(token) else { return };
        let Some(conn) = &mut entry.conn else { return };
        let interest = match turn {
            Turn::AwaitInput => Interest::Read,
            Turn::AwaitRoom => Interest::Write,
            Turn::Again => return self.give_turn(token),
            Turn::Over => return self.close(token),
        };
        if entry.ready_again {
            return self.give_turn(token);
        }
        if self.env.stopping && turn == Turn::AwaitInput && conn.is_idle() {
            return if conn.dismiss(&mut self.env) { self.give_turn(token) } else { self.close(token) };
        }
        let watch = if !entry.watched {
            let watch = self.mechanism.watch(conn.as_fd(), token, interest);
            entry.watched = watch.is_ok();
            watch
        } else if R::TRIGGER == Trigger::Level && interest != entry.interest {
            self.mechanism.rewatch(conn.as_fd(), token, interest)
        } else {
            Ok(())
        };
        entry.interest = interest;
        let deadline = conn.deadline(&self.env, entry.deadline);
        entry.deadline = Some(deadline);
        self.conns.set_deadline(token, deadline);
        if watch.is_err() {
            self.env.counters.add(Count::Shed, 1);
            return self.close(token);
        }
        if deadline <= self.env.clock.tick() {
            // A thread may have it in every sweep.
            self.expire(token);
        }
    }

    fn close(&mut self, token: Token) {
        let Some(entry) = self.conns.remove(token) else { return };
        if let Some(mut conn) = entry.conn {
            if entry.watched {
                self.mechanism.unwatch(conn.as_fd(), true);
            }
            conn.abandon(&mut self.env);
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
        if self.accept_paused && self.accepting {
            self.accept_paused = false;
            self.accept_again = true;
            self.mechanism.watch(self.work.listener.as_fd(), SOURCE, Interest::Read)?;
        }
        Ok(())
    }
}
