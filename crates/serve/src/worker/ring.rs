//! The event loop over io_uring: one call per wake-up submits everything and brings everything that is done.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::{Outbox, PATTERN, Segment};
use pitot_sys::ring::{Completion, Payload, Ring, RingFd, Sizes};
use pitot_sys::{Token, Waker};

use super::readiness::SWEEP;
use super::{AcceptFailure, LoopWorker, Source};
use crate::clock::Tick;
use crate::conn::Phase;
use crate::counters::Count;
use crate::server::{Env, Server};
use crate::session::{Session, Want};
use crate::slots::Slots;
use crate::storing::{Outcome, Storing};

/// Bytes of a file that are read in one operation.
const READ_BYTES: usize = 64 << 10;
/// File buffers kept for reuse.
const SPARE_BUFFERS_MAX: usize = 64;
/// Direct descriptors, for connections that the ring accepts itself, are as many as the process may have ordinary
/// ones, up to this.
const DIRECT_MAX: u64 = 65_536;

const SOURCE: Token = Token::new(u32::MAX, 0);
const STOP: Token = Token::new(u32::MAX - 1, 0);
const STORED: Token = Token::new(u32::MAX - 2, 0);

/// Serves until it is told to stop and the requests in flight are done.
///
/// # Errors
/// What keeps the ring from working at all.
pub fn run(worker: LoopWorker) -> io::Result<()> {
    let sizes = Sizes {
        submissions: 512,
        completions: 4096,
        buffers: 256,
        buffer_bytes: 4096,
        direct: pitot_sys::limits::descriptors().min(DIRECT_MAX) as u32,
    };
    let ring =
        Ring::new(sizes).map_err(|unavailable| io::Error::new(io::ErrorKind::Unsupported, unavailable))?;
    let mut this = Loop::new(worker, ring)?;
    this.serve()?;
    this.finish()
}

struct Conn {
    /// Gone once it is closed, while operations are still in flight.
    fd: Option<RingFd>,
    session: Session,
    out: Option<Box<Outbox>>,
    phase: Phase,
    deadline: Option<Tick>,
    receiving: bool,
    /// A send or a read of a file is in flight.
    sending: bool,
    /// A step of storing is under way.
    storing: bool,
    input_ended: bool,
    /// The receive was ended so that a slow reader's requests do not pile up.
    held: bool,
}

struct Loop {
    server: Arc<Server>,
    env: Env,
    ring: Ring,
    source: Option<Source>,
    stop: Arc<Waker>,
    /// The threads that store what connections send, if anything may be stored.
    storing: Option<Storing<Token>>,
    conns: Slots<Conn>,
    /// No descriptor was left; the source is armed again at the next sweep.
    accept_paused: bool,
    accepting: bool,
    /// The accept is to be armed anew at the first sweep. The kernel takes a dead process's ring apart a while after
    /// its end, and until then the ring of the worker that this one replaces may get, and lose, the one wake-up of a
    /// new connection on their listener.
    accept_unsure: bool,
    next_sweep: Tick,
    stop_told: bool,
    spare_buffers: Vec<Vec<u8>>,
}

impl Loop {
    fn new(worker: LoopWorker, ring: Ring) -> io::Result<Loop> {
        let LoopWorker { server, index, source, stop, prepared, .. } = worker;
        let mut env = Env::new(&server, index);
        let storing = server.depot.clone().map(Storing::new).transpose()?;
        env.stores_elsewhere = storing.is_some();
        let next_sweep = env.clock.tick().after(SWEEP);
        let mut this = Loop {
            server,
            env,
            ring,
            source: Some(source),
            stop,
            storing,
            conns: Slots::new(),
            accept_paused: false,
            accepting: false,
            accept_unsure: true,
            next_sweep,
            stop_told: false,
            spare_buffers: Vec::new(),
        };
        this.ring.poll(STOP, this.stop.as_fd());
        this.arm_source();
        this.arm_storing();
        prepared.tell();
        Ok(this)
    }

    fn serve(&mut self) -> io::Result<()> {
        while !self.stop_told {
            self.wake_up(None)?;
        }
        Ok(())
    }

    /// Accepts no more, closes what is idle, and serves the rest up to the grace time.
    fn finish(&mut self) -> io::Result<()> {
        self.env.stopping = true;
        self.ring.cancel(SOURCE);
        while self.accepting {
            self.wake_up(Some(SWEEP))?;
        }
        self.source = None;
        // One more look at what has arrived, then whoever is idle goes.
        self.wake_up(Some(Duration::ZERO))?;
        for token in self.conns.tokens() {
            self.close_if_idle(token);
        }
        let end = self.env.clock.tick().after(self.env.limits.grace);
        while !self.conns.is_empty() && self.env.clock.tick() < end {
            self.wake_up(Some(SWEEP))?;
        }
        if self.conns.is_empty() {
            return Ok(());
        }
        self.env.counters.add(Count::CutAtStop, self.conns.len() as u64);
        for token in self.conns.tokens() {
            self.close(token);
        }
        self.wake_up(Some(Duration::ZERO))
    }

    fn wake_up(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        let sweeping = !self.conns.is_empty() || self.accept_paused || self.accept_unsure;
        self.ring.wait(timeout.or(sweeping.then_some(SWEEP)))?;
        self.env.clock.update();
        while let Some(completion) = self.ring.next_completion() {
            self.complete(completion);
        }
        if self.env.clock.tick() >= self.next_sweep {
            self.sweep();
        }
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
            Completion::Readable { token: STOP } => self.stop_told = true,
            Completion::Readable { token: STORED } => self.take_stored(),
            Completion::Readable { .. } => self.take_handed_over(),
            Completion::Connected { .. } => {}
        }
    }

    fn arm_source(&mut self) {
        match &self.source {
            Some(Source::Listener(listener)) => {
                // A slot of the ring cannot be asked whom it is connected to.
                let direct = !self.server.protocol.wants_peer();
                self.ring.accept(SOURCE, listener.as_fd(), direct);
                self.accepting = true;
            }
            Some(Source::Handoff(handoff)) => self.ring.poll(SOURCE, handoff.as_fd()),
            None => {}
        }
    }

    fn arm_storing(&mut self) {
        if let Some(storing) = &self.storing {
            self.ring.poll(STORED, storing.as_fd());
        }
    }

    /// Takes what the threads that store have done. A connection may be gone meanwhile.
    fn take_stored(&mut self) {
        let Some(storing) = &self.storing else { return };
        for Outcome { of: token, result } in storing.take() {
            let answer = self.env.stored(result);
            let Some(conn) = self.conns.get(token).filter(|conn| conn.storing) else { continue };
            conn.storing = false;
            conn.deadline = None;
            if let Some(mut out) = conn.out.take() {
                conn.session.stored(&mut self.env, answer, &mut out);
                conn.out = Some(out);
            }
            self.advance(token);
            self.close_if_done_for(token);
        }
        self.arm_storing();
    }

    /// Has the step of storing done that a connection wants.
    fn start_storing(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        let (Some(storing), Some(out)) = (&mut self.storing, &mut conn.out) else { return self.close(token) };
        conn.storing = true;
        let (path, delivery) = self.env.take_step(out);
        storing.step(token, path, delivery);
    }

    fn accepted(&mut self, result: io::Result<RingFd>, last: bool) {
        self.accepting = !last;
        match result {
            Ok(fd) => self.open(fd),
            Err(e) => match AcceptFailure::of(&e) {
                AcceptFailure::NoRoom => {
                    self.env.counters.add(Count::AcceptFailed, 1);
                    self.accept_paused = true;
                    return;
                }
                AcceptFailure::Closed if self.env.stopping => return,
                AcceptFailure::Closed if std::mem::take(&mut self.accept_unsure) => {}
                // A listener that cannot be accepted from is tried again at the next sweep, not at once.
                AcceptFailure::Closed => self.accept_paused = true,
                AcceptFailure::Nothing | AcceptFailure::TryNext => {}
            },
        }
        if last && !self.accept_paused && !self.env.stopping {
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
        if !self.env.counters.opened(self.env.limits.connections_max) {
            self.ring.close(fd);
            return;
        }
        let mut session = Session::new(
            &*self.server.protocol,
            match &fd {
                RingFd::Plain(fd) => Some(fd.as_fd()),
                RingFd::Direct(_) => None,
            },
        );
        let mut out = self.env.outbox();
        session.open(&mut self.env, &mut out);
        let conn = Conn {
            fd: Some(fd),
            session,
            out: Some(out),
            phase: Phase::Idle,
            deadline: None,
            receiving: false,
            sending: false,
            storing: false,
            input_ended: false,
            held: false,
        };
        let token = self.conns.insert(|_| conn);
        self.advance(token);
    }

    fn received(&mut self, token: Token, result: io::Result<Option<pitot_sys::ring::Chunk>>, last: bool) {
        let Some(conn) = self.conns.get(token) else {
            if let Ok(Some(chunk)) = result {
                self.ring.recycle(chunk);
            }
            return;
        };
        conn.receiving = !last;
        match result {
            Ok(Some(chunk)) => {
                if conn.fd.is_some() && conn.phase != Phase::Linger {
                    let env = &mut self.env;
                    env.counters.add(Count::BytesReceived, chunk.len() as u64);
                    let mut out = conn.out.take().unwrap_or_else(|| env.outbox());
                    conn.session.input(env, self.ring.chunk(&chunk), &mut out);
                    conn.out = Some(out);
                }
                self.ring.recycle(chunk);
            }
            Ok(None) => {
                conn.input_ended = true;
                if conn.phase == Phase::Linger {
                    return self.close(token);
                }
                let mut out = conn.out.take().unwrap_or_else(|| self.env.outbox());
                conn.session.end_of_input(&mut self.env, &mut out);
                conn.out = Some(out);
            }
            Err(e) => match rustix::io::Errno::from_io_error(&e) {
                Some(rustix::io::Errno::NOBUFS) => self.env.counters.add(Count::NoBuffers, 1),
                // The receive was cancelled, to hold back a fast sender or to close.
                Some(rustix::io::Errno::CANCELED) => {}
                _ => {
                    if conn.fd.is_some() {
                        self.env.counters.add(Count::Reset, 1);
                    }
                    return self.close(token);
                }
            },
        }
        self.advance(token);
    }

    fn sent(&mut self, token: Token, result: io::Result<usize>, mut payload: Box<Payload>) {
        let Some(conn) = self.conns.get(token) else { return };
        conn.sending = false;
        conn.deadline = None;
        match result {
            Ok(n) => {
                self.env.counters.add(Count::BytesSent, n as u64);
                let (out, spare_buffers) = (&mut conn.out, &mut self.spare_buffers);
                payload.advance(n, |buffer| {
                    // Not those of replies, which may be of any size.
                    if buffer.capacity() == READ_BYTES && spare_buffers.len() < SPARE_BUFFERS_MAX {
                        spare_buffers.push(buffer);
                    } else if let Some(out) = out {
                        out.recycle(buffer);
                    }
                });
                if payload.is_empty() {
                    self.ring.recycle_payload(payload);
                } else if let Some(fd) = &conn.fd {
                    conn.sending = true;
                    self.ring.send(token, fd, payload, false);
                    return self.set_deadline(token);
                }
                self.advance(token);
            }
            Err(_) => {
                if conn.fd.is_some() {
                    self.env.counters.add(Count::Reset, 1);
                }
                self.close(token);
            }
        }
    }

    /// A part of the file in front of the outbox has been read.
    fn read(&mut self, token: Token, result: io::Result<usize>, buffer: Vec<u8>) {
        let Some(conn) = self.conns.get(token) else { return };
        conn.sending = false;
        let (Some(out), Some(fd)) = (&mut conn.out, &conn.fd) else { return self.close(token) };
        let left = out.front_file().map_or(0, |(_, range)| range.end - range.start);
        match result {
            Ok(n) if n > 0 && left > 0 => {
                let n = (n as u64).min(left);
                out.advance(n);
                let mut buffer = buffer;
                buffer.truncate(n as usize);
                let mut payload = self.ring.payload();
                payload.push_bytes(buffer, 0);
                conn.sending = true;
                self.ring.send(token, fd, payload, !out.is_empty());
            }
            _ => {
                // The file has become shorter, or cannot be read: what was promised cannot be sent.
                self.env.counters.add(Count::FileTruncated, 1);
                self.close(token);
            }
        }
    }

    /// Does what can be done for a connection now: sends, resumes, receives, closes.
    fn advance(&mut self, token: Token) {
        loop {
            let Some(conn) = self.conns.get(token) else { return };
            if conn.fd.is_none() {
                return self.drop_if_done(token);
            }
            if conn.sending || conn.storing {
                break;
            }
            if conn.out.as_ref().is_some_and(|out| !out.is_empty()) {
                self.start_sending(token);
                break;
            }
            match conn.session.want() {
                Want::Input => break,
                Want::Resume => {
                    let mut out = conn.out.take().unwrap_or_else(|| self.env.outbox());
                    conn.session.resume(&mut self.env, &mut out);
                    conn.out = Some(out);
                }
                Want::Store => {
                    self.start_storing(token);
                    break;
                }
                // Files are those of this process, so that the latter is never so.
                Want::Close | Want::File => return self.close(token),
                Want::CloseGently if conn.input_ended => return self.close(token),
                Want::CloseGently => {
                    if conn.phase != Phase::Linger {
                        conn.phase = Phase::Linger;
                        if let Some(fd) = &conn.fd {
                            self.ring.finish_sending(fd);
                        }
                    }
                    break;
                }
            }
        }
        let Some(conn) = self.conns.get(token) else { return };
        if !conn.sending
            && !conn.storing
            && let Some(out) = conn.out.take_if(|out| out.is_empty())
        {
            self.env.recycle(out);
        }
        self.steer_receive(token);
        self.set_deadline(token);
    }

    /// Receives, unless the connection must first read what it asked for or will not be asked for more.
    fn steer_receive(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        let Some(fd) = &conn.fd else { return };
        match conn.session.want() {
            Want::Input | Want::CloseGently if !conn.receiving && !conn.input_ended => {
                conn.held = false;
                conn.receiving = true;
                self.ring.receive(token, fd);
            }
            // What has arrived behind a message that is being stored is kept, and no more is taken.
            Want::Store if !conn.session.holds_input() => {}
            Want::Resume | Want::Store if conn.receiving && !conn.held => {
                conn.held = true;
                self.ring.cancel_receive(token);
            }
            _ => {}
        }
    }

    /// Hands as much of the outbox to the kernel as one send takes, or reads the file in front of it.
    fn start_sending(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        let (Some(out), Some(fd)) = (&mut conn.out, &conn.fd) else { return };
        conn.sending = true;
        if let Some((handle, range)) = out.front_file() {
            let Ok(file) = Arc::clone(&handle.0).downcast::<OwnedFd>() else { return self.close(token) };
            // Always of one size, so that each can be used again: the allocator gives such memory back to the kernel.
            let buffer = self.spare_buffers.pop().unwrap_or_else(|| Vec::with_capacity(READ_BYTES));
            let len = (range.end - range.start).min(READ_BYTES as u64) as u32;
            self.ring.read(token, &file, range.start, len, buffer);
            return;
        }
        let mut payload = self.ring.payload();
        while !payload.is_full()
            && let Some((segment, sent)) = out.take_front()
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
        self.ring.send(token, fd, payload, !out.is_empty() && self.env.cork);
    }

    fn set_deadline(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        let phase = conn.phase.next(conn.sending || conn.storing, &conn.session);
        // A reply's deadline moves only with its progress, which clears it.
        let keeps = phase.counts_from_start() || phase == Phase::Reply;
        if conn.deadline.is_none() || phase != conn.phase || !keeps {
            conn.phase = phase;
            let deadline = self.env.clock.tick().after(phase.timeout(&self.env));
            conn.deadline = Some(deadline);
            self.conns.set_deadline(token, deadline);
        }
    }

    /// When the server is stopping, a connection goes as soon as nothing is under way.
    fn close_if_done_for(&mut self, token: Token) {
        if self.env.stopping {
            self.close_if_idle(token);
        }
    }

    fn close_if_idle(&mut self, token: Token) {
        let idle = self.conns.get(token).is_some_and(|conn| {
            conn.fd.is_some() && !conn.sending && !conn.storing && conn.phase != Phase::Linger && {
                !conn.session.in_head() && !conn.session.in_body()
            }
        });
        if idle {
            self.dismiss(token);
        }
    }

    /// Closes a connection although nothing is wrong with it, once its last word is sent, if it has one.
    fn dismiss(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        let mut out = conn.out.take().unwrap_or_else(|| self.env.outbox());
        conn.session.dismiss(&mut self.env, &mut out);
        conn.out = Some(out);
        self.advance(token);
    }

    /// Closes the socket. The connection's slot is freed when nothing of it is in flight any more.
    fn close(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        if let Some(fd) = conn.fd.take() {
            if conn.receiving || conn.sending {
                self.ring.cancel_all(&fd);
            }
            if conn.sending || conn.out.as_ref().is_some_and(|out| !out.is_empty()) {
                // Else the kernel would go on with what the peer may never read.
                self.ring.reset(&fd);
            }
            self.ring.close(fd);
            self.env.counters.closed();
            self.conns.set_deadline(token, Tick::NEVER);
        }
        self.drop_if_done(token);
    }

    fn drop_if_done(&mut self, token: Token) {
        if self.conns.get(token).is_some_and(|conn| !conn.receiving && !conn.sending)
            && let Some(conn) = self.conns.remove(token)
            && let Some(mut out) = conn.out
        {
            out.clear();
            self.env.recycle(out);
        }
    }

    fn sweep(&mut self) {
        self.next_sweep = self.env.clock.tick().after(SWEEP);
        let mut expired = Vec::new();
        self.conns.expired(self.env.clock.tick(), &mut expired);
        for token in expired {
            self.expire(token);
        }
        if self.accept_paused && !self.env.stopping {
            self.accept_paused = false;
            self.arm_source();
        } else if self.accept_unsure && self.accepting {
            self.ring.cancel(SOURCE);
        }
        self.accept_unsure &= self.accepting;
    }

    fn expire(&mut self, token: Token) {
        let Some(conn) = self.conns.get(token) else { return };
        conn.deadline = None;
        match conn.phase {
            Phase::Idle => {
                self.env.counters.add(Count::TimedOutIdle, 1);
                return self.dismiss(token);
            }
            Phase::Reply => self.env.counters.add(Count::TimedOutWrite, 1),
            Phase::Linger => {}
            Phase::Head | Phase::Body => {
                self.env.counters.add(Count::TimedOutRequest, 1);
                let mut out = conn.out.take().unwrap_or_else(|| self.env.outbox());
                conn.session.timed_out(&mut self.env, &mut out);
                conn.out = Some(out);
                return self.advance(token);
            }
        }
        self.close(token);
    }
}
