//! One connection on a non-blocking socket: what to do when it is ready, whoever found out that it is.

mod helpers;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_proto::{DeliverError, Delivery, Outbox, Parcel};
use pitot_sys::socket;

use crate::clock::Tick;
use crate::counters::Count;
use crate::disk::Route;
use crate::server::{Env, Server};
use crate::session::{Session, Want};

pub use helpers::{Helper, Helpers};

/// Bytes that a worker receives at most in one call.
pub const RECEIVE_BYTES: usize = 64 << 10;
/// Bytes sent or received for one connection before the others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// How long input is thrown away for the sake of a reply on its way.
pub const LINGER: Duration = Duration::from_secs(2);

/// What a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something to read; the socket has nothing.
    AwaitInput,
    /// Room to write; the socket has none.
    AwaitRoom,
    /// What a helper is to be asked for, or has been: the next part of a file, or to store something.
    AwaitHelper,
    /// Another turn, without waiting: it has had its share.
    Again,
    /// Nothing: the connection is to be dropped.
    Over,
}

/// What a connection is doing, as far as time-outs are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is under way.
    Idle,
    /// The head of a request is arriving.
    Head,
    /// The body of a request is arriving.
    Body,
    /// A reply is being sent.
    Reply,
    /// Everything is sent; late input is thrown away.
    Linger,
}

impl Phase {
    /// What the connection is doing now, `replying` or what its session says.
    pub fn next(self, replying: bool, session: &Session) -> Phase {
        if self == Phase::Linger {
            Phase::Linger
        } else if replying {
            Phase::Reply
        } else if session.in_head() {
            Phase::Head
        } else if session.in_body() {
            Phase::Body
        } else {
            Phase::Idle
        }
    }

    /// The time-out of the phase.
    pub fn timeout(self, env: &Env) -> Duration {
        match self {
            Phase::Idle => env.limits.idle_timeout,
            Phase::Head => env.limits.header_timeout,
            Phase::Body | Phase::Reply => env.limits.write_timeout,
            Phase::Linger => LINGER,
        }
    }

    /// True if the time counts from the start of the phase rather than from its last progress.
    pub fn counts_from_start(self) -> bool {
        matches!(self, Phase::Head | Phase::Linger)
    }
}

/// How a send ended.
enum Sent {
    All,
    NoRoom,
    /// What comes next is for an engine to read or send.
    File,
    ShareUsed,
    Broken,
}

/// The socket of a connection.
#[derive(Debug)]
pub enum Socket {
    /// Its own.
    Own(OwnedFd),
    /// It has other users, who keep it open: an engine that sends to it, a loop that watches it.
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

/// How it stands with the helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// It has not been asked.
    No,
    /// It is at work, or will be as soon as it has room.
    Yes,
    /// The same, and meanwhile something happened on the socket.
    YesAndReady,
    /// It found the socket full.
    NoRoom,
    /// What was promised cannot be had.
    Failed,
}

/// A connection on a socket, which is a plain descriptor but under a runtime that has a type of its own for it.
#[derive(Debug)]
pub struct Conn<S = Socket> {
    socket: S,
    session: Session,
    asked: Asked,
    /// There is one only while something is to be sent, so that an idle connection is small.
    out: Option<Box<Outbox>>,
    phase: Phase,
    /// The end of input is known to follow what can be received.
    input_ending: bool,
    input_ended: bool,
}

impl<S: AsFd> Conn<S> {
    /// A connection just accepted. The caller has counted it, and gives it a first turn.
    pub fn open(server: &Server, env: &mut Env, socket: S) -> Conn<S> {
        let mut session = Session::new(&*server.protocol, Some(socket.as_fd()));
        let mut out = env.outbox();
        session.open(env, &mut out);
        let phase = Phase::Idle;
        let mut conn = Conn {
            socket,
            session,
            asked: Asked::No,
            out: None,
            phase,
            input_ending: false,
            input_ended: false,
        };
        conn.keep(env, out);
        conn
    }

    /// The peer has finished sending, as a mechanism has told that may not tell again: a receive that is short does
    /// not mean that the next one has to be waited for.
    pub fn input_ends(&mut self) {
        self.input_ending = true;
    }

    /// Sends, receives and serves until it has to wait or has had its share. `scratch` is the worker's.
    pub fn turn(&mut self, env: &mut Env, scratch: &mut [u8]) -> Turn {
        let mut out = self.out.take().unwrap_or_else(|| env.outbox());
        let turn = self.take_turn(env, scratch, &mut out);
        if turn == Turn::Over {
            out.clear();
        }
        self.keep(env, out);
        turn
    }

    /// The time at which [`Conn::expire`] is to be called, after a turn. `before` is the deadline set so far.
    pub fn deadline(&mut self, env: &Env, before: Option<Tick>) -> Tick {
        let phase = self.phase.next(self.out.is_some(), &self.session);
        let from_start = phase == self.phase && phase.counts_from_start();
        self.phase = phase;
        match before {
            Some(before) if from_start => before,
            _ => env.clock.tick().after(phase.timeout(env)),
        }
    }

    /// The time-out of what the connection is doing.
    pub fn timeout(&self, env: &Env) -> Duration {
        self.phase.timeout(env)
    }

    /// The time for what the connection is doing is over.
    pub fn expire(&mut self, env: &mut Env) -> Turn {
        match self.phase {
            Phase::Idle => {
                env.counters.add(Count::TimedOutIdle, 1);
                if self.dismiss(env) {
                    return Turn::Again;
                }
            }
            Phase::Reply => env.counters.add(Count::TimedOutWrite, 1),
            Phase::Linger => {}
            Phase::Head | Phase::Body => {
                env.counters.add(Count::TimedOutRequest, 1);
                let mut out = self.out.take().unwrap_or_else(|| env.outbox());
                self.session.timed_out(env, &mut out);
                self.keep(env, out);
                return Turn::Again;
            }
        }
        self.abandon(env);
        Turn::Over
    }

    /// The connection is to go although nothing is wrong with it. True if there is a last word to send, by another turn.
    pub fn dismiss(&mut self, env: &mut Env) -> bool {
        let mut out = self.out.take().unwrap_or_else(|| env.outbox());
        self.session.dismiss(env, &mut out);
        self.keep(env, out);
        self.out.is_some()
    }

    /// Nothing is under way: the connection may be closed without loss.
    pub fn is_idle(&self) -> bool {
        self.out.is_none()
            && !self.session.in_head()
            && !self.session.in_body()
            && self.phase != Phase::Linger
    }

    /// Drops what is still to be sent; the connection is closed with a reset if there was something.
    pub fn abandon(&mut self, env: &mut Env) {
        if let Some(mut out) = self.out.take() {
            let _ = socket::reset_on_close(&self.socket);
            out.clear();
            env.recycle(out);
        }
    }

    /// The step of storing that it waits for, once all before it is sent, and the path of the file if that is one. Who
    /// takes it says what became of it by [`Conn::stored`].
    pub fn take_step(&mut self, env: &mut Env) -> Option<(Box<[u8]>, Delivery)> {
        if self.session.want() != Want::Store || self.asked != Asked::No {
            return None;
        }
        let out = self.out.as_deref_mut().filter(|out| out.is_empty())?;
        self.asked = Asked::Yes;
        Some(env.take_step(out))
    }

    /// What became of the step of storing.
    pub fn stored(&mut self, env: &mut Env, answer: Result<Option<Parcel>, DeliverError>) {
        self.asked = Asked::No;
        if let Some(mut out) = self.out.take() {
            self.session.stored(env, answer, &mut out);
            self.keep(env, out);
        }
    }

    /// Gives the outbox back to the worker if nothing is in it that is to be sent, asked for or stored.
    fn keep(&mut self, env: &mut Env, out: Box<Outbox>) {
        if out.is_empty() && !matches!(self.session.want(), Want::File | Want::Store) {
            env.recycle(out);
        } else {
            self.out = Some(out);
        }
    }

    fn take_turn(&mut self, env: &mut Env, scratch: &mut [u8], out: &mut Outbox) -> Turn {
        match self.asked {
            Asked::No => {}
            Asked::Yes | Asked::YesAndReady => return Turn::AwaitHelper,
            Asked::NoRoom => {
                self.asked = Asked::No;
                return Turn::AwaitRoom;
            }
            Asked::Failed => {
                let _ = socket::reset_on_close(&self.socket);
                return Turn::Over;
            }
        }
        let mut received = 0;
        let mut drained = false;
        loop {
            // A reply starts with its first block: then one send takes both, and an error may still be told.
            if env.route == Route::Read && out.file_to_read().is_some() {
                return Turn::AwaitHelper;
            }
            match send_all(self.socket.as_fd(), env, out) {
                Sent::All => {}
                Sent::NoRoom => return Turn::AwaitRoom,
                Sent::File => return Turn::AwaitHelper,
                Sent::ShareUsed => return Turn::Again,
                Sent::Broken => return Turn::Over,
            }
            match self.session.want() {
                Want::Input => {}
                Want::Resume => {
                    self.session.resume(env, out);
                    continue;
                }
                Want::File | Want::Store => return Turn::AwaitHelper,
                Want::Close => return Turn::Over,
                Want::CloseGently => {
                    if self.input_ended || !self.linger() {
                        return Turn::Over;
                    }
                }
            }
            if drained || self.input_ended {
                return Turn::AwaitInput;
            }
            if received >= TURN_BYTES {
                return Turn::Again;
            }
            match socket::recv(&self.socket, scratch) {
                Ok(0) => {
                    self.input_ended = true;
                    if self.phase == Phase::Linger {
                        return Turn::Over;
                    }
                    self.session.end_of_input(env, out);
                }
                Ok(n) => {
                    env.counters.add(Count::BytesReceived, n as u64);
                    received += n;
                    // A short receive has emptied the socket (epoll(7)); what comes now is told anew.
                    drained = n < scratch.len() && !self.input_ending;
                    self.session.input(env, &scratch[..n], out);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Turn::AwaitInput,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    env.counters.add(Count::Reset, 1);
                    return Turn::Over;
                }
            }
        }
    }

    /// Starts to linger. False if there is no one to linger for.
    fn linger(&mut self) -> bool {
        if self.phase == Phase::Linger {
            return true;
        }
        self.phase = Phase::Linger;
        socket::finish_sending(&self.socket).is_ok()
    }
}

impl<S: AsFd> AsFd for Conn<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Sends until the outbox is empty, the socket is full, or the share is used.
fn send_all(fd: BorrowedFd<'_>, env: &Env, out: &mut Outbox) -> Sent {
    let mut sent = 0;
    while !out.is_empty() {
        if sent >= TURN_BYTES {
            return Sent::ShareUsed;
        }
        if env.route != Route::InPlace && out.front_file().is_some() {
            return Sent::File;
        }
        match send_once(fd, out, env.cork) {
            Ok(0) => {
                env.counters.add(Count::FileTruncated, 1);
                let _ = socket::reset_on_close(fd);
                return Sent::Broken;
            }
            Ok(n) => {
                env.counters.add(Count::BytesSent, n as u64);
                out.advance(n as u64);
                sent += n;
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Sent::NoRoom,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => {
                env.counters.add(Count::Reset, 1);
                return Sent::Broken;
            }
        }
    }
    Sent::All
}

/// Sends the start of the outbox by one system call; with `cork`, a head waits for its file. 0 means that a file is
/// shorter than it was said to be.
pub fn send_once(fd: BorrowedFd<'_>, out: &Outbox, cork: bool) -> io::Result<usize> {
    if let Some((handle, range)) = out.front_file() {
        let file = handle.0.downcast_ref::<OwnedFd>().ok_or(io::ErrorKind::InvalidInput)?;
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(TURN_BYTES);
        return socket::send_file(fd, file, range.start, count);
    }
    let gathered = out.gather();
    socket::send(fd, gathered.slices(), gathered.more && cork)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::net::TcpStream;
    use std::sync::Arc;

    use pitot_proto::FileHandle;

    use super::*;

    #[test]
    fn a_corked_head_waits_for_its_file_and_another_does_not() {
        let how = socket::Listen { backlog: 1, reuse_port: false, nonblocking: false, congestion: None };
        let listener = socket::listen(([127, 0, 0, 1], 0).into(), how).unwrap();
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        for cork in [true, false] {
            let mut client = TcpStream::connect(socket::local_addr(&listener).unwrap()).unwrap();
            let server = socket::accept(&listener, true).unwrap();
            let mut out = Outbox::new();
            out.bytes(b"head");
            out.file(FileHandle(Arc::new(OwnedFd::from(file.try_clone().unwrap()))), 0..100);
            assert_eq!(send_once(server.as_fd(), &out, cork).unwrap(), 4);
            out.advance(4);
            if cork {
                client.set_nonblocking(true).unwrap();
                assert_eq!(client.read(&mut [0; 8]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
                client.set_nonblocking(false).unwrap();
            } else {
                assert_eq!(client.read(&mut [0; 8]).unwrap(), 4);
            }
            assert_eq!(send_once(server.as_fd(), &out, cork).unwrap(), 100);
            client.read_exact(&mut [0; 100]).unwrap();
        }
    }
}
