use std::sync::Arc;

use crate::page::PageConn;
use crate::{
    Alpn, ClientConn, Draw, Fault, OfConnection, Opening, Outgoing, Progress, Received, Reply, SessionConn,
    StartTls, Tag,
};
use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;

use super::session::Session;
use super::store::OwnCertificate;
use super::{fault, record};

/// A connection with TLS under its protocol.
pub(super) struct TlsConn {
    protocol: Box<dyn ClientConn>,
    config: Arc<ClientConfig>,
    certificate: Arc<OwnCertificate>,
    name: ServerName<'static>,
    alpn: Option<Alpn>,
    start: Option<StartTls>,
    stage: Stage,
    session: Option<Box<Session>>,
    /// Output of the protocol, not yet encrypted.
    written: Outgoing,
    /// Decrypted bytes that the protocol has not consumed.
    rest: Vec<u8>,
    /// The first bytes of the oldest reply have been reported.
    began: bool,
    /// To be reported next.
    next: Option<Progress>,
    /// The server has sent data of the protocol.
    heard: bool,
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// TLS was requested, and the server has not answered.
    Asking,
    /// The handshake.
    Handshake,
    /// The handshake is complete, and the protocol is not opened.
    Secured,
    /// The protocol is greeting.
    Greeting,
    /// Requests are sent.
    Open,
}

impl TlsConn {
    pub(super) fn new(
        protocol: Box<dyn ClientConn>,
        config: Arc<ClientConfig>,
        certificate: Arc<OwnCertificate>,
        name: ServerName<'static>,
        alpn: Option<Alpn>,
        start: Option<StartTls>,
    ) -> TlsConn {
        TlsConn {
            protocol,
            config,
            certificate,
            name,
            alpn,
            start,
            stage: Stage::Handshake,
            session: None,
            written: Outgoing::new(),
            rest: Vec::new(),
            began: false,
            next: None,
            heard: false,
        }
    }

    /// The name of an error and its phase: a server that refuses the client's certificate in TLS 1.3 reports it after the client's
    /// end of the handshake.
    fn fault(&self, error: &rustls::Error) -> Fault {
        let word = fault::word(error, self.certificate.is_missing());
        if self.heard { Fault::Named(word) } else { Fault::Handshake(word) }
    }

    /// Begins the handshake.
    fn begin(&mut self, out: &mut Outgoing) {
        self.stage = Stage::Handshake;
        let begun =
            UnbufferedClientConnection::new(Arc::clone(&self.config), self.name.clone()).and_then(|tls| {
                let mut session = Box::new(Session::new(tls));
                session.begin(out).map(|()| session)
            });
        // It fails only without a source of random numbers. Then there is no handshake, and it times out.
        self.session = begun.ok();
    }

    /// Takes the answer to a request for TLS. Nothing may follow it, since anybody could have inserted it (CVE-2021-23222).
    fn asked(&mut self, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let (Some(start), Some(&answer)) = (self.start, input.first()) else {
            return Ok(Received { consumed: 0, progress: Progress::More });
        };
        match answer {
            answer if answer == start.yes && input.len() == 1 => {
                self.begin(out);
                Ok(Received { consumed: 1, progress: Progress::More })
            }
            answer if answer == start.no => Err(Fault::Handshake("no-tls")),
            _ => Err(Fault::Handshake("not-tls")),
        }
    }

    /// Encrypts the output of the protocol.
    fn send(&mut self, out: &mut Outgoing) -> Result<(), Fault> {
        if self.written.is_empty() {
            return Ok(());
        }
        let sent = match &mut self.session {
            Some(session) => session.send(self.written.payload().as_slice(), out),
            None => Ok(()),
        };
        self.written.clear();
        sent.map_err(|e| self.fault(&e))
    }

    /// Opens the protocol after the handshake.
    fn greet(&mut self, out: &mut Outgoing) -> Result<Progress, Fault> {
        let opening = self.protocol.open(&mut self.written);
        self.send(out)?;
        Ok(match opening {
            Opening::Ready => {
                self.stage = Stage::Open;
                Progress::Ready
            }
            Opening::Greeting => {
                self.stage = Stage::Greeting;
                Progress::More
            }
        })
    }

    /// Takes one record of the server.
    fn take(&mut self, tag: Option<Tag>, record: &[u8], out: &mut Outgoing) -> Result<Progress, Fault> {
        let TlsConn { session: Some(session), protocol, rest, written, .. } = &mut *self else {
            return Err(Fault::Unasked);
        };
        let mut shown: Option<Result<Progress, Fault>> = None;
        let mut heard = false;
        let taken = session.take(record, out, &mut |plain: &[u8]| {
            heard = true;
            // A reply in several records is passed on in one piece.
            if !rest.is_empty() || shown.is_some() {
                rest.extend_from_slice(plain);
                return;
            }
            shown = Some(protocol.receive(tag, plain, written).map(|received| {
                rest.extend_from_slice(&plain[received.consumed..]);
                received.progress
            }));
        });
        self.heard |= heard;
        taken.map_err(|e| self.fault(&e))?;
        if self.stage == Stage::Handshake {
            return self.shaken();
        }
        let progress = match shown {
            Some(progress) => {
                let progress = progress?;
                self.send(out)?;
                self.reported(tag, progress)
            }
            None if heard => self.show_rest(tag, out)?,
            None => Progress::More,
        };
        if progress == Progress::More { Ok(self.ended(tag)) } else { Ok(progress) }
    }

    /// Takes the end of the handshake, if the record was its last.
    fn shaken(&mut self) -> Result<Progress, Fault> {
        let Some(session) = self.session.as_ref().filter(|session| !session.is_handshaking()) else {
            return Ok(Progress::More);
        };
        match self.alpn {
            Some(alpn) if alpn.required && !session.chose(alpn.name) => {
                return Err(Fault::Handshake(if alpn.name == "h2" { "no-http2" } else { "no-protocol" }));
            }
            Some(_) | None => {}
        }
        let handshake = session.handshake(self.alpn.map(|alpn| alpn.name));
        self.stage = Stage::Secured;
        Ok(Progress::Secured(handshake))
    }

    /// Passes the unconsumed bytes to the protocol.
    fn show_rest(&mut self, tag: Option<Tag>, out: &mut Outgoing) -> Result<Progress, Fault> {
        let received = self.protocol.receive(tag, &self.rest, &mut self.written)?;
        self.rest.drain(..received.consumed);
        if self.rest.is_empty() {
            // A waiting connection has no buffer.
            self.rest = Vec::new();
        }
        self.send(out)?;
        Ok(self.reported(tag, received.progress))
    }

    /// The progress to report. A protocol without layers does not report the beginning of a reply.
    fn reported(&mut self, tag: Option<Tag>, progress: Progress) -> Progress {
        if progress == Progress::Ready {
            self.stage = Stage::Open;
        }
        if tag.is_none() || self.protocol.has_layers() {
            return progress;
        }
        let is_reply = matches!(progress, Progress::Reply(_) | Progress::ReplyTo(..));
        if self.began {
            self.began = !is_reply;
            return progress;
        }
        self.began = !is_reply;
        self.next = is_reply.then_some(progress);
        Progress::Began(0)
    }

    /// The end of a reply that ends with the connection, if the server has closed it.
    fn ended(&mut self, tag: Option<Tag>) -> Progress {
        if !self.session.as_ref().is_some_and(|session| session.is_closed()) {
            return Progress::More;
        }
        match self.protocol.end_of_input(tag) {
            Some(reply) => Progress::Reply(Reply { persists: false, ..reply }),
            None => Progress::More,
        }
    }
}

impl ClientConn for TlsConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.written.clear();
        self.rest = Vec::new();
        self.began = false;
        self.next = None;
        self.heard = false;
        self.certificate.reset();
        self.session = None;
        match self.start {
            Some(start) => {
                self.stage = Stage::Asking;
                out.fixed(start.request);
            }
            None => self.begin(out),
        }
        Opening::Greeting
    }

    fn request(&mut self, draw: Draw, _: &mut Outgoing) -> Tag {
        self.protocol.request(draw, &mut self.written)
    }

    fn repeat(&mut self, tag: Tag, _: &mut Outgoing) {
        self.protocol.repeat(tag, &mut self.written);
    }

    fn cancel(&mut self, nth: u16, silence_max: u64, out: &mut Outgoing) -> bool {
        self.stage == Stage::Open
            && self.protocol.cancel(nth, silence_max, &mut self.written)
            && self.send(out).is_ok()
    }

    fn flush(&mut self, out: &mut Outgoing) {
        // It fails if the keys are exhausted. The server knows and ends the connection.
        let _ = self.send(out);
    }

    fn clock(&mut self, now: u64) {
        self.protocol.clock(now);
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        if let Some(progress) = self.next.take() {
            return Ok(Received { consumed: 0, progress });
        }
        if self.stage == Stage::Asking {
            return self.asked(input, out);
        }
        let mut progress = Progress::More;
        if self.stage == Stage::Secured {
            progress = self.greet(out)?;
        } else if self.stage != Stage::Handshake && (!self.rest.is_empty() || self.protocol.has_layers()) {
            progress = self.show_rest(tag, out)?;
        }
        let mut consumed = 0;
        while progress == Progress::More {
            let record = record::first(&input[consumed..]).map_err(|fault| match self.stage {
                Stage::Handshake => Fault::Handshake(record::stranger(&input[consumed..])),
                _ => fault,
            })?;
            let Some(record) = record else { break };
            progress = self.take(tag, record, out)?;
            consumed += record.len();
        }
        Ok(Received { consumed, progress })
    }

    fn has_layers(&self) -> bool {
        true
    }

    fn is_shaking_hands(&self) -> bool {
        matches!(self.stage, Stage::Asking | Stage::Handshake)
    }

    /// Without a `close_notify` alert, anybody may have cut the connection.
    fn end_of_input(&mut self, _: Option<Tag>) -> Option<Reply> {
        None
    }

    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        self.protocol.pages()
    }

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        self.protocol.session()
    }

    fn take_acknowledged(&mut self) -> Option<OfConnection> {
        self.protocol.take_acknowledged()
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.protocol.counts()
    }
}
