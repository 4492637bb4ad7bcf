use std::sync::Arc;

use crate::{Outgoing, Preload};
use rustls::Error;

use super::session::Session;
use super::store::OwnCertificate;
use super::{fault, record};

/// An exchange before the run, over TLS.
pub(super) struct TlsPreload {
    preload: Box<dyn Preload>,
    session: Result<Session, Error>,
    certificate: Arc<OwnCertificate>,
    /// An incomplete record.
    tail: Vec<u8>,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Handshake,
    Open,
}

impl TlsPreload {
    pub(super) fn new(
        preload: Box<dyn Preload>,
        session: Result<Session, Error>,
        certificate: Arc<OwnCertificate>,
    ) -> TlsPreload {
        TlsPreload { preload, session, certificate, tail: Vec::new(), stage: Stage::New }
    }
}

impl Preload for TlsPreload {
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<bool, String> {
        let said = |e: &Error, certificate: &OwnCertificate| {
            let word = fault::word(e, certificate.is_missing());
            fault::explain(word).map_or_else(|| format!("TLS: {word}"), |e| e.what.to_owned())
        };
        let session = self.session.as_mut().map_err(|e| e.to_string())?;
        let (mut outgoing, mut plain) = (Outgoing::new(), Vec::new());
        self.tail.extend_from_slice(input);
        if self.stage == Stage::New {
            session.begin(&mut outgoing).map_err(|e| said(&e, &self.certificate))?;
            self.stage = Stage::Handshake;
        }
        let mut used = 0;
        loop {
            let rest = &self.tail[used..];
            let Some(record) = record::first(rest).map_err(|_| record::stranger(rest).to_owned())? else {
                break;
            };
            session
                .take(record, &mut outgoing, &mut |bytes| plain.extend_from_slice(bytes))
                .map_err(|e| said(&e, &self.certificate))?;
            used += record.len();
        }
        self.tail.drain(..used);
        let mut done = false;
        let is_open = self.stage == Stage::Open;
        if !session.is_handshaking() && (!is_open || !plain.is_empty()) {
            self.stage = Stage::Open;
            let mut written = Vec::new();
            done = self.preload.step(&plain, &mut written)?;
            session.send(&written, &mut outgoing).map_err(|e| said(&e, &self.certificate))?;
        }
        out.extend_from_slice(outgoing.payload().as_slice());
        Ok(done)
    }
}
