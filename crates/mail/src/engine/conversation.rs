//! Conversations: bytes of a session's socket, its commands, and what the host replies.

use std::io;

use pitot_meter::Nanos;
use pitot_sys::readiness::Ready;
use pitot_sys::{Token, connect, socket};

use super::failures::{End, not_smtp};
use super::state::Engine;
use crate::batch::Reply;
use crate::dialogue::Event;
use crate::session::{Session, Stage};
use crate::timeouts::Phase;
use crate::tls::Tls;

/// A session without work is kept this long.
const IDLE_KEPT: Nanos = Nanos::from_secs(1);

impl Engine<'_> {
    /// Handles an event of a session's socket.
    pub(super) fn drive(&mut self, session: &mut Session, event: Ready) -> Result<(), End> {
        if session.stage == Stage::Connecting {
            if !event.writable {
                return Ok(());
            }
            connect::outcome(&session.fd)?;
            session.stage = Stage::Active;
            self.set_timer(session, event.token, self.limit_of(Phase::Banner));
        }
        if event.writable {
            session.flush()?;
            // A long message has time as long as the host makes progress.
            if session.has_output() {
                self.set_timer(session, event.token, self.limit_of(session.dialogue.phase()));
            }
        }
        if !event.readable {
            return Ok(());
        }
        // The shared buffer is lent to this session while it is read.
        let mut input = std::mem::take(&mut self.input);
        let result = self.receive(session, event, &mut input);
        self.input = input;
        result
    }

    fn receive(&mut self, session: &mut Session, event: Ready, input: &mut [u8]) -> Result<(), End> {
        loop {
            let n = match socket::recv(&session.fd, input) {
                Ok(0) if session.dialogue.is_leaving() => return Err(End::Done),
                Ok(0) => return Err(End::Broken("the host closed the connection".into())),
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e.into()),
            };
            self.report.bytes.received += n as u64;
            self.take_bytes(session, event.token, &input[..n])?;
            // A short read has emptied the socket: the next byte is another event.
            if n < input.len() && !event.ended {
                return Ok(());
            }
        }
    }

    /// Takes bytes as they came from the socket, and decrypts them if the session uses TLS.
    fn take_bytes(&mut self, session: &mut Session, token: Token, bytes: &[u8]) -> Result<(), End> {
        let Some(tls) = &mut session.tls else { return self.take_input(session, token, bytes) };
        let was_handshaking = tls.is_handshaking();
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let received = tls.receive(bytes, &mut plain);
        let handshaken = was_handshaking && !tls.is_handshaking();
        // Records of TLS itself, which may be an alert.
        let flushed = session.flush();
        let result = match received {
            Err(e) => Err(End::Tls(e)),
            Ok(()) => flushed.map_err(End::from).and_then(|()| {
                if handshaken {
                    self.report.connections.tls += 1;
                }
                if handshaken && session.dialogue.awaits_tls() {
                    self.write_commands(session, token, |engine, session, out| {
                        session.dialogue.secured(&engine.plan.message, out);
                    })?;
                }
                self.take_input(session, token, &plain)
            }),
        };
        self.plain = plain;
        result
    }

    /// Takes input in the clear, together with what is left of earlier input.
    fn take_input(&mut self, session: &mut Session, token: Token, bytes: &[u8]) -> Result<(), End> {
        if bytes.is_empty() {
            return Ok(());
        }
        if session.tail.is_empty() {
            let used = self.handle_input(session, token, bytes)?;
            session.keep(&bytes[used..]);
        } else {
            let mut tail = std::mem::take(&mut session.tail);
            tail.extend_from_slice(bytes);
            let used = self.handle_input(session, token, &tail)?;
            tail.drain(..used);
            session.tail = tail;
            session.keep(&[]);
        }
        Ok(())
    }

    /// Sends the commands that `write` appends.
    pub(super) fn write_commands(
        &mut self,
        session: &mut Session,
        token: Token,
        write: impl FnOnce(&mut Self, &mut Session, &mut Vec<u8>),
    ) -> Result<(), End> {
        let mut out = std::mem::take(&mut self.commands);
        out.clear();
        write(self, session, &mut out);
        let sent = self.send_commands(session, token, &out);
        self.commands = out;
        sent
    }

    /// Sends commands, and sets the timer for their replies.
    fn send_commands(&mut self, session: &mut Session, token: Token, out: &[u8]) -> Result<(), End> {
        self.report.bytes.sent += out.len() as u64;
        session.send(out)?;
        let timeout =
            if session.stage == Stage::Idle { IDLE_KEPT } else { self.limit_of(session.dialogue.phase()) };
        self.set_timer(session, token, timeout);
        Ok(())
    }

    /// Handles the replies in the input and sends the next commands. Returns how many bytes were used.
    fn handle_input(&mut self, session: &mut Session, token: Token, input: &[u8]) -> Result<usize, End> {
        let mut out = std::mem::take(&mut self.commands);
        out.clear();
        let result = self.handle_events(session, token, input, &mut out);
        let result = match result {
            Ok(used) => self.send_commands(session, token, &out).map(|()| used),
            Err(end) => Err(end),
        };
        self.commands = out;
        result
    }

    fn handle_events(
        &mut self,
        session: &mut Session,
        token: Token,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, End> {
        let mut used = 0;
        loop {
            let domains = &self.queues.domains;
            let domain = |id: u32| &*domains[id as usize].name;
            let message = &self.plan.message;
            let (n, event) = session
                .dialogue
                .receive(&input[used..], message, domain, out)
                .map_err(|fault| End::Broken(not_smtp(fault).into()))?;
            used += n;
            match event {
                Event::More => return Ok(used),
                Event::Ready => {
                    self.report.connections.opened += 1;
                    let h = &mut self.hosts.all[session.host as usize];
                    h.connecting -= 1;
                    h.established += 1;
                    h.opened += 1;
                    h.came_up();
                    self.next_transaction(session, token, out);
                }
                Event::Finished => {
                    session.transactions += 1;
                    self.batch_over(session, None);
                    self.next_transaction(session, token, out);
                }
                Event::MaySend => self.send_or_wait(session, token, out),
                Event::StartTls if used < input.len() => {
                    // Input that arrived in the clear must not be taken for encrypted input (RFC 3207 section 4.2).
                    return Err(End::Tls("the host sent more after its reply to STARTTLS".into()));
                }
                Event::StartTls => {
                    let (name, addr) = self.host_name(session.host);
                    let Some(config) = &self.plan.tls else { return Err(End::Tls("it is off".into())) };
                    session.tls = Some(Box::new(Tls::new(config, &name, addr.ip()).map_err(End::Tls)?));
                    session.flush()?;
                    return Ok(used);
                }
                Event::Closed => return Err(End::Done),
                Event::SessionRefused(reply) => return Err(End::Reply(reply)),
                Event::NoLogin(why) => return Err(End::NoLogin(why)),
            }
        }
    }

    /// Begins the session's next transaction. Without work the session becomes idle or closes.
    pub(super) fn next_transaction(&mut self, session: &mut Session, token: Token, out: &mut Vec<u8>) {
        session.stage = Stage::Active;
        loop {
            let is_used_up = session.transactions >= self.plan.transactions_per_connection;
            if self.stopping || is_used_up {
                return self.quit(session, out);
            }
            let Some(batch) = self.next_batch(session.host) else { break };
            let domains = &self.queues.domains;
            let domain = |id: u32| &*domains[id as usize].name;
            if session.dialogue.begin(batch, &self.plan.message, domain, out) {
                return;
            }
            self.batch_over(session, None);
        }
        let more_may_come =
            self.list.is_some() || self.router.as_ref().is_some_and(|r| !r.resolver.is_idle());
        if more_may_come && self.awaiting_connection.is_empty() {
            session.stage = Stage::Idle;
            self.hosts.all[session.host as usize].idle.push(token);
        } else {
            self.quit(session, out);
        }
    }

    /// Ends the conversation with QUIT.
    pub(super) fn quit(&mut self, session: &mut Session, out: &mut Vec<u8>) {
        session.stage = Stage::Active;
        self.hosts.all[session.host as usize].established -= 1;
        session.dialogue.quit(out);
    }

    /// The host waits for the message: it is sent now, or when there is room in the window.
    fn send_or_wait(&mut self, session: &mut Session, token: Token, out: &mut Vec<u8>) {
        if self.journal.is_none() || self.unacknowledged.try_reserve(session.dialogue.taken()) {
            session.dialogue.send_message(&self.plan.message, out);
        } else {
            session.stage = Stage::AwaitingWindow;
            self.unacknowledged.wait(token);
        }
    }

    /// Settles the transaction of a session, which is over or was cut off by the loss of the connection.
    pub(super) fn batch_over(&mut self, session: &mut Session, lost: Option<&Reply>) {
        let batch = session.dialogue.take_batch();
        let reserved = if batch.message_sent { batch.taken } else { 0 };
        self.settle_batch(session.host, batch, lost);
        if reserved > 0
            && let Some(journal) = &self.journal
        {
            self.unacknowledged.recorded_at(journal.appended(), reserved);
        }
    }
}
