//! One connection on a non-blocking socket: what to do when it is ready, whoever found out that it is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use pitot_disk::Completion;
use pitot_proto::{DeliverError, Delivery, OpenError, Outbox, Parcel};
use pitot_sys::{Token, socket};

use crate::clock::Tick;
use crate::counters::Count;
use crate::disk::{self, Disk, ReadFailure, Route, Started};
use crate::relay::{self, Got, Remote};
use crate::server::{Env, Server};
use crate::session::{Session, Want};
use crate::storing::Storing;

/// Bytes that a worker receives at most in one call.
pub const RECEIVE_BYTES: usize = 64 << 10;
/// Bytes sent or received for one connection before the others get their turn.
const TURN_BYTES: usize = 1 << 20;
/// Parts of files that an engine may give one connection at once before the others get their turn.
const PARTS_PER_TURN: usize = 8;
/// How long input is thrown away for the sake of a reply on its way.
pub const LINGER: Duration = Duration::from_secs(2);

/// What a connection waits for after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Something to read; the socket has nothing.
    AwaitInput,
    /// Room to write; the socket has none.
    AwaitRoom,
    /// The next part of a file, for which an engine is to be asked or has been asked.
    AwaitFile,
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

/// How it stands with the engine that reads a connection's file.
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
        let phase = if self.phase == Phase::Linger {
            Phase::Linger
        } else if self.out.is_some() {
            Phase::Reply
        } else if self.session.in_head() {
            Phase::Head
        } else if self.session.in_body() {
            Phase::Body
        } else {
            Phase::Idle
        };
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
            Asked::Yes | Asked::YesAndReady => return Turn::AwaitFile,
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
                return Turn::AwaitFile;
            }
            match send_all(self.socket.as_fd(), env, out) {
                Sent::All => {}
                Sent::NoRoom => return Turn::AwaitRoom,
                Sent::File => return Turn::AwaitFile,
                Sent::ShareUsed => return Turn::Again,
                Sent::Broken => return Turn::Over,
            }
            match self.session.want() {
                Want::Input => {}
                Want::Resume => {
                    self.session.resume(env, out);
                    continue;
                }
                Want::File | Want::Store => return Turn::AwaitFile,
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

impl Conn {
    /// Takes a turn, and further ones for as long as the engine answers at once. Without an engine it comes back when
    /// one is to be asked.
    pub fn turn_with(
        &mut self,
        token: Token,
        env: &mut Env,
        scratch: &mut [u8],
        mut reader: Option<&mut dyn Reader>,
    ) -> Turn {
        for _ in 0..PARTS_PER_TURN {
            let turn = self.turn(env, scratch);
            match &mut reader {
                Some(reader) if turn == Turn::AwaitFile && !self.is_asked() => reader.ask(token, env, self),
                _ => return turn,
            }
            if self.is_asked() {
                return Turn::AwaitFile;
            }
        }
        Turn::Again
    }

    /// Asks the engine unless it is at work already. False if it is done at once.
    pub fn ask_if_not_asked(&mut self, token: Token, env: &mut Env, reader: &mut dyn Reader) -> bool {
        if !self.is_asked() {
            reader.ask(token, env, self);
        }
        self.is_asked()
    }

    /// What another process has told of the file that is wanted.
    pub fn file_known(&mut self, env: &mut Env, answer: Result<(), OpenError>) {
        self.asked = Asked::No;
        if let Some(mut out) = self.out.take() {
            self.session.file_known(env, answer, &mut out);
            self.keep(env, out);
        }
    }

    /// The file cannot be read on.
    pub fn file_failed(&mut self, env: &mut Env, failure: ReadFailure) {
        self.asked = Asked::No;
        if let Some(out) = &mut self.out
            && !self.session.file_failed(env, failure, out)
        {
            self.asked = Asked::Failed;
        }
    }

    /// The engine has been asked, and is not done.
    pub fn is_asked(&self) -> bool {
        matches!(self.asked, Asked::Yes | Asked::YesAndReady)
    }

    /// Something has happened on the socket while the engine is at work.
    pub fn became_ready(&mut self) {
        self.asked = Asked::YesAndReady;
    }

    /// There may be room in the engine, which had none.
    pub fn ask_again(&mut self) {
        self.asked = Asked::No;
    }

    /// The engine is done.
    pub fn take_part(&mut self, env: &mut Env, completion: Completion) {
        let was_ready = std::mem::replace(&mut self.asked, Asked::No) == Asked::YesAndReady;
        let Some(out) = &mut self.out else { return };
        let taken = if env.route == Route::Read {
            disk::fill(out, completion)
        } else {
            let asked_for = completion.operation.transfer.len();
            match completion.result {
                Ok(0) => Err(ReadFailure::Truncated),
                Ok(n) => {
                    env.counters.add(Count::BytesSent, n as u64);
                    out.advance(n as u64);
                    // Unless the socket has told of room since, there is none.
                    let full = n < asked_for && !was_ready;
                    self.asked = if full { Asked::NoRoom } else { Asked::No };
                    Ok(())
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.asked = if was_ready { Asked::No } else { Asked::NoRoom };
                    Ok(())
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
                Err(e) if is_of_socket(&e) => Err(ReadFailure::Socket),
                Err(e) => Err(ReadFailure::of(&e)),
            }
        };
        if let Err(failure) = taken {
            self.file_failed(env, failure);
        }
    }

    /// Gives the block back that it cannot send, to read it again later.
    pub fn give_block_back(&mut self) {
        if let Some(out) = &mut self.out {
            out.unfill();
        }
    }
}

/// What reads files for connections, or stores what they send, without keeping the loop waiting.
pub trait Reader {
    /// Asks for what the connection wants next of its file. What is there already is given to it.
    fn ask(&mut self, token: Token, env: &mut Env, conn: &mut Conn);
}

/// All that a loop has of them.
pub struct Helpers<'a> {
    /// The engine that reads files.
    pub disk: Option<&'a mut Disk>,
    /// The process that has the files, if that is another.
    pub remote: Option<&'a mut Remote>,
    /// The threads that store.
    pub storing: Option<&'a mut Storing<Token>>,
}

impl Reader for Helpers<'_> {
    fn ask(&mut self, token: Token, env: &mut Env, conn: &mut Conn) {
        if let Some(storing) = &mut self.storing
            && let Some((path, delivery)) = conn.take_step(env)
        {
            storing.step(token, path, delivery);
        } else if let Some(disk) = &mut self.disk {
            disk.ask(token, env, conn);
        } else if let Some(remote) = &mut self.remote {
            remote.ask(token, env, conn);
        }
    }
}

impl Reader for Disk {
    fn ask(&mut self, token: Token, env: &mut Env, conn: &mut Conn) {
        let Some((file, range)) = conn.out.as_deref().and_then(disk::file_to_read) else { return };
        match self.start(token, file, range, conn.socket.shared()) {
            Started::Done(completion) => conn.take_part(env, completion),
            Started::InFlight | Started::Starved => conn.asked = Asked::Yes,
        }
    }
}

impl Reader for Remote {
    fn ask(&mut self, token: Token, env: &mut Env, conn: &mut Conn) {
        let Some(out) = &mut conn.out else { return };
        let answer = match relay::file_to_read(out) {
            Some((file, range)) => self.read(token, &file, range),
            None if conn.session.want() == Want::Store => match self.store(token, out) {
                Ok(()) => Ok(Got::Nothing),
                Err(error) => {
                    let answer = env.stored(Err(error));
                    return conn.stored(env, answer);
                }
            },
            None => match self.look(token, out.wanted_file()) {
                Ok(()) => Ok(Got::Nothing),
                Err(error) => return conn.file_known(env, Err(error)),
            },
        };
        match answer {
            Ok(Got::Bytes(bytes)) => {
                let part = 0..bytes.len();
                out.fill(Arc::new(bytes), part);
            }
            Ok(Got::Nothing) => conn.asked = Asked::Yes,
            Err(error) => conn.file_failed(env, ReadFailure::Failed(error)),
        }
    }
}

/// True for errors that tell of the socket, not of the file.
fn is_of_socket(e: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(e),
        Some(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::TIMEDOUT | Errno::HOSTUNREACH)
    )
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
        match send_once(fd, out) {
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

/// Sends the start of the outbox by one system call. 0 means that a file is shorter than it was said to be.
pub fn send_once(fd: BorrowedFd<'_>, out: &Outbox) -> io::Result<usize> {
    if let Some((handle, range)) = out.front_file() {
        let file = handle.0.downcast_ref::<OwnedFd>().ok_or(io::ErrorKind::InvalidInput)?;
        let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(TURN_BYTES);
        return socket::send_file(fd, file, range.start, count);
    }
    let gathered = out.gather();
    socket::send(fd, gathered.slices(), gathered.more)
}
