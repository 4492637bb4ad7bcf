//! A connection: from command to reply, and from the first line of a message to its storage.

use std::net::IpAddr;
use std::sync::Arc;

use memchr::memchr;

use super::command::{self, Fault, Verb};
use super::content::Content;
use super::options::LINE_BYTES_MAX;
use super::reply;
use super::shared::Shared;
use crate::{Context, Exchange, Next, ServerConn, Step, StoreError, Upload, Violation, ViolationKind};

/// Bytes of a message that one call processes, which bounds a step of storing.
const PIECE_BYTES_MAX: usize = 64 << 10;
/// Limit on the memory that a session keeps for the next envelope.
const ENVELOPE_SPARE_MAX: usize = 4096;

/// A connection. Before EHLO it needs no other memory.
pub(super) struct Conn {
    shared: Arc<Shared>,
    state: State,
    /// In the rest of a line that was refused before its end had arrived.
    in_long_line: bool,
    /// From STARTTLS on.
    is_secured: bool,
    errors: u32,
    /// The client's address; known only if messages are stored, which contain it.
    peer: Option<Box<IpAddr>>,
    /// From EHLO on.
    session: Option<Box<Session>>,
}

const _: () = assert!(size_of::<Conn>() <= 32, "an idle connection has grown");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before EHLO or HELO.
    Fresh,
    /// Between transactions.
    Ready,
    /// After MAIL, without an accepted recipient.
    Mail,
    /// With accepted recipients.
    Recipients,
    /// In a message.
    Content,
}

/// The state of a client and its transaction.
struct Session {
    client: Box<[u8]>,
    extended: bool,
    is_secured: bool,
    utf8: bool,
    recipients: u32,
    /// The header fields to add to the message, except the last of them, if messages are stored.
    envelope: Vec<u8>,
    content: Content,
    upload: Option<Upload>,
    /// True if the message is being stored: its envelope has been written.
    storing: bool,
    /// True if the message has ended, and its last step is under way.
    ended: bool,
    refusal: Option<Refusal>,
}

/// Why a message is refused at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    TooLarge,
    StrayLineEnd,
    Nul,
    NotStored(StoreError),
}

impl Refusal {
    fn reply(self) -> &'static [u8] {
        match self {
            Refusal::TooLarge => reply::TOO_LARGE,
            Refusal::StrayLineEnd => reply::STRAY_LINE_END,
            Refusal::Nul => reply::NUL_IN_MESSAGE,
            Refusal::NotStored(StoreError::NoSpace) => reply::NO_ROOM,
            Refusal::NotStored(_) => reply::NOT_STORED,
        }
    }
}

impl Session {
    fn new(client: &[u8], extended: bool, is_secured: bool) -> Session {
        Session {
            client: client.into(),
            extended,
            is_secured,
            utf8: false,
            recipients: 0,
            envelope: Vec::new(),
            content: Content::new(),
            upload: None,
            storing: false,
            ended: false,
            refusal: None,
        }
    }

    /// Resets the transaction.
    fn reset(&mut self) {
        self.utf8 = false;
        self.recipients = 0;
        self.envelope.clear();
        self.envelope.shrink_to(ENVELOPE_SPARE_MAX);
        self.upload = None;
        self.content = Content::new();
        self.storing = false;
        self.ended = false;
        self.refusal = None;
    }

    /// Adds a field to the envelope. The mailbox was parsed as a path, and so contains no line end.
    fn add_to_envelope(&mut self, name: &str, open: &str, mailbox: &str, close: &str) {
        for part in [name, ": ", open, mailbox, close, "\n"] {
            self.envelope.extend_from_slice(part.as_bytes());
        }
    }

    /// Writes the fields before the message (RFC 5321 section 4.4).
    fn write_envelope(&self, cx: &Context<'_>, shared: &Shared, peer: Option<&IpAddr>, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.envelope);
        // RFC 3848 and RFC 6531 section 4.3.
        let with = match (self.utf8, self.extended, self.is_secured) {
            (true, _, false) => "UTF8SMTP",
            (true, _, true) => "UTF8SMTPS",
            (false, true, false) => "ESMTP",
            (false, true, true) => "ESMTPS",
            (false, false, _) => "SMTP",
        };
        // The zone of an IMF-fixdate has a form that is obsolete in mail (RFC 5322 section 4.3).
        let date = cx.date.strip_suffix("GMT").unwrap_or(cx.date);
        bytes.extend_from_slice(b"Received: from ");
        bytes.extend_from_slice(&self.client);
        let address = match peer.map(IpAddr::to_canonical) {
            Some(IpAddr::V4(peer)) => format!(" ([{peer}])"),
            Some(IpAddr::V6(peer)) => format!(" ([IPv6:{peer}])"),
            None => String::new(),
        };
        for part in [&address, "\n\tby ", &shared.options.name, " with ", with, ";\n\t", date, "+0000\n"] {
            bytes.extend_from_slice(part.as_bytes());
        }
    }
}

impl ServerConn for Conn {
    fn peer_is(&mut self, peer: IpAddr) {
        self.peer = Some(Box::new(peer));
    }

    fn open(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        if cx.stopping {
            exchange.out.fixed(reply::STOPPING);
            return Next::Close;
        }
        exchange.out.bytes(&self.shared.greeting);
        Next::Read
    }

    fn receive(
        &mut self,
        cx: &Context<'_>,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        if self.state == State::Content {
            Ok(self.content(cx, input, exchange))
        } else {
            self.line(cx, input, exchange)
        }
    }

    fn stored(
        &mut self,
        cx: &Context<'_>,
        answer: Result<Option<Upload>, StoreError>,
        exchange: &mut Exchange,
    ) -> Next {
        let Some(session) = &mut self.session else { return Next::Close };
        match answer {
            Ok(upload) => session.upload = upload,
            Err(error) => session.refusal = Some(Refusal::NotStored(error)),
        }
        if session.ended { self.message_done(cx, exchange) } else { Next::Read }
    }

    fn end_of_input(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        if cx.stopping {
            // A worker in a blocking call is stopped by an end of input.
            exchange.out.fixed(reply::STOPPING);
        }
        Next::Close
    }

    fn timed_out(&mut self, _: &Context<'_>, exchange: &mut Exchange) {
        exchange.out.fixed(reply::TOO_SLOW);
        self.session = None;
    }

    fn dismissed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        exchange.out.fixed(if cx.stopping { reply::STOPPING } else { reply::TOO_SLOW });
        self.session = None;
    }

    fn unsecured(&mut self, _: &Context<'_>, exchange: &mut Exchange) {
        exchange.out.fixed(reply::NO_TLS);
    }

    fn mid_request(&self) -> bool {
        self.state == State::Content || self.in_long_line
    }
}

impl Conn {
    pub(super) fn new(shared: Arc<Shared>) -> Conn {
        Conn {
            shared,
            state: State::Fresh,
            in_long_line: false,
            is_secured: false,
            errors: 0,
            peer: None,
            session: None,
        }
    }

    /// Takes input that starts with a command line, or with the rest of one that is too long.
    fn line(&mut self, cx: &Context<'_>, input: &[u8], exchange: &mut Exchange) -> Result<Step, Violation> {
        if self.in_long_line {
            let end = memchr(b'\n', input);
            self.in_long_line = end.is_none();
            return Ok(Step::read(end.map_or(input.len(), |end| end + 1)));
        }
        let view = &input[..input.len().min(LINE_BYTES_MAX)];
        let Some(end) = memchr(b'\n', view) else {
            if view.len() < LINE_BYTES_MAX {
                return Ok(Step::read(0));
            }
            self.in_long_line = true;
            return self.answer(reply::LINE_TOO_LONG, view.len(), exchange);
        };
        let consumed = end + 1;
        let line = match view[..end].strip_suffix(b"\r") {
            Some(line) if memchr(b'\r', line).is_none() => line,
            _ => return self.answer(reply::LINE_END, consumed, exchange),
        };
        if memchr(0, line).is_some() {
            return self.answer(reply::NUL_IN_COMMAND, consumed, exchange);
        }
        let split = command::split(line);
        if cx.stopping && !matches!(split, Some((Verb::Quit, _))) {
            exchange.out.fixed(reply::STOPPING);
            exchange.reply_done();
            return Ok(Step { consumed, next: Next::Close });
        }
        let Some((verb, arguments)) = split else { return self.answer(reply::UNKNOWN, consumed, exchange) };
        let said = match verb {
            Verb::Mail => self.mail(arguments),
            Verb::Rcpt => self.rcpt(arguments, exchange),
            Verb::Ehlo | Verb::Helo if !command::is_client_name(arguments) => reply::BAD_NAME,
            Verb::Ehlo => {
                self.hello(arguments, true);
                let Shared { extensions, extensions_in_clear, .. } = &*self.shared;
                exchange.out.bytes(if self.is_secured { extensions } else { extensions_in_clear });
                b""
            }
            Verb::Helo => {
                self.hello(arguments, false);
                let name = self.shared.options.name.as_bytes();
                [&b"250 "[..], name, b"\r\n"].into_iter().for_each(|part| exchange.out.bytes(part));
                b""
            }
            Verb::StartTls if !self.shared.options.starttls => reply::NOT_OFFERED,
            Verb::StartTls if self.is_secured => reply::TLS_TWICE,
            Verb::Data | Verb::Rset | Verb::Quit | Verb::StartTls if !arguments.is_empty() => {
                reply::NO_ARGUMENTS
            }
            Verb::Data => match self.state {
                State::Recipients => {
                    self.state = State::Content;
                    reply::GO_AHEAD
                }
                State::Mail => reply::RCPT_FIRST,
                State::Fresh => reply::HELLO_FIRST,
                State::Ready | State::Content => reply::MAIL_FIRST,
            },
            Verb::Rset => {
                self.forget_transaction();
                reply::OK
            }
            Verb::Quit => {
                exchange.out.fixed(reply::BYE);
                exchange.reply_done();
                return Ok(Step { consumed, next: Next::Close });
            }
            Verb::StartTls => {
                // Nothing that was said in clear text counts (RFC 3207 section 4.2).
                self.session = None;
                self.state = State::Fresh;
                self.is_secured = true;
                exchange.out.fixed(reply::START_TLS);
                exchange.reply_done();
                return Ok(Step { consumed, next: Next::Secure });
            }
            Verb::Noop => reply::OK,
            Verb::Vrfy if arguments.is_empty() => reply::SYNTAX,
            Verb::Vrfy => reply::WILL_TRY,
            Verb::Help => reply::HELP,
            Verb::NotOffered => reply::NOT_OFFERED,
        };
        self.answer(said, consumed, exchange)
    }

    /// Queues a reply, and counts it as an error if it is a permanent refusal.
    fn answer(
        &mut self,
        said: &'static [u8],
        consumed: usize,
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        exchange.out.fixed(said);
        exchange.reply_done();
        if said.starts_with(b"5") {
            self.errors += 1;
            if self.errors >= self.shared.options.errors_max {
                exchange.out.fixed(reply::TOO_MANY_ERRORS);
                return Err(ViolationKind::Malformed.into());
            }
        }
        Ok(Step::read(consumed))
    }

    fn hello(&mut self, client: &[u8], extended: bool) {
        self.session = Some(Box::new(Session::new(client, extended, self.is_secured)));
        self.state = State::Ready;
    }

    fn forget_transaction(&mut self) {
        if let Some(session) = &mut self.session {
            session.reset();
            self.state = State::Ready;
        }
    }

    fn mail(&mut self, arguments: &[u8]) -> &'static [u8] {
        let Some(session) = &mut self.session else { return reply::HELLO_FIRST };
        if self.state != State::Ready {
            return reply::MAIL_TWICE;
        }
        let mail = match command::mail(arguments, session.extended) {
            Ok(mail) => mail,
            Err(Fault::Syntax) => return reply::SYNTAX,
            Err(Fault::Path) => return reply::BAD_SENDER,
            Err(Fault::Parameter) => return reply::UNKNOWN_PARAMETER,
        };
        if mail.size.is_some_and(|size| size > self.shared.options.message_bytes_max) {
            return reply::TOO_LARGE;
        }
        let mailbox = mail.reverse_path.mailbox;
        if !mailbox.is_ascii() && !mail.utf8 {
            return reply::NEEDS_UTF8;
        }
        session.utf8 = mail.utf8;
        if self.shared.options.store {
            session.add_to_envelope("Return-Path", "<", mailbox, ">");
        }
        self.state = State::Mail;
        reply::SENDER_OK
    }

    fn rcpt(&mut self, arguments: &[u8], exchange: &mut Exchange) -> &'static [u8] {
        let Some(session) = &mut self.session else { return reply::HELLO_FIRST };
        if !matches!(self.state, State::Mail | State::Recipients) {
            return reply::MAIL_FIRST;
        }
        let path = match command::rcpt(arguments) {
            Ok(path) => path,
            Err(Fault::Syntax) => return reply::SYNTAX,
            Err(Fault::Path) => return reply::BAD_RECIPIENT,
            Err(Fault::Parameter) => return reply::UNKNOWN_PARAMETER,
        };
        if !path.mailbox.is_ascii() && !session.utf8 {
            return reply::NEEDS_UTF8;
        }
        if session.recipients >= self.shared.options.recipients_max {
            return reply::TOO_MANY_RECIPIENTS;
        }
        session.recipients += 1;
        if self.shared.options.store {
            session.add_to_envelope("Delivered-To", "", path.mailbox, "");
        }
        exchange.counts.recipients_accepted += 1;
        self.state = State::Recipients;
        reply::RECIPIENT_OK
    }

    /// Takes input in a message.
    fn content(&mut self, cx: &Context<'_>, input: &[u8], exchange: &mut Exchange) -> Step {
        let Some(session) = &mut self.session else { return Step { consumed: 0, next: Next::Close } };
        let input = &input[..input.len().min(PIECE_BYTES_MAX)];
        let store = self.shared.options.store && session.refusal.is_none();
        if store && !session.storing && !input.is_empty() {
            session.storing = true;
            session.write_envelope(cx, &self.shared, self.peer.as_deref(), &mut exchange.step.bytes);
        }
        let (consumed, ended) = session.content.take(input, store.then_some(&mut exchange.step.bytes));
        session.ended = ended;
        // The gravest fault so far, however the message was split.
        let fault = if session.content.stray {
            Some(Refusal::StrayLineEnd)
        } else if session.content.nul {
            Some(Refusal::Nul)
        } else {
            (session.content.size > self.shared.options.message_bytes_max).then_some(Refusal::TooLarge)
        };
        session.refusal = fault.or(session.refusal);
        let next = if session.refusal.is_some() {
            // The stored part is discarded at once.
            session.upload = None;
            exchange.step.bytes.clear();
            if ended { self.message_done(cx, exchange) } else { Next::Read }
        } else if store && consumed > 0 {
            exchange.store(session.upload.take(), ended)
        } else if ended {
            self.message_done(cx, exchange)
        } else {
            Next::Read
        };
        Step { consumed, next }
    }

    /// Replies to a message that has ended and, if it had to be, is stored.
    fn message_done(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let Some(session) = &mut self.session else { return Next::Close };
        match session.refusal {
            Some(refusal) => exchange.out.fixed(refusal.reply()),
            None => {
                exchange.out.fixed(reply::ACCEPTED);
                exchange.counts.messages += 1;
                exchange.counts.recipients += session.recipients;
            }
        }
        exchange.reply_done();
        self.forget_transaction();
        if cx.stopping {
            exchange.out.fixed(reply::STOPPING);
            return Next::Close;
        }
        Next::Read
    }
}
