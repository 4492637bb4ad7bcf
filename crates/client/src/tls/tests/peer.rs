//! A server of the library, and a caller of the layer that does what the load generator does.

use std::io::{Read, Write};
use std::sync::Arc;

use crate::{ClientConn, Fault, Opening, Outgoing, Progress, Tag};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, SupportedProtocolVersion};

use super::DRAW;

/// What a server is set up with.
pub(super) struct PeerSettings {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
    pub(super) versions: Vec<&'static SupportedProtocolVersion>,
    pub(super) alpn: Vec<&'static str>,
    pub(super) wants_certificate: bool,
    pub(super) authority: CertificateDer<'static>,
    /// Sessions that were begun, for all servers of these settings.
    pub(super) sessions: Arc<dyn rustls::server::StoresServerSessions>,
}

impl PeerSettings {
    /// A file with the server's certificate.
    pub(super) fn chain_file(&self) -> tempfile::NamedTempFile {
        super::certificates::file_of(&self.chain[0])
    }
}

pub(super) struct Peer {
    tls: ServerConnection,
    asked: Vec<u8>,
}

impl Peer {
    pub(super) fn new(settings: &PeerSettings) -> Peer {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&settings.versions)
            .unwrap();
        let builder = if settings.wants_certificate {
            let mut roots = RootCertStore::empty();
            roots.add(settings.authority.clone()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(settings.chain.clone(), settings.key.clone_key()).unwrap();
        config.alpn_protocols = settings.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.session_storage = Arc::clone(&settings.sessions);
        Peer { tls: ServerConnection::new(Arc::new(config)).unwrap(), asked: Vec::new() }
    }

    /// Takes what the client has sent.
    pub(super) fn take(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            self.tls.read_tls(&mut input).unwrap();
            if self.tls.process_new_packets().is_err() {
                return;
            }
            let mut plain = [0; 4096];
            while let Ok(n @ 1..) = self.tls.reader().read(&mut plain) {
                self.asked.extend_from_slice(&plain[..n]);
            }
        }
    }

    /// What the client has asked for since the last time.
    pub(super) fn asked(&mut self) -> String {
        String::from_utf8(std::mem::take(&mut self.asked)).unwrap()
    }

    /// Sends these, each in records of its own; all that goes over the wire.
    pub(super) fn say(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        self.flush(&mut out);
        self.tls.set_buffer_limit(None);
        for part in parts {
            self.tls.writer().write_all(part).unwrap();
            self.flush(&mut out);
        }
        out
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        while self.tls.wants_write() {
            self.tls.write_tls(out).unwrap();
        }
    }

    pub(super) fn close(&mut self) {
        self.tls.send_close_notify();
    }

    pub(super) fn change_keys(&mut self) {
        self.tls.refresh_traffic_keys().unwrap();
    }
}

/// What the load generator does with a connection.
pub(super) struct Client {
    pub(super) conn: Box<dyn ClientConn>,
    pub(super) tail: Vec<u8>,
    out: Outgoing,
    asked: u32,
}

impl Client {
    pub(super) fn new(conn: Box<dyn ClientConn>) -> Client {
        Client { conn, tail: Vec::new(), out: Outgoing::new(), asked: 0 }
    }

    pub(super) fn open_only(&mut self) {
        self.tail.clear();
        self.asked = 0;
        self.out.clear();
        assert_eq!(self.conn.open(&mut self.out), Opening::Greeting);
        assert!(self.conn.has_layers());
    }

    /// A whole handshake.
    pub(super) fn open(&mut self, peer: &mut Peer, piece: usize) -> Result<Vec<Progress>, Fault> {
        self.open_only();
        self.exchange(peer, piece, &[])
    }

    pub(super) fn request(&mut self) {
        self.conn.request(DRAW, &mut self.out);
        self.conn.flush(&mut self.out);
        self.asked += 1;
    }

    pub(super) fn take_out(&mut self) -> Vec<u8> {
        let out = self.out.payload().as_slice().to_vec();
        self.out.clear();
        out
    }

    /// Sends and receives until neither end has more to say. The server sends `parts` with the first.
    pub(super) fn exchange(
        &mut self,
        peer: &mut Peer,
        piece: usize,
        parts: &[&[u8]],
    ) -> Result<Vec<Progress>, Fault> {
        let mut seen = Vec::new();
        let mut parts = parts;
        loop {
            peer.take(&self.take_out());
            let said = peer.say(std::mem::take(&mut parts));
            if said.is_empty() && self.out.is_empty() {
                return Ok(seen);
            }
            seen.extend(self.feed(&said, piece)?);
        }
    }

    /// The server of a new connection has sent these bytes.
    pub(super) fn answered(&mut self, bytes: &[u8]) -> Result<Vec<Progress>, Fault> {
        self.open_only();
        self.feed(bytes, usize::MAX)
    }

    /// Bytes have come, in pieces of at most that size. What is unconsumed is shown again with more behind it.
    pub(super) fn feed(&mut self, bytes: &[u8], piece: usize) -> Result<Vec<Progress>, Fault> {
        let mut seen = Vec::new();
        for piece in bytes.chunks(piece) {
            self.tail.extend_from_slice(piece);
            let mut used = 0;
            loop {
                let tag = (self.asked > 0).then_some(Tag(0));
                let received = self.conn.receive(tag, &self.tail[used..], &mut self.out)?;
                used += received.consumed;
                match received.progress {
                    Progress::More => break,
                    Progress::Reply(_) => self.asked -= 1,
                    _ => {}
                }
                seen.push(received.progress);
            }
            self.tail.drain(..used);
        }
        Ok(seen)
    }
}
