//! What a connection has others do, so that its loop does not wait: read the next part of a file, or store what it was
//! sent.

use std::io;
use std::sync::Arc;

use pitot_disk::Completion;
use pitot_proto::OpenError;
use pitot_sys::Token;

use super::{Asked, Conn, Turn};
use crate::counters::Count;
use crate::disk::{self, Disk, ReadFailure, Route, Started};
use crate::relay::{self, Got, Remote};
use crate::server::Env;
use crate::session::Want;
use crate::storing::Storing;

/// Parts of files that an engine may give one connection at once before the others get their turn.
const PARTS_PER_TURN: usize = 8;

/// What reads files for connections, or stores what they send, without keeping the loop waiting.
pub trait Helper {
    /// Asks for what the connection waits for. What is there already is given to it.
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

impl Helper for Helpers<'_> {
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

impl Helper for Disk {
    fn ask(&mut self, token: Token, env: &mut Env, conn: &mut Conn) {
        let Some((file, range)) = conn.out.as_deref().and_then(disk::file_to_read) else { return };
        match self.start(token, file, range, conn.socket.shared()) {
            Started::Done(completion) => conn.take_part(env, completion),
            Started::InFlight | Started::Starved => conn.asked = Asked::Yes,
        }
    }
}

impl Helper for Remote {
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

impl Conn {
    /// Takes a turn, and further ones for as long as the helper answers at once. Without a helper it comes back when
    /// one is to be asked.
    pub fn turn_with(
        &mut self,
        token: Token,
        env: &mut Env,
        scratch: &mut [u8],
        mut helper: Option<&mut dyn Helper>,
    ) -> Turn {
        for _ in 0..PARTS_PER_TURN {
            let turn = self.turn(env, scratch);
            match &mut helper {
                Some(helper) if turn == Turn::AwaitHelper && !self.is_asked() => helper.ask(token, env, self),
                _ => return turn,
            }
            if self.is_asked() {
                return Turn::AwaitHelper;
            }
        }
        Turn::Again
    }

    /// Asks the helper unless it is at work already. False if it is done at once.
    pub fn ask_if_not_asked(&mut self, token: Token, env: &mut Env, helper: &mut dyn Helper) -> bool {
        if !self.is_asked() {
            helper.ask(token, env, self);
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

/// True for errors that tell of the socket, not of the file.
fn is_of_socket(e: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(e),
        Some(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN | Errno::TIMEDOUT | Errno::HOSTUNREACH)
    )
}
