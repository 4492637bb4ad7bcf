//! A conversation with a host, without its socket (RFC 5321): replies in, commands out.
//!
//! A transaction is MAIL, RCPT for each recipient, and DATA with the message, or RSET instead in test mode. Where the host offers
//! PIPELINING, everything is sent in one piece and replies are matched in order; otherwise each command waits for its reply. In
//! both cases one [`Step`] is the next reply.

use pitot_client::Fault;
use pitot_client::smtp::{EnhancedCode, Extensions, Line, ReplyReader};

use crate::batch::{Batch, Reached, RecipientState, Reply};
use crate::message::{Message, NO_SMTPUTF8, TlsPolicy};
use crate::timeouts::Phase;

/// The server closes the connection, whatever the command was (RFC 5321 section 3.8).
pub(crate) const CLOSING: u16 = 421;
/// The longest command with its line end (RFC 5321 section 4.5.3.1.4).
const COMMAND_BYTES_MAX: usize = 512;
/// The text of a reply that is kept.
const TEXT_BYTES_MAX: usize = 256;

/// Which reply is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Banner,
    Ehlo,
    Helo,
    StartTls,
    /// None: the TLS handshake is in progress.
    Handshake,
    /// To AUTH, with so many responses to challenges sent.
    Auth(usize),
    /// None: there is no transaction.
    Idle,
    /// To an RSET in front of a transaction.
    Clear,
    Mail,
    Rcpt(usize),
    /// To DATA, or RSET in test mode.
    End,
    /// None: the host waits for the message, which may wait for room in the window.
    AwaitingMessage,
    Message,
    Quit,
}

/// What the input meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing yet; more is needed.
    More,
    /// A transaction may begin.
    Ready,
    /// Start TLS on the connection and call [`Dialogue::secured`].
    StartTls,
    /// The host waits for the message: [`Dialogue::send_message`].
    MaySend,
    /// The transaction is over: [`Dialogue::take_batch`].
    Finished,
    /// The host has closed the session in order.
    Closed,
    /// The host refuses the session, or refuses it on these terms.
    SessionRefused(Reply),
    /// The host offers no way to log in that may be used.
    NoLogin(&'static str),
}

/// The state of one conversation.
#[derive(Debug)]
pub(crate) struct Dialogue {
    reader: ReplyReader,
    extensions: Extensions,
    step: Step,
    tls: TlsPolicy,
    secure: bool,
    /// The host may still have a transaction open.
    needs_reset: bool,
    /// The reply being read has had a line already.
    in_multiline: bool,
    batch: Batch,
    /// Each command of the transaction waits for the reply to the one before.
    stepwise: bool,
    /// The text of the present reply: its first line.
    text: Vec<u8>,
}

impl Dialogue {
    /// The conversation on a new connection, which starts with the host's greeting. It is `secure` if TLS begins with the
    /// connection.
    pub(crate) fn new(tls: TlsPolicy, secure: bool) -> Dialogue {
        Dialogue {
            reader: ReplyReader::default(),
            extensions: Extensions::default(),
            step: Step::Banner,
            tls,
            secure,
            needs_reset: false,
            in_multiline: false,
            batch: Batch::default(),
            stepwise: false,
            text: Vec::new(),
        }
    }

    /// The step that is waited for, which decides the time limit.
    pub(crate) fn phase(&self) -> Phase {
        match self.step {
            Step::Banner => Phase::Banner,
            Step::Ehlo | Step::Helo | Step::StartTls | Step::Handshake | Step::Auth(_) => Phase::Hello,
            Step::Idle => Phase::Idle,
            Step::Clear | Step::Mail => Phase::Mail,
            Step::Rcpt(_) => Phase::Recipient,
            Step::End => Phase::Data,
            Step::AwaitingMessage => Phase::Idle,
            Step::Message => Phase::Message,
            Step::Quit => Phase::Quit,
        }
    }

    /// True from the reply to EHLO until QUIT.
    pub(crate) fn is_established(&self) -> bool {
        !matches!(
            self.step,
            Step::Banner
                | Step::Ehlo
                | Step::Helo
                | Step::StartTls
                | Step::Handshake
                | Step::Auth(_)
                | Step::Quit
        )
    }

    /// True between the reply to STARTTLS and [`Dialogue::secured`].
    pub(crate) fn awaits_tls(&self) -> bool {
        self.step == Step::Handshake
    }

    /// True once QUIT was sent.
    pub(crate) fn is_leaving(&self) -> bool {
        self.step == Step::Quit
    }

    /// Recipients of the transaction that the host has taken.
    pub(crate) fn taken(&self) -> usize {
        self.batch.taken
    }

    /// True if the commands of the transaction go out in one piece.
    fn is_pipelined(&self) -> bool {
        self.extensions.pipelining && !self.stepwise
    }

    /// Takes the current or completed transaction, and leaves an empty one.
    pub(crate) fn take_batch(&mut self) -> Batch {
        self.batch.reached = match self.step {
            Step::Clear | Step::Mail | Step::Rcpt(_) if self.is_pipelined() => Reached::Somewhere,
            Step::Rcpt(n) => Reached::Recipient(n),
            _ => Reached::Elsewhere,
        };
        std::mem::take(&mut self.batch)
    }

    /// Begins a transaction. False if this host cannot take any of it; the transaction is then over.
    pub(crate) fn begin<'a>(
        &mut self,
        mut batch: Batch,
        message: &Message,
        domain: impl Fn(u32) -> &'a str,
        out: &mut Vec<u8>,
    ) -> bool {
        debug_assert_eq!(self.step, Step::Idle);
        if let Some((code, text)) = message.misfit(&self.extensions) {
            batch.closing = Some(Reply { code, text: text.as_bytes().into() });
            self.batch = batch;
            return false;
        }
        self.stepwise = batch.is_stepwise();
        let mut utf8 = false;
        for (recipient, answer) in batch.recipients.iter().zip(&mut batch.answers) {
            if !recipient.local.is_ascii() {
                utf8 = true;
                if !self.extensions.smtputf8 {
                    let (code, text) = NO_SMTPUTF8;
                    *answer = RecipientState::No(Reply { code, text: text.as_bytes().into() });
                }
            }
        }
        self.batch = batch;
        let Some(first) = self.next_open(0) else { return false };
        if self.needs_reset {
            out.extend_from_slice(b"RSET\r\n");
        }
        self.step = if self.needs_reset { Step::Clear } else { Step::Mail };
        self.needs_reset = false;
        if self.is_pipelined() {
            message.mail(&self.extensions, utf8, out);
            let mut next = Some(first);
            while let Some(n) = next {
                self.rcpt(n, &domain, out);
                next = self.next_open(n + 1);
            }
            out.extend_from_slice(end_command(message));
        } else if self.step == Step::Mail {
            message.mail(&self.extensions, utf8, out);
        }
        true
    }

    /// The index of the next recipient without an answer.
    fn next_open(&self, from: usize) -> Option<usize> {
        let open =
            self.batch.answers.get(from..)?.iter().position(|answer| *answer == RecipientState::Open)?;
        Some(from + open)
    }

    fn rcpt<'a>(&self, n: usize, domain: impl Fn(u32) -> &'a str, out: &mut Vec<u8>) {
        let recipient = &self.batch.recipients[n];
        out.extend_from_slice(b"RCPT TO:<");
        out.extend_from_slice(recipient.local.as_bytes());
        out.push(b'@');
        out.extend_from_slice(domain(recipient.domain).as_bytes());
        out.extend_from_slice(b">\r\n");
    }

    /// Sends the message, or an empty one if no recipient was accepted (RFC 2920 section 3.1).
    pub(crate) fn send_message(&mut self, message: &Message, out: &mut Vec<u8>) {
        debug_assert_eq!(self.step, Step::AwaitingMessage);
        self.step = Step::Message;
        self.batch.message_sent = self.batch.taken > 0;
        self.batch.in_doubt = self.batch.message_sent;
        out.extend_from_slice(if self.batch.taken > 0 { &message.data } else { b".\r\n" });
    }

    /// The TLS handshake is complete: extensions offered before it are forgotten (RFC 3207 section 4.2).
    pub(crate) fn secured(&mut self, message: &Message, out: &mut Vec<u8>) {
        self.secure = true;
        self.hello(message, out);
    }

    fn hello(&mut self, message: &Message, out: &mut Vec<u8>) {
        self.extensions = Extensions::default();
        self.step = Step::Ehlo;
        out.extend_from_slice(format!("EHLO {}\r\n", message.helo).as_bytes());
    }

    /// Ends the session.
    pub(crate) fn quit(&mut self, out: &mut Vec<u8>) {
        self.step = Step::Quit;
        out.extend_from_slice(b"QUIT\r\n");
    }

    /// Takes input, which starts with what an earlier call left, up to the first event. Returns the number of bytes consumed and the
    /// event.
    ///
    /// # Errors
    /// Bytes that are not SMTP, or a reply without a command.
    pub(crate) fn receive<'a>(
        &mut self,
        input: &[u8],
        message: &Message,
        domain: impl Fn(u32) -> &'a str,
        out: &mut Vec<u8>,
    ) -> Result<(usize, Event), Fault> {
        let mut consumed = 0;
        loop {
            let Some((used, line)) = self.reader.line(&input[consumed..])? else {
                return Ok((consumed, Event::More));
            };
            consumed += used;
            if std::mem::replace(&mut self.in_multiline, !line.last) {
                if self.step == Step::Ehlo {
                    self.extensions.note(line.text);
                }
            } else if line.code >= 400 || self.step == Step::Message {
                self.text.clear();
                self.text.extend_from_slice(&line.text[..line.text.len().min(TEXT_BYTES_MAX)]);
            }
            if line.last {
                let event = self.reply(line, message, &domain, out)?;
                if event != Event::More {
                    return Ok((consumed, event));
                }
            }
        }
    }

    fn kept_reply(&mut self, code: u16) -> Reply {
        Reply { code, text: self.text.as_slice().into() }
    }

    /// Takes a whole reply.
    fn reply<'a>(
        &mut self,
        line: Line<'_>,
        message: &Message,
        domain: &impl Fn(u32) -> &'a str,
        out: &mut Vec<u8>,
    ) -> Result<Event, Fault> {
        let code = line.code;
        let done = code / 100 == 2;
        if code == CLOSING && !matches!(self.step, Step::Idle | Step::Quit) {
            return Ok(Event::SessionRefused(self.kept_reply(code)));
        }
        match self.step {
            Step::Banner if done => self.hello(message, out),
            Step::Ehlo if done => return Ok(self.greeted(message, out)),
            Step::Ehlo if code / 100 == 5 && !self.secure && self.tls != TlsPolicy::Require => {
                self.step = Step::Helo;
                out.extend_from_slice(format!("HELO {}\r\n", message.helo).as_bytes());
            }
            Step::Helo if done => return Ok(self.log_in(message, out)),
            Step::Banner | Step::Ehlo | Step::Helo => {
                if code < 400 {
                    return Err(Fault::Malformed);
                }
                return Ok(Event::SessionRefused(self.kept_reply(code)));
            }
            Step::StartTls if code == 220 => {
                self.step = Step::Handshake;
                return Ok(Event::StartTls);
            }
            Step::StartTls if self.tls == TlsPolicy::Require => {
                return Ok(Event::SessionRefused(no_tls("the host offers STARTTLS and refuses it")));
            }
            Step::StartTls => return Ok(self.log_in(message, out)),
            Step::Auth(_) if done => return Ok(self.ready()),
            Step::Auth(sent) if code == 334 => self.respond(sent, message, out),
            Step::Auth(_) => return Ok(Event::SessionRefused(self.refusal(code)?)),
            Step::Clear => {
                self.step = Step::Mail;
                if !self.is_pipelined() {
                    let utf8 = self.batch.recipients.iter().any(|r| !r.local.is_ascii());
                    message.mail(&self.extensions, utf8, out);
                }
            }
            Step::Mail => {
                if !done {
                    self.batch.closing = Some(self.refusal(code)?);
                    if !self.is_pipelined() {
                        return Ok(self.finish());
                    }
                }
                self.ask_next(0, message, domain, out);
            }
            Step::Rcpt(n) => {
                self.recipient_answered(n, line)?;
                self.ask_next(n + 1, message, domain, out);
                // No recipient was accepted: the next transaction starts with RSET.
                if self.step == Step::End && self.batch.taken == 0 && !self.is_pipelined() {
                    self.needs_reset = true;
                    return Ok(self.finish());
                }
            }
            Step::End if message.test => return Ok(self.finish()),
            Step::End if code == 354 => {
                self.step = Step::AwaitingMessage;
                return Ok(Event::MaySend);
            }
            Step::End => {
                self.needs_reset = true;
                if self.batch.closing.is_none() && self.batch.taken > 0 {
                    self.batch.closing = Some(self.refusal(code)?);
                }
                return Ok(self.finish());
            }
            Step::Message => {
                self.batch.in_doubt = false;
                if self.batch.closing.is_none() {
                    let reply = if done { self.kept_reply(code) } else { self.refusal(code)? };
                    self.batch.closing = Some(reply);
                }
                return Ok(self.finish());
            }
            Step::Quit => return Ok(Event::Closed),
            // A host may announce that it closes an idle connection, and send nothing else.
            Step::Idle if code == CLOSING => return Ok(Event::Closed),
            Step::Idle | Step::AwaitingMessage | Step::Handshake => return Err(Fault::Unasked),
        }
        Ok(Event::More)
    }

    /// A reply that has to be a refusal.
    fn refusal(&mut self, code: u16) -> Result<Reply, Fault> {
        if code >= 400 { Ok(self.kept_reply(code)) } else { Err(Fault::Malformed) }
    }

    /// The reply to EHLO is there.
    fn greeted(&mut self, message: &Message, out: &mut Vec<u8>) -> Event {
        match self.tls {
            TlsPolicy::Auto | TlsPolicy::Require if self.extensions.starttls && !self.secure => {
                self.step = Step::StartTls;
                out.extend_from_slice(b"STARTTLS\r\n");
                Event::More
            }
            TlsPolicy::Require if !self.secure => {
                Event::SessionRefused(no_tls("the host does not offer STARTTLS, which --tls require needs"))
            }
            _ => self.log_in(message, out),
        }
    }

    /// Logs in if there is a login, by a way that the host offers; a transaction may begin after that.
    fn log_in(&mut self, message: &Message, out: &mut Vec<u8>) -> Event {
        let Some(login) = &message.login else { return self.ready() };
        if !self.secure && !login.insecure {
            return Event::NoLogin("credentials are not sent without TLS");
        }
        self.step = Step::Auth(0);
        if self.extensions.auth_plain {
            let command = format!("AUTH PLAIN {}\r\n", login.plain());
            let fits = command.len() <= COMMAND_BYTES_MAX;
            out.extend_from_slice(if fits { command.as_bytes() } else { b"AUTH PLAIN\r\n" });
            self.step = Step::Auth(usize::from(fits));
        } else if self.extensions.auth_login {
            out.extend_from_slice(b"AUTH LOGIN\r\n");
        } else {
            return Event::NoLogin("the host does not offer AUTH PLAIN or AUTH LOGIN");
        }
        Event::More
    }

    /// Answers the next challenge, or gives up with `*` (RFC 4954 section 4) if there is one too many.
    fn respond(&mut self, sent: usize, message: &Message, out: &mut Vec<u8>) {
        let response = message.login.as_ref().and_then(|login| match self.extensions.auth_plain {
            true => (sent == 0).then(|| login.plain()),
            false => login.login().into_iter().nth(sent),
        });
        self.step = Step::Auth(sent + 1);
        out.extend_from_slice(response.as_deref().unwrap_or("*").as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    fn ready(&mut self) -> Event {
        self.step = Step::Idle;
        Event::Ready
    }

    fn finish(&mut self) -> Event {
        self.step = Step::Idle;
        Event::Finished
    }

    fn recipient_answered(&mut self, n: usize, line: Line<'_>) -> Result<(), Fault> {
        // After a refused sender the replies to recipients mean nothing.
        if self.batch.closing.is_some() {
            return Ok(());
        }
        let full = || {
            line.code == 452 && EnhancedCode::of(&line).is_none_or(|c| (c.subject, c.detail) == (5, 3))
                || line.code == 552
                    && EnhancedCode::of(&line).is_some_and(|c| (c.subject, c.detail) == (5, 3))
        };
        self.batch.answers[n] = if line.code / 100 == 2 {
            self.batch.taken += 1;
            RecipientState::Taken
        } else if self.batch.taken > 0 && full() {
            RecipientState::Overflow
        } else {
            RecipientState::No(self.refusal(line.code)?)
        };
        Ok(())
    }

    /// Awaits the reply about the next recipient, or the end of the transaction; sends for it unless it is sent.
    fn ask_next<'a>(
        &mut self,
        from: usize,
        message: &Message,
        domain: &impl Fn(u32) -> &'a str,
        out: &mut Vec<u8>,
    ) {
        let next = self.next_open(from);
        self.step = next.map_or(Step::End, Step::Rcpt);
        if !self.is_pipelined() {
            match next {
                Some(n) => self.rcpt(n, domain, out),
                None if self.batch.taken > 0 || message.test => out.extend_from_slice(end_command(message)),
                None => {}
            }
        }
    }
}

fn end_command(message: &Message) -> &'static [u8] {
    if message.test { b"RSET\r\n" } else { b"DATA\r\n" }
}

fn no_tls(text: &str) -> Reply {
    Reply { code: 0, text: text.as_bytes().into() }
}

#[cfg(test)]
mod tests;
