//! One connection at a time, with blocking calls.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pitot_disk::{Completion, DiskFile, EngineOptions};
use pitot_proto::{Action, Connection, FileFailure, OpenError, Phase, Tick};
use pitot_sys::{Token, signal, socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::accept::AcceptFailure;
use crate::admission::Admission;
use crate::counters::WorkerCounters;
use crate::disk::{self, Disk, DiskPlan, Route, Started};
use crate::kernel_tls;
use crate::send::{self, Sent, send_once};
use crate::server::{Env, Server};

/// How long an acceptor waits for a descriptor or memory to become available, while connections wait in the backlog.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(50);

/// The timeout of idle connections while others wait for a worker, where each worker serves one connection at a time:
/// clients that keep connections open for later would shut out those that wait. Apache's documentation recommends a short
/// KeepAliveTimeout for its prefork module.
const IDLE_WHEN_TAKEN: Duration = Duration::from_secs(1);
/// The timeout of request heads in the same case. It is longer, since closing then costs a client its request, and a
/// lost segment may take seconds to arrive.
const HEAD_WHEN_TAKEN: Duration = Duration::from_secs(5);
/// How often a worker checks for waiting connections, once a head has taken longer than that.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How a worker in a blocking call is stopped.
///
/// It announces the socket on which it waits for a request, and stopping it ends that wait as if the peer had finished
/// sending. A request under way is not disturbed.
pub trait Interrupt {
    /// The worker waits for a new request on this socket, until the call that follows with `None`.
    fn waiting_on(&self, fd: Option<&Arc<OwnedFd>>);
    /// True if the worker has to stop.
    fn stopping(&self) -> bool;
}

/// A worker process is stopped by a signal.
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

/// A worker thread is stopped by another thread.
#[derive(Debug, Default)]
pub struct ByThread {
    stopping: AtomicBool,
    waiting: Mutex<Option<Arc<OwnedFd>>>,
}

impl ByThread {
    /// Stops the worker.
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

/// Sets the timeouts that a listener's connections inherit.
///
/// # Errors
/// None that is known; a timeout is never zero here.
pub fn prepare_listener(listener: &OwnedFd, server: &Server) -> io::Result<()> {
    socket::set_receive_timeout(listener, Some(first_timeout(server)))?;
    socket::set_send_timeout(listener, Some(server.limits.connection.write_timeout))
}

/// The next connection from a blocking listener, or `None` once it is shut down or the worker has to stop. If
/// descriptors or memory run out, it waits for them, which is no failure.
pub fn accept(
    listener: &OwnedFd,
    (admission, counters): (&Admission, &WorkerCounters),
    stopping: impl Fn() -> bool,
) -> Option<OwnedFd> {
    while !stopping() {
        match socket::accept(listener, false).map_err(|e| AcceptFailure::of(&e)) {
            Ok(fd) => return Some(fd),
            Err(AcceptFailure::Closed) => return None,
            Err(AcceptFailure::NoRoom(why)) => {
                admission.no_room(counters, why);
                std::thread::sleep(NO_ROOM_PAUSE);
            }
            // The listener has a timeout for its connections to inherit.
            Err(AcceptFailure::Nothing | AcceptFailure::TryNext) => {}
        }
    }
    None
}

/// Whether a connection waits at a listener to be accepted.
fn has_waiting(listener: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(listener, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// The timeout of a connection's first receive, in ticks as deadlines are, so that it need not be set again.
fn first_timeout(server: &Server) -> Duration {
    let idle = Tick::START.until(Tick::START.after(server.limits.connection.idle_timeout));
    if server.connection_per_worker { idle.min(IDLE_WHEN_TAKEN) } else { idle }
}

/// Serves a connection until it is closed. The caller has counted it as opened; it is counted as closed here. `queue` is
/// the listener at which other connections wait for this worker, if it serves others after this one.
pub fn serve(
    server: &Server,
    env: &mut Env,
    interrupt: &impl Interrupt,
    fd: OwnedFd,
    queue: Option<&OwnedFd>,
    scratch: &mut [u8],
) {
    env.update_time();
    if server.is_unix {
        let _ = socket::set_receive_timeout(&fd, Some(first_timeout(server)));
        let _ = socket::set_send_timeout(&fd, Some(server.limits.connection.write_timeout));
    }
    let peer = server.protocol.wants_peer().then(|| socket::peer_addr(&fd).ok()).flatten();
    let peer = peer.map(|peer| peer.ip());
    let mut connection = Connection::new(&*server.protocol, &mut env.worker, peer);
    let mut conn =
        BlockingSocket { fd: Arc::new(fd), server, queue, disk: None, timeout: first_timeout(server) };
    conn.serve(&mut connection, env, interrupt, scratch);
    drop(conn);
    env.counters.closed();
    env.publish_counts();
}

/// The blocking socket of a connection.
struct BlockingSocket<'a> {
    fd: Arc<OwnedFd>,
    server: &'a Server,
    queue: Option<&'a OwnedFd>,
    /// Opened for the first file that it reads.
    disk: Option<Disk>,
    /// The current SO_RCVTIMEO.
    timeout: Duration,
}

impl BlockingSocket<'_> {
    fn serve(
        &mut self,
        connection: &mut Connection,
        env: &mut Env,
        interrupt: &impl Interrupt,
        scratch: &mut [u8],
    ) {
        loop {
            match connection.poll(&mut env.worker) {
                Action::Receive => self.receive(connection, env, interrupt, scratch),
                Action::Send(out) => {
                    if env.route != Route::InPlace
                        && let Some((file, range)) = disk::file_to_read(out)
                    {
                        let filled = self.read(file, range).and_then(|read| disk::fill(out, read));
                        if let Err(failure) = filled {
                            connection.file_failed(&mut env.worker, failure);
                        }
                        continue;
                    }
                    env.burn();
                    let of_file = out.front_file().is_some();
                    let result = send_once(self.fd.as_fd(), out, env.cork);
                    // SO_SNDTIMEO is the timeout of a reply.
                    if send::report(connection, &mut env.worker, result, of_file) == Sent::Full {
                        connection.expired(&mut env.worker);
                    }
                }
                Action::Read(out) => {
                    let filled = match disk::file_to_read(out).filter(|_| env.route != Route::InPlace) {
                        Some((file, range)) => self.read(file, range).and_then(|read| disk::fill(out, read)),
                        None => env.read_file(out),
                    };
                    if let Err(failure) = filled {
                        connection.file_failed(&mut env.worker, failure);
                    }
                }
                Action::Open(path) => {
                    // Files belong to this process, so that no other process has to be asked.
                    let answer = env.files.open(path, env.worker.now).unwrap_or(Err(OpenError::Failed));
                    connection.opened(&mut env.worker, answer);
                }
                Action::Store(path, step) => {
                    let answer = env.store(path, step);
                    connection.stored(&mut env.worker, answer);
                }
                Action::Delay(time) => {
                    // A delay occupies its worker, as in any server of this architecture.
                    env.publish_counts();
                    std::thread::sleep(time);
                    env.update_time();
                    env.worker.stopping = interrupt.stopping();
                    connection.delayed(&mut env.worker);
                }
                Action::HandOver => self.hand_over(connection, env),
                Action::Alert(alert) => self.send_alert(connection, env, alert),
                Action::Linger => {
                    if socket::finish_sending(&*self.fd).is_err() {
                        connection.cut();
                    }
                }
                Action::Close { reset } => {
                    if reset {
                        let _ = socket::reset_on_close(&*self.fd);
                    }
                    return;
                }
                // Nothing is ever in flight here.
                Action::Wait => return,
            }
        }
    }

    /// Waits for input, up to the connection's deadline.
    fn receive(
        &mut self,
        connection: &mut Connection,
        env: &mut Env,
        interrupt: &impl Interrupt,
        scratch: &mut [u8],
    ) {
        let is_idle = connection.is_idle();
        if is_idle && interrupt.stopping() {
            env.worker.stopping = true;
            return connection.dismiss(&mut env.worker);
        }
        let left = env.worker.now.until(connection.poll_deadline(&env.worker));
        if left.is_zero() {
            return connection.expired(&mut env.worker);
        }
        let patience = self.patience(connection.phase(), left);
        if patience.is_zero() && self.queue.is_some_and(has_waiting) {
            return connection.expired(&mut env.worker);
        }
        let wait = left.min(if patience.is_zero() { LOOK_AGAIN } else { patience });
        if wait != self.timeout {
            self.timeout = wait;
            let _ = socket::set_receive_timeout(&*self.fd, Some(wait));
        }
        env.publish_counts();
        if is_idle {
            interrupt.waiting_on(Some(&self.fd));
        }
        let received = socket::recv(&*self.fd, scratch);
        if is_idle {
            interrupt.waiting_on(None);
        }
        env.update_time();
        env.worker.stopping = interrupt.stopping();
        match received {
            Ok(0) => connection.ended(),
            Ok(n) => connection.received(&mut env.worker, &scratch[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // If no other connection waits for a worker, this one may continue waiting.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && wait < left => {
                if self.queue.is_some_and(has_waiting) {
                    connection.expired(&mut env.worker);
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => connection.expired(&mut env.worker),
            Err(e) => self.receive_no_data(connection, env, &e, scratch),
        }
    }

    // Separate functions, so that they take no stack space of threads that do not need them.

    fn hand_over(&self, connection: &mut Connection, env: &mut Env) {
        kernel_tls::hand_over(&*self.fd, connection, &mut env.worker);
    }

    fn send_alert(&self, connection: &mut Connection, env: &mut Env, alert: [u8; 2]) {
        // SO_SNDTIMEO is the timeout of an alert, as that of a reply.
        if kernel_tls::send_alert(&*self.fd, connection, &mut env.worker, alert) == Sent::Full {
            connection.expired(&mut env.worker);
        }
    }

    /// An error of a receive: the kernel has met a record that is no data, or the socket is broken.
    fn receive_no_data(
        &self,
        connection: &mut Connection,
        env: &mut Env,
        error: &io::Error,
        scratch: &mut [u8],
    ) {
        if !kernel_tls::receive(&*self.fd, connection, &mut env.worker, error, scratch) {
            connection.broken(&mut env.worker);
        }
    }

    /// The time that the client has if others wait for this worker, instead of `left`.
    fn patience(&self, phase: Phase, left: Duration) -> Duration {
        match phase {
            Phase::Idle if self.queue.is_some() => IDLE_WHEN_TAKEN,
            Phase::Head if self.queue.is_some() => {
                let taken = self.server.limits.connection.header_timeout.saturating_sub(left);
                HEAD_WHEN_TAKEN.saturating_sub(taken)
            }
            _ => left,
        }
    }

    /// Reads a part of a file, blocking.
    fn read(&mut self, file: Arc<DiskFile>, range: Range<u64>) -> Result<Completion, FileFailure> {
        let failed = FileFailure::Unreadable;
        let disk = match &mut self.disk {
            Some(disk) => disk,
            none => {
                let plan = self.server.engine().ok_or(failed(OpenError::Failed))?;
                // Only one block at a time waits to be sent.
                let plan = DiskPlan { options: EngineOptions { depth: 1, ..plan.options }, ..*plan };
                none.insert(Disk::open(&plan).map_err(|_| failed(OpenError::Unavailable))?)
            }
        };
        match disk.start(Token::default(), file, range, None) {
            Started::Done(completion) => Ok(completion),
            // The engines that such a worker supports complete at once.
            Started::InFlight | Started::Starved => Err(failed(OpenError::Unavailable)),
        }
    }
}
