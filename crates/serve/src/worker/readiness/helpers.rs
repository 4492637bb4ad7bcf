//! The loop's side of its helpers: the engine that reads files, the threads that store them, and the data process.

use std::io;
use std::os::fd::AsFd;

use pitot_proto::{FileFailure, StoreError};
use pitot_sys::Token;
use pitot_sys::readiness::{Interest, Trigger};

use super::{Entry, LINKS, Loop};
use crate::relay::frame::Failure;
use crate::relay::remote::{self, Event, Remote};
use crate::server::Env;
use crate::socket::{Request, SocketConnection, Turn};
use crate::store::{Outcome, Stored};

impl Loop {
    /// Opens missing connections to the data process.
    pub(super) fn connect_remote(&mut self) {
        let Some(remote) = &mut self.remote else { return };
        for link in remote.connect() {
            let token = Token::new(LINKS + link as u32, 0);
            let Some(peer) = remote.peer(link) else { continue };
            peer.interest = Interest::ReadWrite;
            if self.mechanism.watch(peer.as_fd(), token, Interest::ReadWrite).is_err() {
                remote.give_up(link, &mut Vec::new());
            }
        }
    }

    /// Receives from the data process.
    pub(super) fn receive_from_link(&mut self, link: u32) {
        let Some(remote) = &mut self.remote else { return };
        let mut events = Vec::new();
        let is_sound = remote.receive(link as usize, &mut events);
        if remote.is_up()
            && let Some(up) = self.remote_is_up.take()
        {
            up.wake();
        }
        if !is_sound {
            self.give_up_link(link as usize, &mut events);
        }
        self.answer(events);
    }

    /// Drops a connection to the data process.
    fn give_up_link(&mut self, link: usize, events: &mut Vec<(Token, Event)>) {
        if let Some(remote) = &mut self.remote
            && let Some(peer) = remote.give_up(link, events)
        {
            self.mechanism.unwatch(peer.as_fd(), true);
        }
    }

    /// Handles the answers of the data process.
    fn answer(&mut self, events: Vec<(Token, Event)>) {
        for (token, event) in events {
            match event {
                Event::Known(path, stat) => {
                    self.env.files.learn(&path, stat, self.env.worker.now);
                    self.pass_on(token, |connection, env| connection.looked(env, &path, Ok(())));
                }
                Event::NotKnown(error) => {
                    self.pass_on(token, |connection, env| connection.looked(env, b"", Err(error)));
                }
                Event::Bytes => self.pass_on(token, |connection, _| connection.ask_again()),
                Event::Failed(failure) => {
                    let failure = match failure {
                        Failure::Open(error) => FileFailure::Unreadable(error),
                        Failure::Changed | Failure::Store(_) => FileFailure::Truncated,
                    };
                    self.pass_on(token, |connection, env| connection.file_failed(env, failure));
                }
                Event::Stored(result) => self.finish_step(token, result),
            }
        }
    }

    /// Passes a connection what it waits for, and gives it a turn. A connection that does not wait yet asks for it later.
    pub(super) fn pass_on(&mut self, token: Token, what: impl FnOnce(&mut SocketConnection, &mut Env)) {
        let connection = self.connections.get(token).and_then(Entry::connection);
        if let Some(connection) = connection.filter(|connection| connection.is_asked()) {
            what(connection, &mut self.env);
            self.turn(token);
        }
    }

    /// Passes on the result of a step of storing. The connection may be closed.
    fn finish_step(&mut self, token: Token, result: Result<Stored, StoreError>) {
        let answer = self.env.answer_to_store(result);
        self.pass_on(token, |connection, env| connection.stored(env, answer));
    }

    /// Handles the outcomes of the threads that store.
    pub(super) fn take_stored(&mut self) {
        let Some(threads) = &self.store_threads else { return };
        for Outcome { of, result } in threads.take() {
            self.finish_step(of, result);
        }
    }

    /// Sends the requests of connections to the data process.
    pub(super) fn flush_links(&mut self) {
        let Some(links) = self.remote.as_ref().map(Remote::links) else { return };
        for link in links {
            let Some(peer) = self.remote.as_mut().and_then(|remote| remote.peer(link)) else { continue };
            match remote::flush(peer) {
                Ok(interest) if self.trigger == Trigger::Level && interest != peer.interest => {
                    peer.interest = interest;
                    let _ =
                        self.mechanism.rewatch(peer.as_fd(), Token::new(LINKS + link as u32, 0), interest);
                }
                Ok(_) => {}
                // While it is being established, the connection takes nothing and is not broken.
                Err(e) if e.kind() == io::ErrorKind::NotConnected => {}
                Err(_) => {
                    let mut events = Vec::new();
                    self.give_up_link(link, &mut events);
                    self.answer(events);
                }
            }
        }
    }

    /// Handles the completions of the engine.
    pub(super) fn reap(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        for (token, completion) in disk.reap()? {
            // The connection may be closed; its buffer then returns to the pool.
            if let Some(connection) = self.connections.get(token).and_then(Entry::connection) {
                connection.take_part(&mut self.env, completion);
                self.turn(token);
            }
        }
        Ok(())
    }

    /// Resumes connections that wait for room in the engine or for a buffer, and makes connections release buffers that
    /// they cannot send.
    pub(super) fn feed_starved(&mut self) {
        while let Some(disk) = &mut self.disk
            && disk.is_starved()
        {
            if let Some(token) = disk.next_stalled() {
                if let Some(entry) = self.connections.get(token) {
                    entry.stalled = false;
                    entry.connection().map(SocketConnection::give_block_back);
                }
            } else if let Some(token) = disk.next_starved() {
                let connection = self.connections.get(token).and_then(Entry::connection);
                if connection.map(SocketConnection::ask_again).is_some() {
                    if self.pool.is_some() {
                        self.after_turn(token, Turn::Ask(Request::Read));
                    } else {
                        self.turn(token);
                    }
                }
            } else {
                return;
            }
        }
    }
}
