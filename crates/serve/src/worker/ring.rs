//! The event loop over io_uring: one call per wake-up submits all operations and returns all completions.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::{Action, Connection, FileFailure, Intake, OpenError, PATTERN, Segment, Tick};
use pitot_sys::ring::{Chunk, Completion, Payload, Ring, RingFd};
use pitot_sys::{Token, Waker, socket};
use rustix::io::Errno;

use super::accept::AcceptFailure;
use super::loop_worker::LoopWorker;
use super::readiness::LOOK;
use super::source::Source;
use crate::counters::Count;
use crate::delays::Delays;
use crate::send::unreadable;
use crate::server::{Env, Server};
use crate::slots::Slots;
use crate::store::{Outcome, StoreThreads};

/// Size of one read of a file.
const READ_BYTES: usize = 64 << 10;
/// File buffers kept for reuse.
const SPARE_BUFFERS_MAX: usize = 64;

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const STORED: Token = Token::new(u32::MAX - 2, 0);

/// Serves until it is stopped and the requests in flight are finished.
///
/// # Errors
/// Failures of the ring.
pub fn run(worker: LoopWorker) -> io::Result<()> {
    let ring = Ring::new(worker.server.ring.options())
        .map_err(|unavailable| io::Error::new(io::ErrorKind::Unsupported, unavailable))?;
    let mut this = Loop::new(worker, ring)?;
    this.serve()?;
    this.finish()
}

/// A connection of the loop.
struct RingConnection {
    /// `None` once it is closed while operations are still in flight.
    fd: Option<RingFd>,
    connection: Connection,
    pending: Pending,
    receive: Receive,
}

/// The operation under way for a connection, besides its receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nothing,
    /// A send is in flight.
    Send,
    /// A read of the file in front of its outbox is in flight.
    Read,
    /// A thread carries out a step of storing.
    Store,
    /// A time passes.
    Delay,
}

impl Pending {
    /// True if the kernel has a buffer of the connection.
    const fn is_in_flight(self) -> bool {
        matches!(self, Pending::Send | Pending::Read)
    }
}

/// The state of a connection's multishot receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receive {
    /// Not armed.
    Off,
    /// In flight.
    On,
    /// Cancelled, so that the requests of a slow reader do not accumulate, but not yet ended.
    Cancelled,
}

struct Loop {
    server: Arc<Server>,
    env: Env,
    ring: Ring,
    source: Option<Source>,
    stop: Arc<Waker>,
    /// The threads that store what connections receive, if anything is stored.
    store_threads: Option<StoreThreads<Token>>,
    connections: Slots<RingConnection>,
    /// Connections that wait for a time to pass.
    delays: Delays,
    /// Out of descriptors, or the listener failed; the source is armed again when a connection closes.
    accept_paused: bool,
    accepting: bool,
    /// Arm the accept again once. The kernel tears down the ring of a dead process some time after its
    /// end, and until then the ring of the replaced worker may get, and lose, the only wake-up of a new connection on
    /// their listener.
    accept_unsure: bool,
    /// When the accept is armed again for these reasons at the latest; `Tick::NEVER` if there is none.
    accept_again_at: Tick,
    stop_requested: bool,
    spare_buffers: Vec<Vec<u8>>,
}

impl Loop {
    fn new(worker: LoopWorker, ring: Ring) -> io::Result<Loop> {
        let LoopWorker { server, index, source, stop, prepared, .. } = worker;
        let mut env = Env::new(&server, index);
        env.batches_log = true;
        let store_threads = server.store.clone().map(StoreThreads::new).transpose()?;
        env.stores_elsewhere = store_threads.is_some();
        let accept_again_at = env.worker.now.after(LOOK);
        let mut this = Loop {
            server,
            env,
            ring,
            source: Some(source),
            stop,
            store_threads,
            connections: Slots::new(),
            delays: Delays::default(),
            accept_paused: false,
            accepting: false,
            accept_unsure: true,
            accept_again_at,
            stop_requested: false,
            spare_buffers: Vec::new(),
        };
        this.ring.poll(STOP, this.stop.as_fd());
        this.arm_source();
        this.arm_stored();
        prepared.notify();
        Ok(this)
    }

    fn serve(&mut self) -> io::Result<()> {
        while !self.stop_requested {
            self.wake_up(None)?;
        }
        Ok(())
    }

    /// Stops accepting, closes idle connections, and serves the others until the end of the grace time.
    fn finish(&mut self) -> io::Result<()> {
        self.env.worker.stopping = true;
        self.ring.cancel(SOURCE);
        while self.accepting {
            self.wake_up(Some(LOOK))?;
        }
        self.source = None;
        // One more wait for input that has arrived; then idle connections are closed.
        self.wake_up(Some(Duration::ZERO))?;
        for token in self.connections.tokens() {
            self.close_if_idle(token);
        }
        let end = self.env.worker.now.after(self.env.limits.grace);
        while !self.connections.is_empty() && self.env.worker.now < end {
            self.wake_up(Some(LOOK))?;
        }
        if self.connections.is_empty() {
            return Ok(());
        }
        self.env.counters.add(Count::CutAtStop, self.connections.len() as u64);
        for token in self.connections.tokens() {
            self.cut(token);
        }
        self.wake_up(Some(Duration::ZERO))
    }

    /// Waits once, for this long at most, and serves what is ready.
    fn wake_up(&mut self, at_most: Option<Duration>) -> io::Result<()> {
        self.env.publish_counts();
        let reasons = [
            at_most,
            self.env.log_is_waiting().then_some(LOOK),
            self.env.worker.now.wait_for(self.accept_again_at.min(self.connections.due())),
            self.delays.until_next(),
        ];
        self.ring.wait(reasons.into_iter().flatten().min())?;
        self.env.update_time();
        while let Some(completion) = self.ring.next_completion() {
            self.complete(completion);
        }
        for token in self.delays.take_ended() {
            self.end_delay(token);
        }
        self.act_on_time();
        Ok(())
    }

    fn complete(&mut self, completion: Completion) {
        match completion {
            Completion::Received { token, result, last } => {
                self.received(token, result, last);
                self.close_if_done_for(token);
            }
            Completion::Sent { token, result, payload } => {
                self.sent(token, result, payload);
                self.close_if_done_for(token);
            }
            Completion::Accepted { result, last, .. } => self.accepted(result, last),
            Completion::Read { token, result, buffer } => self.read(token, result, buffer),
            Completion::Readable { token: STOP } => self.stop_requested = true,
            Completion::Readable { token: STORED } => self.take_stored(),
            Completion::Readable { .. } => self.take_handed_over(),
            Completion::Connected { .. } => {}
        }
    }

    fn arm_source(&mut self) {
        match &self.source {
            Some(Source::Listener(listener)) => {
                // getpeername(2) does not work on a direct descriptor.
                let direct = self.server.ring.has_direct() && !self.server.protocol.wants_peer();
                self.ring.accept(SOURCE, listener.as_fd(), direct);
                self.accepting = true;
            }
            Some(Source::Handoff(handoff)) => self.ring.poll(SOURCE, handoff.as_fd()),
            None => {}
        }
    }

    fn arm_stored(&mut self) {
        if let Some(threads) = &self.store_threads {
            self.ring.poll(STORED, threads.as_fd());
        }
    }

    /// Handles the results of the storing threads. The connection may be closed.
    fn take_stored(&mut self) {
        let Some(threads) = &self.store_threads else { return };
        for Outcome { of: token, result } in threads.take() {
            let answer = self.env.answer_to_store(result);
            let Some(conn) = self.connections.get(token).filter(|conn| conn.pending == Pending::Store) else {
                continue;
            };
            conn.pending = Pending::Nothing;
            conn.connection.stored(&mut self.env.worker, answer);
            self.advance(token);
            self.close_if_done_for(token);
        }
        self.arm_stored();
    }

    /// The delay of a connection has passed. The connection may be closed.
    fn end_delay(&mut self, token: Token) {
        let Some(conn) = self.connections.get(token).filter(|conn| conn.pending == Pending::Delay) else {
            return;
        };
        conn.pending = Pending::Nothing;
        conn.connection.delayed(&mut self.env.worker);
        self.advance(token);
        self.close_if_done_for(token);
    }

    fn accepted(&mut self, result: io::Result<RingFd>, last: bool) {
        self.accepting = !last;
        match result {
            Ok(fd) => self.open(fd),
            Err(e) => match AcceptFailure::of(&e) {
                AcceptFailure::NoRoom(why) => {
                    self.server.admission.no_room(&self.env.counters, why);
                    self.pause_accept();
                    return;
                }
                AcceptFailure::Closed if self.env.worker.stopping => return,
                AcceptFailure::Closed if std::mem::take(&mut self.accept_unsure) => {}
                // A failing listener is tried again later, not at once.
                AcceptFailure::Closed => self.pause_accept(),
                AcceptFailure::Nothing | AcceptFailure::TryNext => {}
            },
        }
        if last && !self.accept_paused && !self.env.worker.stopping {
            self.arm_source();
        }
    }

    fn take_handed_over(&mut self) {
        let Some(Source::Handoff(handoff)) = &self.source else { return };
        let handoff = Arc::clone(handoff);
        handoff.reset();
        while let Some(fd) = handoff.take() {
            self.open(RingFd::Plain(fd));
        }
        self.arm_source();
    }

    fn open(&mut self, fd: RingFd) {
        // A slot of the ring is not a descriptor of the process.
        let plain = match &fd {
            RingFd::Plain(fd) => Some(fd.as_fd()),
            RingFd::Direct(_) => None,
        };
        if !self.server.admission.admit(&self.env.counters, plain) {
            self.ring.close(fd);
            return;
        }
        // getpeername(2) does not work on a direct descriptor.
        let peer = match &fd {
            RingFd::Plain(fd) if self.server.protocol.wants_peer() => socket::peer_addr(fd).ok(),
            RingFd::Plain(_) | RingFd::Direct(_) => None,
        };
        let peer = peer.map(|peer| peer.ip());
        let conn = RingConnection {
            fd: Some(fd),
            connection: Connection::new(&*self.server.protocol, &mut self.env.worker, peer),
            pending: Pending::Nothing,
            receive: Receive::Off,
        };
        let token = self.connections.insert(|_| conn);
        self.advance(token);
    }

    fn received(&mut self, token: Token, result: io::Result<Option<Chunk>>, last: bool) {
        let Some(conn) = self.connections.get(token) else {
            if let Ok(Some(chunk)) = result {
                self.ring.recycle(chunk);
            }
            return;
        };
        if last {
            conn.receive = Receive::Off;
        }
        match result {
            Ok(Some(chunk)) => {
                if conn.fd.is_some() {
                    conn.connection.received(&mut self.env.worker, self.ring.chunk(&chunk));
                }
                self.ring.recycle(chunk);
            }
            Ok(None) => conn.connection.ended(),
            Err(e) => match Errno::from_io_error(&e) {
                Some(Errno::NOBUFS) => self.env.counters.add(Count::NoBuffers, 1),
                // The receive was cancelled, to hold back a fast sender or to close.
                Some(Errno::CANCELED) => {}
                _ if conn.fd.is_some() => conn.connection.broken(&mut self.env.worker),
                _ => {}
            },
        }
        self.advance(token);
    }

    fn sent(&mut self, token: Token, result: io::Result<usize>, mut payload: Box<Payload>) {
        let Some(conn) = self.connections.get(token) else { return };
        conn.pending = Pending::Nothing;
        match result {
            Ok(n) => {
                conn.connection.sent(&mut self.env.worker, n as u64);
                let connection = &mut conn.connection;
                let spare_buffers = &mut self.spare_buffers;
                payload.advance(n, |buffer| {
                    // The buffers of replies are not reused, as they may be of any size.
                    if buffer.capacity() == READ_BYTES && spare_buffers.len() < SPARE_BUFFERS_MAX {
                        spare_buffers.push(buffer);
                    } else {
                        connection.recycle(buffer);
                    }
                });
                if payload.is_empty() {
                    self.ring.recycle_payload(payload);
                } else if let Some(fd) = &conn.fd {
                    conn.pending = Pending::Send;
                    self.ring.send(token, fd, payload, false);
                }
            }
            Err(_) if conn.fd.is_some() => conn.connection.broken(&mut self.env.worker),
            Err(_) => {}
        }
        self.advance(token);
    }

    /// Handles a read of the file in front of the outbox.
    fn read(&mut self, token: Token, result: io::Result<usize>, mut buffer: Vec<u8>) {
        let Some(conn) = self.connections.get(token) else { return };
        conn.pending = Pending::Nothing;
        // A read that was cancelled for a closed connection means nothing for the file.
        let Some(fd) = &conn.fd else { return self.drop_if_done(token) };
        if conn.connection.has_layer() {
            let buffer = Arc::new(buffer);
            let filled = match result {
                Ok(0) => Err(FileFailure::Truncated),
                Ok(n) => {
                    if let Some(out) = conn.connection.outbox() {
                        out.fill(buffer.clone(), 0..n);
                    }
                    Ok(())
                }
                Err(e) => Err(unreadable(&e)),
            };
            if let Err(failure) = filled {
                conn.connection.file_failed(&mut self.env.worker, failure);
            }
            self.advance(token);
            // Its content is encrypted by now, unless the layer had no room.
            if let Ok(mut buffer) = Arc::try_unwrap(buffer)
                && self.spare_buffers.len() < SPARE_BUFFERS_MAX
            {
                buffer.clear();
                self.spare_buffers.push(buffer);
            }
            return;
        }
        let file = conn.connection.outbox().filter(|out| out.front_file().is_some());
        match (result, file) {
            (Ok(n), Some(out)) if n > 0 => {
                let left = out.front_file().map_or(0, |(_, range)| range.end - range.start);
                let n = (n as u64).min(left);
                out.lend(n);
                buffer.truncate(n as usize);
                let mut payload = self.ring.payload();
                payload.push_bytes(buffer, 0);
                conn.pending = Pending::Send;
                self.ring.send(token, fd, payload, !out.is_drained());
            }
            (Ok(_), _) => conn.connection.file_failed(&mut self.env.worker, FileFailure::Truncated),
            (Err(e), _) => conn.connection.file_failed(&mut self.env.worker, unreadable(&e)),
        }
        self.advance(token);
    }

    /// Carries out the connection's actions until one has to wait.
    fn advance(&mut self, token: Token) {
        loop {
            let Some(conn) = self.connections.get(token) else { return };
            let Some(fd) = &conn.fd else { return self.drop_if_done(token) };
            if matches!(conn.pending, Pending::Read | Pending::Store | Pending::Delay)
                && !conn.connection.is_over()
            {
                break;
            }
            match conn.connection.poll(&mut self.env.worker) {
                Action::Receive | Action::Wait => break,
                Action::Send(_) => {
                    self.start_sending(token);
                    break;
                }
                Action::Read(_) => {
                    self.start_reading(token);
                    break;
                }
                Action::Open(path) => {
                    // Files belong to this process, so that no other process has to be asked.
                    let env = &mut self.env;
                    let answer = env.files.open(path, env.worker.now).unwrap_or(Err(OpenError::Failed));
                    conn.connection.opened(&mut env.worker, answer);
                }
                Action::Store(path, step) => {
                    let (path, step) = self.env.take_step(path, step);
                    let Some(threads) = &mut self.store_threads else { return self.close(token, true) };
                    conn.pending = Pending::Store;
                    threads.step(token, path, step);
                    break;
                }
                Action::Delay(time) => {
                    conn.pending = Pending::Delay;
                    let connections = &mut self.connections;
                    let count = connections.len();
                    self.delays.add(token, time, count, |token| connections.get(token).is_some());
                    break;
                }
                // The plan was refused: records without data cannot be received this way.
                Action::HandOver => conn.connection.keeps_layer(),
                Action::Alert(_) => conn.connection.alerted(),
                Action::Linger => self.ring.finish_sending(fd),
                Action::Close { reset } => return self.close(token, reset),
            }
        }
        self.steer_receive(token);
        self.set_deadline(token);
    }

    /// Arms the receive, unless the peer has to read its replies first or no more input is needed.
    fn steer_receive(&mut self, token: Token) {
        let Some(conn) = self.connections.get(token) else { return };
        let Some(fd) = &conn.fd else { return };
        match (conn.connection.intake(), conn.receive) {
            (Intake::Open, Receive::Off) => {
                conn.receive = Receive::On;
                self.ring.receive(token, fd);
            }
            (Intake::Held, Receive::On) => {
                conn.receive = Receive::Cancelled;
                self.ring.cancel_receive(token);
            }
            _ => {}
        }
    }

    /// Starts one send from the front of the outbox, or a read of the file there.
    fn start_sending(&mut self, token: Token) {
        self.env.burn();
        let Some(conn) = self.connections.get(token) else { return };
        if conn.connection.to_send().is_some_and(|out| out.front_file().is_some()) {
            return self.start_reading(token);
        }
        let (Some(out), Some(fd)) = (conn.connection.to_send(), &conn.fd) else { return };
        conn.pending = Pending::Send;
        let mut payload = self.ring.payload();
        while !payload.is_full()
            && let Some((segment, sent)) = out.lend_front()
        {
            let from = sent as usize;
            match segment {
                Segment::Bytes(bytes) => payload.push_bytes(bytes, from),
                Segment::Static(bytes) => payload.push_static(&bytes[from..]),
                Segment::Shared(bytes, range) => payload.push_shared(bytes, range.start + from..range.end),
                Segment::Pattern { at, len } => {
                    let (at, len) = (at + sent, len - sent);
                    let start = (at % PATTERN.len() as u64) as usize;
                    let n = len.min((PATTERN.len() - start) as u64);
                    payload.push_static(&PATTERN[start..start + n as usize]);
                    if n < len {
                        out.put_back(Segment::Pattern { at: at + n, len: len - n }, 0);
                    }
                }
                Segment::Block(block) => payload.push_bytes(block.bytes().to_vec(), from),
                file @ Segment::File { .. } => {
                    out.put_back(file, sent);
                    break;
                }
            }
        }
        let more = !out.is_drained() && self.env.cork;
        self.ring.send(token, fd, payload, more);
    }

    /// Starts a read of the first file in the outbox.
    fn start_reading(&mut self, token: Token) {
        let Some(conn) = self.connections.get(token) else { return };
        let Some((handle, range)) = conn.connection.outbox().and_then(|out| out.file_to_read()) else {
            return;
        };
        let Ok(file) = Arc::clone(&handle.0).downcast::<OwnedFd>() else {
            return self.close(token, true);
        };
        // All of one size, so that each can be reused: the allocator would return such memory to the kernel.
        let buffer = self.spare_buffers.pop().unwrap_or_else(|| Vec::with_capacity(READ_BYTES));
        let len = (range.end - range.start).min(READ_BYTES as u64) as u32;
        conn.pending = Pending::Read;
        self.ring.read(token, &file, range.start, len, buffer);
    }

    fn set_deadline(&mut self, token: Token) {
        if let Some(conn) = self.connections.get(token) {
            let deadline = conn.connection.poll_deadline(&self.env.worker);
            self.connections.set_deadline(token, deadline);
        }
    }

    /// When the server is stopping, closes a connection as soon as no request is in progress.
    fn close_if_done_for(&mut self, token: Token) {
        if self.env.worker.stopping {
            self.close_if_idle(token);
        }
    }

    fn close_if_idle(&mut self, token: Token) {
        let conn = self.connections.get(token).filter(|conn| conn.fd.is_some());
        if let Some(conn) = conn.filter(|conn| conn.connection.is_idle()) {
            conn.connection.dismiss(&mut self.env.worker);
            self.advance(token);
        }
    }

    /// Closes the socket; with `reset` the peer sees that something was not sent. The connection's slot is freed when
    /// none of its operations is in flight.
    fn close(&mut self, token: Token, reset: bool) {
        let Some(conn) = self.connections.get(token) else { return };
        if let Some(fd) = conn.fd.take() {
            let is_in_flight = conn.pending.is_in_flight();
            if conn.receive != Receive::Off || is_in_flight {
                self.ring.cancel_all(&fd);
            }
            if reset || is_in_flight {
                // Otherwise the kernel would keep sending what the peer may never read.
                self.ring.reset(&fd);
            }
            self.ring.close(fd);
            self.env.counters.closed();
            self.connections.set_deadline(token, Tick::NEVER);
        }
        self.drop_if_done(token);
    }

    /// Closes a connection regardless of requests in progress.
    fn cut(&mut self, token: Token) {
        if let Some(conn) = self.connections.get(token) {
            conn.connection.cut();
            self.advance(token);
        }
    }

    fn drop_if_done(&mut self, token: Token) {
        let done = |conn: &mut RingConnection| conn.receive == Receive::Off && !conn.pending.is_in_flight();
        if self.connections.get(token).is_some_and(done) {
            self.connections.remove(token);
            // Its descriptor is there for the next one.
            self.accept_again();
        }
    }

    fn pause_accept(&mut self) {
        self.accept_paused = true;
        self.accept_again_at = self.env.worker.now.after(LOOK);
    }

    /// Accepts again if there was no descriptor, or the listener failed.
    fn accept_again(&mut self) -> bool {
        let is_due = self.accept_paused && !self.env.worker.stopping;
        if is_due {
            self.accept_paused = false;
            self.arm_source();
        }
        is_due
    }

    /// Ends the waiting for what the time has come for, besides delays.
    fn act_on_time(&mut self) {
        let now = self.env.worker.now;
        for token in self.connections.expired(now) {
            self.expire(token);
        }
        if now < self.accept_again_at {
            return;
        }
        self.accept_again_at = Tick::NEVER;
        if !self.accept_again() && self.accept_unsure && self.accepting {
            self.ring.cancel(SOURCE);
        }
        self.accept_unsure &= self.accepting;
    }

    fn expire(&mut self, token: Token) {
        if let Some(conn) = self.connections.get(token) {
            conn.connection.expired(&mut self.env.worker);
            self.advance(token);
        }
    }
}
