//! Sessions: their sockets, their alarms, and what their hosts say.

use std::cmp::Reverse;
use std::io;
use std::os::fd::AsFd;

use pitot_meter::Nanos;
use pitot_proto::client::Fault;
use pitot_sys::readiness::{Interest, Readiness, Ready};
use pitot_sys::{Token, connect, errno, socket};

use super::{Engine, HOSTS_TOLD_MAX, IDLE_KEPT, SHORTAGE_PAUSE};
use crate::TlsPolicy;
use crate::batch::Said;
use crate::dialogue::Event;
use crate::session::Session;
use crate::timeouts::Phase;
use crate::tls::Tls;

/// Why a session ends.
#[derive(Debug)]
enum End {
    /// In order.
    Done,
    /// The connection broke.
    Broken(String),
    /// The host says so.
    Said(Said),
    /// TLS could not be set up.
    Tls(String),
}

impl From<io::Error> for End {
    fn from(e: io::Error) -> End {
        End::Broken(e.raw_os_error().map_or_else(|| e.to_string(), |n| errno::name(n).to_owned()))
    }
}

impl Engine<'_> {
    /// Opens a connection to a host; false if that failed at once.
    pub(super) fn open_session(&mut self, host: u32) -> bool {
        let addr = self.hosts.all[host as usize].addr;
        let token = self.slots.next();
        let opened = connect::open(addr, None).and_then(|fd| {
            let connected = connect::start(&fd, addr)?;
            self.epoll.watch(fd.as_fd(), token, Interest::ReadWrite)?;
            Ok((fd, connected))
        });
        match opened {
            Ok((fd, connected)) => {
                let plain = self.hosts.all[host as usize].plain;
                let tls = if plain { TlsPolicy::Off } else { self.plan.letter.tls };
                let mut session = Session::new(fd, host, tls);
                session.connected = connected;
                let phase = if connected { Phase::Banner } else { Phase::Connect };
                self.set_alarm(&mut session, token, self.limit_of(phase));
                self.slots.insert(session);
                let h = &mut self.hosts.all[host as usize];
                h.sessions += 1;
                h.connecting += 1;
                let peak = &mut self.report.connections.peak;
                *peak = (*peak).max(self.slots.len as u64);
                true
            }
            Err(e) if is_shortage(&e) => {
                self.open_after = self.now + SHORTAGE_PAUSE;
                let h = &mut self.hosts.all[host as usize];
                if !h.in_line {
                    h.in_line = true;
                    self.line.push_back(host);
                }
                false
            }
            Err(e) => {
                self.report.connections.failed += 1;
                self.connection_failed(host, End::from(e));
                false
            }
        }
    }

    fn limit_of(&self, phase: Phase) -> Nanos {
        Nanos((phase.limit().0 as f64 * self.plan.timeout_scale) as u64)
    }

    /// Gives the session's host until then. An alarm that is set already and rings earlier is left to find out.
    fn set_alarm(&mut self, session: &mut Session, token: Token, patience: Nanos) {
        session.deadline = self.now + patience;
        if session.deadline < session.armed {
            session.armed = session.deadline;
            self.alarms.push(Reverse((session.deadline, token.index(), token.generation())));
        }
    }

    /// Looks after sessions whose hosts have been silent for too long.
    pub(super) fn ring_alarms(&mut self) {
        while let Some(Reverse((at, index, generation))) = self.alarms.peek().copied()
            && at <= self.now
        {
            self.alarms.pop();
            let token = Token::new(index, generation);
            let Some(mut session) = self.slots.take(token) else { continue };
            if session.armed != at {
                self.slots.put(token, session);
            } else if session.deadline > self.now {
                session.armed = session.deadline;
                self.alarms.push(Reverse((session.deadline, index, generation)));
                self.slots.put(token, session);
            } else if session.idle {
                session.armed = Nanos::MAX;
                let said = self.say_goodbye(&mut session, token);
                self.put_or_end(token, session, said);
            } else {
                let phase = if session.connected { session.dialogue.phase() } else { Phase::Connect };
                let end = match phase {
                    Phase::Quit => End::Done,
                    _ => End::Broken(format!("the host did not {} in time", phase.missing())),
                };
                self.end(token, session, end);
            }
        }
    }

    /// Something happened on a session's socket.
    pub(super) fn on_session(&mut self, event: Ready) {
        let Some(mut session) = self.slots.take(event.token) else { return };
        let result = self.drive(&mut session, event);
        self.put_or_end(event.token, session, result);
    }

    fn put_or_end(&mut self, token: Token, session: Box<Session>, result: Result<(), End>) {
        match result {
            Ok(()) => self.slots.put(token, session),
            Err(end) => self.end(token, session, end),
        }
    }

    fn drive(&mut self, session: &mut Session, event: Ready) -> Result<(), End> {
        if !session.connected {
            if !event.writable {
                return Ok(());
            }
            connect::outcome(&session.fd)?;
            session.connected = true;
            self.set_alarm(session, event.token, self.limit_of(Phase::Banner));
        }
        if event.writable {
            session.flush()?;
            // A long message has time for as long as the host takes some of it.
            if session.has_output() {
                self.set_alarm(session, event.token, self.limit_of(session.dialogue.phase()));
            }
        }
        if !event.readable {
            return Ok(());
        }
        // The buffer is lent to this session for as long as it is read from.
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
            self.digest_wire(session, event.token, &input[..n])?;
            // A short read has emptied the socket: the next byte is another event.
            if n < input.len() && !event.ended {
                return Ok(());
            }
        }
    }

    /// Takes bytes as they came from the socket.
    fn digest_wire(&mut self, session: &mut Session, token: Token, bytes: &[u8]) -> Result<(), End> {
        let Some(tls) = &mut session.tls else { return self.digest(session, token, bytes) };
        let was_handshaking = tls.is_handshaking();
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        let received = tls.receive(bytes, &mut plain);
        let handshaken = was_handshaking && !tls.is_handshaking();
        // What TLS has to say for itself, be it an alert.
        let flushed = session.flush();
        let result = match received {
            Err(e) => Err(End::Tls(e)),
            Ok(()) => flushed.map_err(End::from).and_then(|()| {
                if handshaken {
                    self.report.connections.tls += 1;
                    self.speak(session, token, |engine, session, out| {
                        session.dialogue.secured(&engine.plan.letter, out);
                    })?;
                }
                self.digest(session, token, &plain)
            }),
        };
        self.plain = plain;
        result
    }

    /// Takes what the host says.
    fn digest(&mut self, session: &mut Session, token: Token, bytes: &[u8]) -> Result<(), End> {
        if bytes.is_empty() {
            return Ok(());
        }
        if session.tail.is_empty() {
            let used = self.converse(session, token, bytes)?;
            session.keep(&bytes[used..]);
        } else {
            let mut tail = std::mem::take(&mut session.tail);
            tail.extend_from_slice(bytes);
            let used = self.converse(session, token, &tail)?;
            tail.drain(..used);
            session.tail = tail;
            session.keep(&[]);
        }
        Ok(())
    }

    /// Lets `write` add commands and sends them.
    fn speak(
        &mut self,
        session: &mut Session,
        token: Token,
        write: impl FnOnce(&mut Self, &mut Session, &mut Vec<u8>),
    ) -> Result<(), End> {
        let mut out = std::mem::take(&mut self.commands);
        out.clear();
        write(self, session, &mut out);
        let sent = self.utter(session, token, &out);
        self.commands = out;
        sent
    }

    /// Sends commands, and waits for what they ask for.
    fn utter(&mut self, session: &mut Session, token: Token, out: &[u8]) -> Result<(), End> {
        self.report.bytes.sent += out.len() as u64;
        session.send(out)?;
        let patience = if session.idle { IDLE_KEPT } else { self.limit_of(session.dialogue.phase()) };
        self.set_alarm(session, token, patience);
        Ok(())
    }

    /// Goes through the events in the input; how much of it is done with.
    fn converse(&mut self, session: &mut Session, token: Token, input: &[u8]) -> Result<usize, End> {
        let mut out = std::mem::take(&mut self.commands);
        out.clear();
        let result = self.follow(session, token, input, &mut out);
        // Also what was said before the end: a goodbye, for one.
        let result = match result {
            Ok(used) => self.utter(session, token, &out).map(|()| used),
            Err(end) => Err(end),
        };
        self.commands = out;
        result
    }

    fn follow(
        &mut self,
        session: &mut Session,
        token: Token,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, End> {
        let mut used = 0;
        loop {
            let domains = &self.book.domains;
            let domain = |id: u32| &*domains[id as usize].name;
            let letter = &self.plan.letter;
            let (n, event) = session
                .dialogue
                .receive(&input[used..], letter, domain, out)
                .map_err(|fault| End::Broken(not_smtp(fault).into()))?;
            used += n;
            match event {
                Event::More => return Ok(used),
                Event::Ready => {
                    self.report.connections.opened += 1;
                    let h = &mut self.hosts.all[session.host as usize];
                    h.connecting -= 1;
                    h.established += 1;
                    h.came_up();
                    self.next_work(session, token, out);
                }
                Event::Finished => {
                    session.transactions += 1;
                    self.batch_over(session, None);
                    self.next_work(session, token, out);
                }
                Event::MaySend => self.may_send(session, token, out),
                Event::StartTls if used < input.len() => {
                    // What was said in the open does not count as said in private (RFC 3207 section 4.2).
                    return Err(End::Tls("the host goes on after it has agreed to STARTTLS".into()));
                }
                Event::StartTls => {
                    let (name, addr) = self.host_name(session.host);
                    let Some(config) = &self.tls else { return Err(End::Tls("it is off".into())) };
                    session.tls = Some(Box::new(Tls::new(config, &name, addr.ip()).map_err(End::Tls)?));
                    session.flush()?;
                    return Ok(used);
                }
                Event::Closed => return Err(End::Done),
                Event::Unwilling(said) => return Err(End::Said(said)),
            }
        }
    }

    /// Begins the session's next transaction, or lets it rest or go.
    fn next_work(&mut self, session: &mut Session, token: Token, out: &mut Vec<u8>) {
        session.idle = false;
        loop {
            let tired = session.transactions >= self.plan.transactions_per_connection;
            if self.stopping || tired {
                return self.leave(session, out);
            }
            let Some(batch) = self.next_batch(session.host) else { break };
            let domains = &self.book.domains;
            let domain = |id: u32| &*domains[id as usize].name;
            if session.dialogue.begin(batch, &self.plan.letter, domain, out) {
                return;
            }
            self.batch_over(session, None);
        }
        let more_may_come =
            self.list.is_some() || self.router.as_ref().is_some_and(|r| !r.resolver.is_idle());
        if more_may_come && self.line.is_empty() {
            session.idle = true;
            self.hosts.all[session.host as usize].idle.push(token);
        } else {
            self.leave(session, out);
        }
    }

    fn leave(&mut self, session: &mut Session, out: &mut Vec<u8>) {
        session.idle = false;
        self.hosts.all[session.host as usize].established -= 1;
        session.dialogue.quit(out);
    }

    /// A session without work may have some now.
    pub(super) fn give_work(&mut self, token: Token) {
        if self.slots.get(token).is_none_or(|s| !s.idle) {
            return;
        }
        let Some(mut session) = self.slots.take(token) else { return };
        let result = self.speak(&mut session, token, |engine, session, out| {
            engine.next_work(session, token, out);
        });
        self.put_or_end(token, session, result);
    }

    fn say_goodbye(&mut self, session: &mut Session, token: Token) -> Result<(), End> {
        self.speak(session, token, |engine, session, out| engine.leave(session, out))
    }

    /// Lets all sessions go that have nothing to do; those at work go when they are done.
    pub(super) fn dismiss_idle(&mut self) {
        for token in self.slots.tokens() {
            let Some(mut session) = self.slots.take(token) else { continue };
            let result = if session.idle {
                self.say_goodbye(&mut session, token)
            } else if session.held {
                Err(End::Broken("the run was stopped".into()))
            } else if session.dialogue.is_established() || session.dialogue.is_leaving() {
                Ok(())
            } else {
                Err(End::Done)
            };
            self.put_or_end(token, session, result);
        }
    }

    /// The host waits for the message: it is sent now, or when fewer recipients are in doubt.
    fn may_send(&mut self, session: &mut Session, token: Token, out: &mut Vec<u8>) {
        if self.journal.is_none() || self.doubt.enter(session.dialogue.taken()) {
            session.dialogue.send_message(&self.plan.letter, out);
        } else {
            session.held = true;
            self.doubt.wait(token);
        }
    }

    /// Sends the messages for which there is room now.
    pub(super) fn send_held(&mut self) {
        while let Some(token) = {
            let slots = &self.slots;
            self.doubt.admit_next(|token| slots.get(token).map(|s| s.dialogue.taken()))
        } {
            let Some(mut session) = self.slots.take(token) else { continue };
            session.held = false;
            let result = self.speak(&mut session, token, |engine, session, out| {
                session.dialogue.send_message(&engine.plan.letter, out);
            });
            self.put_or_end(token, session, result);
        }
    }

    /// The transaction of a session is over, or was cut off.
    fn batch_over(&mut self, session: &mut Session, lost: Option<&Said>) {
        let batch = session.dialogue.take_batch();
        let entered = if batch.message_sent { batch.taken } else { 0 };
        self.settle_batch(session.host, batch, lost);
        if entered > 0
            && let Some(journal) = &self.journal
        {
            self.doubt.recorded_at(journal.appended(), entered);
        }
    }

    /// A session has ended.
    fn end(&mut self, token: Token, mut session: Box<Session>, end: End) {
        let host = session.host;
        let established = session.dialogue.is_established();
        let leaving = session.dialogue.is_leaving();
        self.epoll.unwatch(session.fd.as_fd(), true);
        let h = &mut self.hosts.all[host as usize];
        h.sessions -= 1;
        h.established -= usize::from(established);
        h.connecting -= usize::from(!established && !leaving);
        self.slots.remove(token);
        if established {
            let is_lost = !session.idle;
            let said = self.told(host, end);
            if is_lost {
                self.report.connections.lost += 1;
                self.tell(host, &said);
            }
            self.batch_over(&mut session, Some(&said));
        } else if !leaving && !matches!(end, End::Done) {
            self.report.connections.failed += 1;
            self.connection_failed(host, end);
        }
        drop(session);
        self.want_session(host);
    }

    /// A host could not be talked to. If others talk to it, it has as many callers as it takes.
    fn connection_failed(&mut self, host: u32, end: End) {
        let h = &mut self.hosts.all[host as usize];
        if matches!(end, End::Tls(_)) && self.plan.letter.tls == TlsPolicy::Auto && !h.plain {
            h.plain = true;
            return;
        }
        if h.established > 0 {
            h.sessions_max = h.sessions.max(1);
            return;
        }
        let said = self.told(host, end);
        self.tell(host, &said);
        self.host_failed(host, &said);
    }

    /// Tells whoever looks on of a host's first failure, so that nobody has to wonder at recipients that wait.
    fn tell(&mut self, host: u32, said: &Said) {
        let h = &mut self.hosts.all[host as usize];
        if std::mem::replace(&mut h.told, true) || self.stopping || self.told >= HOSTS_TOLD_MAX {
            return;
        }
        self.told += 1;
        let (name, addr) = self.host_name(host);
        let text = String::from_utf8_lossy(&said.text).replace(char::is_control, " ");
        let line = match said.code {
            0 => text,
            code => format!("{name} at {addr} says {code} {text}"),
        };
        self.watch.note(&format!("{line}; what waits for it is tried again"));
    }

    /// The end of a session as a reply that the host might have given.
    fn told(&self, host: u32, end: End) -> Said {
        let words = match end {
            End::Said(said) if said.code > 0 => return said,
            End::Said(said) => String::from_utf8_lossy(&said.text).into_owned(),
            End::Done => "the host said goodbye".to_owned(),
            End::Broken(why) => why,
            End::Tls(why) => format!("TLS: {why}"),
        };
        let (name, addr) = self.host_name(host);
        let text = if *name == *addr.ip().to_string() {
            format!("{addr}: {words}")
        } else {
            format!("{name} at {addr}: {words}")
        };
        Said { code: 0, text: text.into_bytes().into() }
    }
}

fn not_smtp(fault: Fault) -> &'static str {
    match fault {
        Fault::Malformed => "the host does not speak SMTP",
        Fault::TooLarge => "the host's reply is too long",
        Fault::Unasked => "the host speaks without being asked",
    }
}

/// Errors that are this machine's own and pass.
fn is_shortage(e: &io::Error) -> bool {
    let shortages = ["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "EAGAIN"];
    e.raw_os_error().is_some_and(|n| shortages.contains(&errno::name(n)))
}
