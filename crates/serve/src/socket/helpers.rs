//! Work that connections delegate so that their loop does not block: reading files, and storing what was received.

use std::io;
use std::sync::Arc;

use pitot_disk::Completion;
use pitot_proto::{FileFailure, OpenError};
use pitot_sys::Token;

use super::connection::{HelperState, Request, SocketConnection, Turn};
use crate::disk::{self, Disk, Route, Started};
use crate::relay::remote::{self, Got, Remote};
use crate::send;
use crate::server::Env;
use crate::store::StoreThreads;

/// Parts of files that one connection may get from an engine in a turn.
const PARTS_PER_TURN: usize = 8;

/// Reads files for connections, or stores what they receive, without blocking the loop.
pub trait Helper {
    /// Requests what the connection needs. What is available at once is passed to the connection.
    fn ask(&mut self, token: Token, env: &mut Env, connection: &mut SocketConnection, request: Request);
}

/// All helpers of a loop.
pub struct Helpers<'a> {
    /// The engine that reads files.
    pub disk: Option<&'a mut Disk>,
    /// The data process, if there is one.
    pub remote: Option<&'a mut Remote>,
    /// The threads that store.
    pub store_threads: Option<&'a mut StoreThreads<Token>>,
}

impl Helper for Helpers<'_> {
    fn ask(&mut self, token: Token, env: &mut Env, connection: &mut SocketConnection, request: Request) {
        match (request, &mut self.store_threads, &mut self.disk, &mut self.remote) {
            (Request::Store(path, step), Some(threads), ..) => {
                threads.step(token, path, step);
                connection.helper = HelperState::Asked;
            }
            (Request::Read, _, Some(disk), _) => disk.ask(token, env, connection, Request::Read),
            (request, _, _, Some(remote)) => remote.ask(token, env, connection, request),
            (_, _, _, None) => connection.abandon(env),
        }
    }
}

impl Helper for Disk {
    fn ask(&mut self, token: Token, env: &mut Env, connection: &mut SocketConnection, _: Request) {
        let file = connection.connection.outbox().and_then(|out| disk::file_to_read(out));
        let Some((file, range)) = file else { return };
        match self.start(token, file, range, connection.socket.shared()) {
            Started::Done(completion) => connection.take_part(env, completion),
            Started::InFlight | Started::Starved => connection.helper = HelperState::Asked,
        }
    }
}

impl Helper for Remote {
    fn ask(&mut self, token: Token, env: &mut Env, connection: &mut SocketConnection, request: Request) {
        let asked = match request {
            Request::Store(path, step) => self.store(token, &path, &step).map_err(|error| {
                let answer = env.answer_to_store(Err(error));
                connection.stored(env, answer);
            }),
            Request::Look(path) => self
                .look(token, path)
                .map_err(|error| connection.connection.opened(&mut env.worker, Err(error))),
            Request::Read => self.ask_for_part(token, env, connection),
        };
        if asked.is_ok() {
            connection.helper = HelperState::Asked;
        }
    }
}

impl Remote {
    /// Requests the next part of the file in the outbox. `Err` if it was available at once, or has failed.
    fn ask_for_part(
        &mut self,
        token: Token,
        env: &mut Env,
        connection: &mut SocketConnection,
    ) -> Result<(), ()> {
        let Some(out) = connection.connection.outbox() else { return Err(()) };
        let Some((file, range)) = remote::file_to_read(out) else { return Err(()) };
        match self.read(token, &file, range) {
            Ok(Got::Nothing) => Ok(()),
            Ok(Got::Bytes(bytes)) => {
                let part = 0..bytes.len();
                out.fill(Arc::new(bytes), part);
                Err(())
            }
            Err(error) => {
                connection.file_failed(env, FileFailure::Unreadable(error));
                Err(())
            }
        }
    }
}

impl SocketConnection {
    /// Takes a turn, and further ones as long as the helper answers at once. Without a helper it returns when one is
    /// needed.
    pub fn turn_with(
        &mut self,
        token: Token,
        env: &mut Env,
        scratch: &mut [u8],
        mut helper: Option<&mut dyn Helper>,
    ) -> Turn {
        for _ in 0..PARTS_PER_TURN {
            match (self.turn(env, scratch), &mut helper) {
                (Turn::Ask(request), Some(helper)) => helper.ask(token, env, self, request),
                (turn, _) => return turn,
            }
            if self.is_asked() {
                return Turn::AwaitHelper;
            }
        }
        Turn::Again
    }

    /// Passes on another process's answer about the requested file.
    pub fn looked(&mut self, env: &mut Env, path: &[u8], answer: Result<(), OpenError>) {
        self.helper = HelperState::Free;
        let answer = match answer {
            Ok(()) => env.files.open(path, env.worker.now).unwrap_or(Err(OpenError::Unavailable)),
            Err(error) => Err(error),
        };
        self.connection.opened(&mut env.worker, answer);
    }

    /// True if a request to the helper is in flight.
    pub fn is_asked(&self) -> bool {
        matches!(self.helper, HelperState::Asked | HelperState::AskedAndReady)
    }

    /// Notes an event of the socket while the helper is at work.
    pub fn became_ready(&mut self) {
        self.helper = HelperState::AskedAndReady;
    }

    /// There may be room in the engine again.
    pub fn ask_again(&mut self) {
        self.helper = HelperState::Free;
    }

    /// The engine has completed a part of a file.
    pub fn take_part(&mut self, env: &mut Env, completion: Completion) {
        let was_ready = std::mem::replace(&mut self.helper, HelperState::Free) == HelperState::AskedAndReady;
        if env.route == Route::Read {
            let Some(out) = self.connection.outbox() else { return };
            if let Err(failure) = disk::fill(out, completion) {
                self.connection.file_failed(&mut env.worker, failure);
            }
            return;
        }
        // A short count has two causes, a full socket and a file that was cut meanwhile, and no event would follow the
        // second: only the next request tells them apart.
        let is_full = matches!(&completion.result, Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        send::report(&mut self.connection, &mut env.worker, completion.result, true);
        // Unless the socket has become writable since, it is full.
        if is_full && !was_ready {
            self.helper = HelperState::SocketFull;
        }
    }

    /// Releases the block that it cannot send, to read it again later.
    pub fn give_block_back(&mut self) {
        if let Some(out) = self.connection.outbox() {
            out.unfill();
        }
    }
}
