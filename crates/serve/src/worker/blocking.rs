//! One connection at a time, with calls that wait.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitot_disk::{DiskFile, EngineOptions};
use pitot_meter::Nanos;
use pitot_proto::{OpenError, Outbox};
use pitot_sys::{Token, signal, socket};

use super::AcceptFailure;
use crate::conn::{LINGER, send_once};
use crate::counters::{Count, WorkerCounters};
use crate::disk::{self, Disk, DiskPlan, ReadFailure, Route, Started};
use crate::server::{Env, Server};
use crate::session::{Session, Want};

/// How long an acceptor waits for a descriptor or memory to come free. Until then connections wait in the backlog.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(50);

/// How a worker in a blocking call is told to stop.
///
/// It announces on which socket it waits for a request; whoever stops it makes that wait end as if the peer had
/// finished sending. A request under way is not disturbed.
pub trait Interrupt {
    /// The worker waits for a new request on this socket, until the call that follows with `None`.
    fn waiting_on(&self, fd: Option<&Arc<OwnedFd>>);
    /// It has been told to stop.
    fn stopping(&self) -> bool;
}

/// A process of its own is told by a signal.
#[derive(Debug)]
pub struct BySignal(());

impl BySignal {
    /// Prepares the process.
    pub fn prepare() -> BySignal {
        signal::interrupt_receives();
        BySignal(())
    }
}

impl Interrupt for BySignal {
    fn waiting_on(&self, fd: Option<&Arc<OwnedFd>>) {
        signal::waiting_on(fd.map(|fd| fd.as_fd()));
    }

    fn stopping(&self) -> bool {
        signal::stopping()
    }
}

/// A thread is told by another thread.
#[derive(Debug, Default)]
pub struct ByThread {
    stopping: AtomicBool,
    waiting: Mutex<Option<Arc<OwnedFd>>>,
}

impl ByThread {
    /// Tells the worker to stop.
    pub fn stop(&self) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.stopping.store(true, Ordering::Release);
        if let Some(fd) = &*waiting {
            let _ = socket::stop_receiving(fd);
        }
    }
}

impl Interrupt for ByThread {
    fn waiting_on(&self, fd: Option<&Arc<OwnedFd>>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        *waiting = fd.cloned();
        if self.stopping()
            && let Some(fd) = &*waiting
        {
            let _ = socket::stop_receiving(fd);
        }
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }
}

/// Sets the time-outs that a listener's connections inherit.
///
/// # Errors
/// None that is known; a time-out is never zero here.
pub fn prepare_listener(listener: &OwnedFd, server: &Server) -> io::Result<()> {
    socket::set_receive_timeout(listener, Some(server.limits.idle_timeout))?;
    socket::set_send_timeout(listener, Some(server.limits.write_timeout))
}

/// The next connection from a blocking listener, or `None` once it is shut down or the worker is told to stop.
/// Where there is no room for a connection it waits for room, which is no failure.
pub fn accept(listener: &OwnedFd, counters: &WorkerCounters, stopping: impl Fn() -> bool) -> Option<OwnedFd> {
    while !stopping() {
        match socket::accept(listener, false).map_err(|e| AcceptFailure::of(&e)) {
            Ok(fd) => return Some(fd),
            Err(AcceptFailure::Closed) => return None,
            Err(AcceptFailure::NoRoom) => {
                counters.add(Count::AcceptFailed, 1);
                std::thread::sleep(NO_ROOM_PAUSE);
            }
            // A listener has a time-out, for its connections to inherit.
            Err(AcceptFailure::Nothing | AcceptFailure::TryNext) => {}
        }
    }
    None
}

/// Serves a connection to its end. The caller has counted it as opened; it is counted as closed here.
pub fn serve(server: &Server, env: &mut Env, interrupt: &impl Interrupt, fd: OwnedFd, scratch: &mut [u8]) {
    env.clock.update();
    let mut out = env.outbox();
    let fd = Arc::new(fd);
    let mut conn = Conn {
        fd: &fd,
        server,
        disk: None,
        session: Session::new(&*server.protocol, Some(fd.as_fd())),
        head_started: None,
        timeout: env.limits.idle_timeout,
    };
    conn.session.open(env, &mut out);
    conn.serve(env, interrupt, &mut out, scratch);
    if !out.is_empty() {
        let _ = socket::reset_on_close(&fd);
        out.clear();
    }
    env.recycle(out);
    drop(fd);
    env.counters.closed();
}

struct Conn<'a> {
    fd: &'a Arc<OwnedFd>,
    server: &'a Server,
    /// Opened when the first file is to be read by it.
    disk: Option<Disk>,
    session: Session,
    /// When the first byte of the present request's head came.
    head_started: Option<Nanos>,
    /// What is set as SO_RCVTIMEO.
    timeout: Duration,
}

impl Conn<'_> {
    fn serve(&mut self, env: &mut Env, interrupt: &impl Interrupt, out: &mut Outbox, scratch: &mut [u8]) {
        loop {
            if !self.send(env, out) {
                return;
            }
            match self.session.want() {
                Want::Input => {}
                Want::Resume => {
                    self.session.resume(env, out);
                    continue;
                }
                // Files are those of this process, so that this is never so.
                Want::Close | Want::File | Want::Store => return,
                Want::CloseGently => return self.linger(scratch),
            }
            let idle = !self.session.in_head() && !self.session.in_body();
            if idle && interrupt.stopping() {
                env.stopping = true;
                self.session.dismiss(env, out);
                continue;
            }
            if !self.set_timeout(env) {
                env.counters.add(Count::TimedOutRequest, 1);
                self.session.timed_out(env, out);
                continue;
            }
            if idle {
                interrupt.waiting_on(Some(self.fd));
            }
            let received = socket::recv(self.fd, scratch);
            if idle {
                interrupt.waiting_on(None);
            }
            env.clock.update();
            env.stopping = interrupt.stopping();
            match received {
                Ok(0) => self.session.end_of_input(env, out),
                Ok(n) => {
                    env.counters.add(Count::BytesReceived, n as u64);
                    self.session.input(env, &scratch[..n], out);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && idle => {
                    env.counters.add(Count::TimedOutIdle, 1);
                    self.session.dismiss(env, out);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    env.counters.add(Count::TimedOutRequest, 1);
                    self.session.timed_out(env, out);
                }
                Err(_) => {
                    env.counters.add(Count::Reset, 1);
                    return;
                }
            }
        }
    }

    /// Sends everything. False if the connection has failed.
    fn send(&mut self, env: &mut Env, out: &mut Outbox) -> bool {
        while !out.is_empty() {
            if env.route != Route::InPlace
                && let Some((file, range)) = disk::file_to_read(out)
                && let Err(failure) = self.read(file, range, out)
                && !self.session.file_failed(env, failure, out)
            {
                return false;
            }
            match send_once(self.fd.as_fd(), out, env.cork) {
                Ok(0) => {
                    env.counters.add(Count::FileTruncated, 1);
                    return false;
                }
                Ok(n) => {
                    env.counters.add(Count::BytesSent, n as u64);
                    out.advance(n as u64);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let timed_out = e.kind() == io::ErrorKind::WouldBlock;
                    env.counters.add(if timed_out { Count::TimedOutWrite } else { Count::Reset }, 1);
                    return false;
                }
            }
        }
        true
    }

    /// Reads a part of a file, and waits for it.
    fn read(&mut self, file: Arc<DiskFile>, range: Range<u64>, out: &mut Outbox) -> Result<(), ReadFailure> {
        let disk = match &mut self.disk {
            Some(disk) => disk,
            none => {
                let plan = self.server.engine().ok_or(ReadFailure::Failed(OpenError::Failed))?;
                // One block at a time is on its way.
                let plan = DiskPlan { options: EngineOptions { depth: 1, ..plan.options }, ..*plan };
                let disk = Disk::open(&plan).map_err(|_| ReadFailure::Failed(OpenError::Unavailable))?;
                none.insert(disk)
            }
        };
        match disk.start(Token::default(), file, range, None) {
            Started::Done(completion) => disk::fill(out, completion),
            // The engines that a worker of this kind may have answer at once.
            Started::InFlight | Started::Starved => Err(ReadFailure::Failed(OpenError::Unavailable)),
        }
    }

    /// Sets the time that the next receive may take. False if a request's head has used up its time.
    fn set_timeout(&mut self, env: &Env) -> bool {
        let timeout = if self.session.in_head() {
            let now = pitot_meter::now();
            let used: Duration = (now - *self.head_started.get_or_insert(now)).into();
            match env.limits.header_timeout.checked_sub(used) {
                None | Some(Duration::ZERO) => return false,
                Some(left) => left,
            }
        } else {
            self.head_started = None;
            if self.session.in_body() { env.limits.write_timeout } else { env.limits.idle_timeout }
        };
        if timeout != self.timeout {
            self.timeout = timeout;
            let _ = socket::set_receive_timeout(self.fd, Some(timeout));
        }
        true
    }

    /// Throws late input away for a while, so that the reply on its way is not destroyed by a reset.
    fn linger(&self, scratch: &mut [u8]) {
        let end = pitot_meter::now() + LINGER.into();
        if socket::finish_sending(self.fd).is_err() {
            return;
        }
        while let left = Duration::from(end - pitot_meter::now())
            && !left.is_zero()
            && socket::set_receive_timeout(self.fd, Some(left)).is_ok()
        {
            match socket::recv(self.fd, scratch) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}
