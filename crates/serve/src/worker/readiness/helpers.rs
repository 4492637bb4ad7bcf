//! What the loop has to do with its helpers: the engine that reads files, the threads that store them, and the process
//! that has them, if that is another.

use std::io;
use std::os::fd::AsFd;

use pitot_proto::DeliverError;
use pitot_sys::Token;
use pitot_sys::readiness::{Interest, Readiness, Trigger};

use super::{LINKS, Loop};
use crate::conn::{Conn, Turn};
use crate::depot::Stored;
use crate::disk::ReadFailure;
use crate::relay::frame::Failure;
use crate::relay::{self, Event, Remote};
use crate::server::Env;
use crate::storing::Outcome;

impl<R: Readiness> Loop<R> {
    /// Connects to the data process where a connection is missing.
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

    /// Takes what the data process says.
    pub(super) fn hear(&mut self, link: u32) {
        let Some(remote) = &mut self.remote else { return };
        let mut events = Vec::new();
        let is_sound = remote.receive(link as usize, &mut events);
        if remote.is_up()
            && let Some(up) = self.tell_up.take()
        {
            up.wake();
        }
        if !is_sound {
            self.hang_up(link as usize, &mut events);
        }
        self.answer(events);
    }

    /// Gives up a connection to the data process.
    fn hang_up(&mut self, link: usize, events: &mut Vec<(Token, Event)>) {
        if let Some(remote) = &mut self.remote
            && let Some(peer) = remote.give_up(link, events)
        {
            self.mechanism.unwatch(peer.as_fd(), true);
        }
    }

    /// Acts on what has come from the data process.
    fn answer(&mut self, events: Vec<(Token, Event)>) {
        for (token, event) in events {
            match event {
                Event::Known(path, stat) => {
                    self.env.files.learn(&path, stat, &self.env.clock);
                    self.tell(token, |conn, env| conn.file_known(env, Ok(())));
                }
                Event::NotKnown(error) => self.tell(token, |conn, env| conn.file_known(env, Err(error))),
                Event::Bytes => self.tell(token, |conn, _| conn.ask_again()),
                Event::Failed(failure) => {
                    let failure = match failure {
                        Failure::Open(error) => ReadFailure::Failed(error),
                        Failure::Changed | Failure::Store(_) => ReadFailure::Truncated,
                    };
                    self.tell(token, |conn, env| conn.file_failed(env, failure));
                }
                Event::Stored(result) => self.have_stored(token, result),
            }
        }
    }

    /// Tells a connection what it waits for, and gives it a turn. One that is not waiting will ask when it is.
    fn tell(&mut self, token: Token, what: impl FnOnce(&mut Conn, &mut Env)) {
        let conn = self.conns.get(token).and_then(|entry| entry.conn.as_mut());
        if let Some(conn) = conn.filter(|conn| conn.is_asked()) {
            what(conn, &mut self.env);
            self.turn(token);
        }
    }

    /// Takes notice of a step of storing that is done, though its connection may be gone.
    fn have_stored(&mut self, token: Token, result: Result<Stored, DeliverError>) {
        let answer = self.env.stored(result);
        self.tell(token, |conn, env| conn.stored(env, answer));
    }

    /// Takes what the threads that store have done.
    pub(super) fn take_stored(&mut self) {
        let Some(storing) = &self.storing else { return };
        for Outcome { of, result } in storing.take() {
            self.have_stored(of, result);
        }
    }

    /// Sends the data process what connections ask of it.
    pub(super) fn speak(&mut self) {
        let Some(links) = self.remote.as_ref().map(Remote::links) else { return };
        for link in links {
            let Some(peer) = self.remote.as_mut().and_then(|remote| remote.peer(link)) else { continue };
            match relay::flush(peer) {
                Ok(interest) if R::TRIGGER == Trigger::Level && interest != peer.interest => {
                    peer.interest = interest;
                    let _ =
                        self.mechanism.rewatch(peer.as_fd(), Token::new(LINKS + link as u32, 0), interest);
                }
                Ok(_) => {}
                // Until the connection is made it takes nothing and is not broken.
                Err(e) if e.kind() == io::ErrorKind::NotConnected => {}
                Err(_) => {
                    let mut events = Vec::new();
                    self.hang_up(link, &mut events);
                    self.answer(events);
                }
            }
        }
    }

    /// Takes what the engine has read or sent.
    pub(super) fn reap(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        for (token, completion) in disk.reap()? {
            // The connection may be gone; what was read for it goes back to the pool.
            let conn = self.conns.get(token).and_then(|entry| entry.conn.as_mut());
            if let Some(conn) = conn {
                conn.take_part(&mut self.env, completion);
                self.turn(token);
            }
        }
        Ok(())
    }

    /// Lets those ask again that found no room in the engine or its memory, and has those give memory back that cannot
    /// send what they hold.
    pub(super) fn feed_starved(&mut self) {
        while let Some(disk) = &mut self.disk
            && disk.is_starved()
        {
            if let Some(token) = disk.next_stalled() {
                if let Some(entry) = self.conns.get(token) {
                    entry.stalled = false;
                    entry.conn.as_mut().map(Conn::give_block_back);
                }
            } else if let Some(token) = disk.next_starved() {
                let conn = self.conns.get(token).and_then(|entry| entry.conn.as_mut());
                if conn.map(Conn::ask_again).is_some() {
                    if self.pool.is_some() {
                        self.after_turn(token, Turn::AwaitHelper);
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
