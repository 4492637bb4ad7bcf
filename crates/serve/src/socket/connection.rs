use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::{Action, Connection, FileFailure, StoreError, StoreStep, Tick, Upload};
use pitot_sys::socket;

use crate::disk::Route;
use crate::kernel_tls;
use crate::send::{self, Sent, send_once};
use crate::server::{Env, Server};

/// Limit on the bytes that one call receives.
pub const RECEIVE_BYTES: usize = 64 << 10;
/// Bytes sent or received for one connection per turn.
const TURN_BYTES: usize = 1 << 20;

/// What a connection waits for after its turn.
#[derive(Debug)]
pub enum Turn {
    /// Input: the socket's receive buffer is empty.
    AwaitInput,
    /// Room to send: the socket's send buffer is full.
    AwaitRoom,
    /// A helper, which has to be asked for this.
    Ask(Request),
    /// A helper, which has been asked.
    AwaitHelper,
    /// The end of this time, which its caller waits for; then [`SocketConnection::delayed`] is called.
    AwaitTime(Duration),
    /// Another turn, without waiting: its share of this turn is used up.
    Again,
    /// Nothing: the connection has to be dropped.
    Over,
}

/// Work that a connection needs and its loop must not do itself.
#[derive(Debug)]
pub enum Request {
    /// The next part of the first file in its outbox.
    Read,
    /// The data process's answer about the file at a path.
    Look(Box<[u8]>),
    /// A step of storing; the path is that of the file if the step begins one.
    Store(Box<[u8]>, StoreStep),
}

/// The socket of a connection.
#[derive(Debug)]
pub enum Socket {
    /// Owned by the connection alone.
    Own(OwnedFd),
    /// Shared with an engine that sends to it or a loop that watches it, which keep it open.
    Shared(Arc<OwnedFd>),
}

impl Socket {
    /// A socket just accepted.
    pub fn new(fd: OwnedFd, is_shared: bool) -> Socket {
        if is_shared { Socket::Shared(Arc::new(fd)) } else { Socket::Own(fd) }
    }

    /// The socket, if it may have several owners.
    pub fn shared(&self) -> Option<&Arc<OwnedFd>> {
        match self {
            Socket::Own(_) => None,
            Socket::Shared(fd) => Some(fd),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Own(fd) => fd.as_fd(),
            Socket::Shared(fd) => fd.as_fd(),
        }
    }
}

/// The state of a connection's request to its helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HelperState {
    /// There is none.
    Free,
    /// In flight, or waiting for room in the helper.
    Asked,
    /// The same, and the socket has reported an event.
    AskedAndReady,
    /// The helper found the socket full.
    SocketFull,
}

/// A connection with its socket: a descriptor, or the socket type of a runtime.
#[derive(Debug)]
pub struct SocketConnection<S = Socket> {
    pub(super) socket: S,
    pub(super) connection: Connection,
    pub(super) helper: HelperState,
    /// True if the peer has finished sending: the end of input follows what can be received.
    input_ending: bool,
}

impl<S: AsFd> SocketConnection<S> {
    /// A newly accepted connection. The caller has counted it, and gives it a first turn.
    pub fn open(server: &Server, env: &mut Env, socket: S) -> SocketConnection<S> {
        let wants_peer = server.protocol.wants_peer();
        let peer = wants_peer.then(|| socket::peer_addr(&socket).ok()).flatten();
        let peer = peer.map(|peer| peer.ip());
        let connection = Connection::new(&*server.protocol, &mut env.worker, peer);
        SocketConnection { socket, connection, helper: HelperState::Free, input_ending: false }
    }

    /// The peer has finished sending, as reported by a mechanism that may not report it again: after a short receive
    /// another one follows without waiting.
    pub fn input_ends(&mut self) {
        self.input_ending = true;
    }

    /// Sends, receives and serves until the connection has to wait or its share of the turn is used up. `scratch` is the
    /// worker's receive buffer.
    pub fn turn(&mut self, env: &mut Env, scratch: &mut [u8]) -> Turn {
        match self.helper {
            HelperState::Free => {}
            HelperState::Asked | HelperState::AskedAndReady => return Turn::AwaitHelper,
            HelperState::SocketFull => {
                self.helper = HelperState::Free;
                return Turn::AwaitRoom;
            }
        }
        let (mut sent, mut received) = (0, 0);
        let mut drained = false;
        loop {
            match self.connection.poll(&mut env.worker) {
                Action::Receive if drained => return Turn::AwaitInput,
                Action::Receive if received >= TURN_BYTES => return Turn::Again,
                Action::Receive => match socket::recv(&self.socket, scratch) {
                    Ok(0) => self.connection.ended(),
                    Ok(n) => {
                        received += n;
                        // A short receive has emptied the socket (epoll(7)); further input is reported again. Where the
                        // kernel decrypts it may also have met the end of a record.
                        drained = n < scratch.len() && !self.input_ending && !self.connection.is_in_kernel();
                        self.connection.received(&mut env.worker, &scratch[..n]);
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Turn::AwaitInput,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => {
                        let (socket, worker) = (&self.socket, &mut env.worker);
                        if !kernel_tls::receive(socket, &mut self.connection, worker, &e, scratch) {
                            self.connection.broken(worker);
                        }
                    }
                },
                Action::Send(_) if sent >= TURN_BYTES => return Turn::Again,
                // A reply is sent with its first block: one send takes both, and an error can still be reported.
                Action::Send(out) if env.route == Route::Read && out.file_to_read().is_some() => {
                    return Turn::Ask(Request::Read);
                }
                Action::Send(out) => {
                    let of_file = out.front_file().is_some();
                    if of_file && env.route != Route::InPlace {
                        return Turn::Ask(Request::Read);
                    }
                    env.burn();
                    let result = send_once(self.socket.as_fd(), out, env.cork);
                    match send::report(&mut self.connection, &mut env.worker, result, of_file) {
                        Sent::Reported(n) => sent += n,
                        Sent::Full => return Turn::AwaitRoom,
                    }
                }
                Action::Read(out) if env.route == Route::InPlace => {
                    if let Err(failure) = env.read_file(out) {
                        self.connection.file_failed(&mut env.worker, failure);
                    }
                }
                Action::Read(_) => return Turn::Ask(Request::Read),
                Action::Open(path) => match env.files.open(path, env.worker.now) {
                    Some(answer) => self.connection.opened(&mut env.worker, answer),
                    None => return Turn::Ask(Request::Look(path.into())),
                },
                Action::Store(path, step) if env.stores_elsewhere => {
                    let (path, step) = env.take_step(path, step);
                    return Turn::Ask(Request::Store(path, step));
                }
                Action::Store(path, step) => {
                    let answer = env.store(path, step);
                    self.connection.stored(&mut env.worker, answer);
                }
                Action::Delay(time) => {
                    self.helper = HelperState::Asked;
                    return Turn::AwaitTime(time);
                }
                Action::Wait => return Turn::AwaitHelper,
                Action::HandOver => {
                    kernel_tls::hand_over(&self.socket, &mut self.connection, &mut env.worker);
                }
                Action::Alert(alert) => {
                    let (socket, worker) = (&self.socket, &mut env.worker);
                    if kernel_tls::send_alert(socket, &mut self.connection, worker, alert) == Sent::Full {
                        return Turn::AwaitRoom;
                    }
                }
                Action::Linger => {
                    if socket::finish_sending(&self.socket).is_err() {
                        return Turn::Over;
                    }
                }
                Action::Close { reset } => {
                    if reset {
                        let _ = socket::reset_on_close(&self.socket);
                    }
                    return Turn::Over;
                }
            }
        }
    }

    /// The deadline after a turn, at which to call [`SocketConnection::expire`].
    pub fn deadline(&mut self, env: &Env) -> Tick {
        self.connection.poll_deadline(&env.worker)
    }

    /// The deadline has passed; the next turn acts on it.
    pub fn expire(&mut self, env: &mut Env) {
        self.helper = HelperState::Free;
        self.connection.expired(&mut env.worker);
    }

    /// The server closes the connection without an error; the next turn sends its last reply, if it has one.
    pub fn dismiss(&mut self, env: &mut Env) {
        self.connection.dismiss(&mut env.worker);
    }

    /// True if no request is in progress, so the connection can be closed without loss.
    pub fn is_idle(&self) -> bool {
        self.connection.is_idle()
    }

    /// Drops the unsent output; the connection is closed with a reset if there was any.
    pub fn abandon(&mut self, env: &mut Env) {
        self.connection.cut();
        if let Action::Close { reset: true } = self.connection.poll(&mut env.worker) {
            let _ = socket::reset_on_close(&self.socket);
        }
    }

    /// The outcome of a step of storing.
    pub fn stored(&mut self, env: &mut Env, answer: Result<Option<Upload>, StoreError>) {
        self.helper = HelperState::Free;
        self.connection.stored(&mut env.worker, answer);
    }

    /// The time that it waited for has passed.
    pub fn delayed(&mut self, env: &mut Env) {
        self.helper = HelperState::Free;
        self.connection.delayed(&mut env.worker);
    }

    /// The file in the outbox cannot be read to the end.
    pub fn file_failed(&mut self, env: &mut Env, failure: FileFailure) {
        self.helper = HelperState::Free;
        self.connection.file_failed(&mut env.worker, failure);
    }
}

impl SocketConnection {
    /// Its socket, if that may have several owners.
    pub fn shared_socket(&self) -> Option<&Arc<OwnedFd>> {
        self.socket.shared()
    }
}

impl<S: AsFd> AsFd for SocketConnection<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
