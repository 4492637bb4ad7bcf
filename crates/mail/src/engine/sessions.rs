//! Sessions: opened when a host has work, given work, and ended.

use std::io;
use std::os::fd::AsFd;

use pitot_meter::Nanos;
use pitot_sys::readiness::{Interest, Readiness, Ready};
use pitot_sys::{Token, connect, errno};

use super::failures::{End, reply_for};
use super::state::Engine;
use crate::dialogue::CLOSING;
use crate::message::TlsPolicy;
use crate::session::{Session, Stage};
use crate::timeouts::Phase;
use crate::tls::Tls;

/// Opening connections pauses for this long when this machine has no port, descriptor or memory left.
const SHORTAGE_PAUSE: Nanos = Nanos::from_millis(50);

impl Engine<'_> {
    /// Finds or opens sessions for the hosts that have work.
    pub(super) fn serve_wanted(&mut self) {
        while let Some(host) = self.wanted.pop_front() {
            self.hosts.all[host as usize].wanted = false;
            self.serve_host(host);
        }
    }

    /// Serves the hosts that wait for a connection, now that one has ended or a pause is over.
    pub(super) fn serve_waiting(&mut self) {
        while self.may_open() {
            let Some(host) = self.awaiting_connection.pop_front() else { return };
            self.hosts.all[host as usize].awaits_connection = false;
            self.serve_host(host);
        }
    }

    /// Has the work of a host done: by idle sessions, by new ones, or by those that will come back for more.
    fn serve_host(&mut self, host: u32) {
        if self.stopping {
            return;
        }
        while self.hosts.all[host as usize].backlog > 0
            && let Some(session) = self.hosts.all[host as usize].idle.pop()
        {
            self.give_work(session);
        }
        loop {
            let h = &mut self.hosts.all[host as usize];
            let limit = self.plan.connections_per_host.min(h.sessions_max);
            let per_session = self.plan.recipients_per_transaction.min(h.recipients_max);
            // Sessions at work will come back for more; those that connect have taken nothing yet.
            let coming = h.connecting.saturating_mul(per_session);
            if h.backlog <= coming || h.sessions >= limit {
                return;
            }
            if !self.may_open() {
                return self.await_connection(host);
            }
            if !self.open_session(host) {
                return;
            }
        }
    }

    /// The host joins the queue for a connection.
    fn await_connection(&mut self, host: u32) {
        let h = &mut self.hosts.all[host as usize];
        if !std::mem::replace(&mut h.awaits_connection, true) {
            self.awaiting_connection.push_back(host);
        }
    }

    /// Opens a connection to a host. False if that failed at once.
    fn open_session(&mut self, host: u32) -> bool {
        let addr = self.hosts.all[host as usize].addr;
        let token = self.slots.next();
        let implicit = match self.implicit_tls(host).transpose() {
            Ok(tls) => tls.map(Box::new),
            Err(why) => {
                self.connection_failed(host, End::Tls(why));
                return false;
            }
        };
        let opened = connect::open(addr, None).and_then(|fd| {
            let connected = connect::start(&fd, addr)?;
            self.epoll.watch(fd.as_fd(), token, Interest::ReadWrite)?;
            Ok((fd, connected))
        });
        match opened {
            Ok((fd, connected)) => {
                let plain = self.hosts.all[host as usize].plain_only;
                let tls = if plain { TlsPolicy::Off } else { self.plan.message.tls };
                let mut session = Session::new(fd, host, tls, implicit);
                session.stage = if connected { Stage::Active } else { Stage::Connecting };
                let phase = if connected { Phase::Banner } else { Phase::Connect };
                self.set_timer(&mut session, token, self.limit_of(phase));
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
                self.await_connection(host);
                false
            }
            Err(e) => {
                self.connection_failed(host, End::from(e));
                false
            }
        }
    }

    /// TLS for a new connection to a host, if it begins with the connection.
    fn implicit_tls(&self, host: u32) -> Option<Result<Tls, String>> {
        let config = self.plan.tls.as_ref()?;
        self.plan.relay.as_ref().filter(|relay| relay.implicit_tls)?;
        let (name, addr) = self.host_name(host);
        Some(Tls::new(config, &name, addr.ip()))
    }

    /// Ends or closes the sessions whose deadline has passed.
    pub(super) fn expire_sessions(&mut self) {
        while let Some((token, mut session)) = self.next_expired() {
            if session.stage == Stage::Idle {
                let sent = self.quit_idle(&mut session, token);
                self.put_or_end(token, session, sent);
                continue;
            }
            let end = match session.phase() {
                Phase::Quit => End::Done,
                phase => End::Broken(format!("the host did not {} in time", phase.missing())),
            };
            self.end(token, session, end);
        }
    }

    /// Handles an event of a session's socket.
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

    /// Gives work to a session that is idle.
    fn give_work(&mut self, token: Token) {
        if self.slots.get(token).is_none_or(|s| s.stage != Stage::Idle) {
            return;
        }
        let Some(mut session) = self.slots.take(token) else { return };
        let result = self.write_commands(&mut session, token, |engine, session, out| {
            engine.next_transaction(session, token, out);
        });
        self.put_or_end(token, session, result);
    }

    fn quit_idle(&mut self, session: &mut Session, token: Token) -> Result<(), End> {
        self.write_commands(session, token, |engine, session, out| engine.quit(session, out))
    }

    /// Closes all sessions that have nothing to do; the others close after their transaction.
    pub(super) fn dismiss_idle(&mut self) {
        for token in self.slots.tokens() {
            let Some(mut session) = self.slots.take(token) else { continue };
            let result = match session.stage {
                Stage::Idle => self.quit_idle(&mut session, token),
                Stage::AwaitingWindow => Err(End::Broken("the run was stopped".into())),
                Stage::Active if session.dialogue.is_established() || session.dialogue.is_leaving() => Ok(()),
                Stage::Connecting | Stage::Active => Err(End::Done),
            };
            self.put_or_end(token, session, result);
        }
    }

    /// Sends the messages that the unacknowledged window allows now.
    pub(super) fn send_waiting(&mut self) {
        while let Some(token) = {
            let slots = &self.slots;
            self.unacknowledged.reserve_next(|token| slots.get(token).map(|s| s.dialogue.taken()))
        } {
            let Some(mut session) = self.slots.take(token) else { continue };
            session.stage = Stage::Active;
            let result = self.write_commands(&mut session, token, |engine, session, out| {
                session.dialogue.send_message(&engine.plan.message, out);
            });
            self.put_or_end(token, session, result);
        }
    }

    /// Ends a session and settles its work.
    fn end(&mut self, token: Token, mut session: Box<Session>, end: End) {
        let host = session.host;
        let established = session.dialogue.is_established();
        let leaving = session.dialogue.is_leaving();
        if let End::Reply(reply) = &end
            && !established
            && reply.code > CLOSING
        {
            // A host that refuses with its greeting waits for it (RFC 5321 section 3.1); its reply decides nothing.
            let _ = session.send(b"QUIT\r\n");
        }
        self.epoll.unwatch(session.fd.as_fd(), true);
        let h = &mut self.hosts.all[host as usize];
        h.sessions -= 1;
        h.established -= usize::from(established);
        h.connecting -= usize::from(!established && !leaving);
        self.slots.remove(token);
        if established {
            let is_lost = session.stage != Stage::Idle;
            let reply = reply_for(end);
            if is_lost {
                self.report.connections.lost += 1;
                let h = &mut self.hosts.all[host as usize];
                h.lost += 1;
                h.last_failure = Some(reply.clone());
                self.report_failure(host, &reply);
            }
            self.batch_over(&mut session, Some(&reply));
        } else if !leaving && !matches!(end, End::Done) {
            self.connection_failed(host, end);
        }
        drop(session);
        self.want_session(host);
    }

    /// A connection to a host failed. If others are established, they are the host's limit.
    fn connection_failed(&mut self, host: u32, end: End) {
        self.report.connections.failed += 1;
        let h = &mut self.hosts.all[host as usize];
        h.failed += 1;
        let is_tls = matches!(end, End::Tls(_));
        let refuses = end.is_final();
        let reply = reply_for(end);
        h.last_failure = Some(reply.clone());
        let implicit = self.plan.relay.as_ref().is_some_and(|relay| relay.implicit_tls);
        if is_tls && self.plan.message.tls == TlsPolicy::Auto && !implicit && !h.plain_only {
            h.plain_only = true;
            return;
        }
        if h.established > 0 {
            h.sessions_max = h.sessions.max(1);
            return;
        }
        h.refuses = refuses;
        self.report_failure(host, &reply);
        self.host_failed(host, &reply);
    }
}

/// Errors that come from a shortage on this machine, which passes.
fn is_shortage(e: &io::Error) -> bool {
    let shortages = ["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "EAGAIN"];
    e.raw_os_error().is_some_and(|n| shortages.contains(&errno::name(n)))
}
