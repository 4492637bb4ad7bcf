//! A client, and what it makes of a connection in memory.

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, OnceLock};

use pitot_proto::http::Http;
use pitot_proto::{Layers, ProtocolOptions};
use pitot_proto_harness::{Files, Held, Pump};
use pitot_tls::server::{Identity, KernelCipher, SECRET_BYTES, Secret, TlsServer};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};

pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

fn identity() -> &'static Identity {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    IDENTITY.get_or_init(|| Identity::self_signed([127, 0, 0, 1].into()).unwrap())
}

/// A process of a server with this secret.
pub(crate) fn layers_with(secret: u8) -> Arc<dyn Layers> {
    let secret = Secret::from_bytes([secret; SECRET_BYTES]);
    Arc::new(TlsServer::new(identity(), &secret, &[b"http/1.1"]).unwrap())
}

/// A server whose kernel is to carry on.
pub(crate) fn layers_with_kernel(ciphers: &[KernelCipher]) -> Arc<dyn Layers> {
    let secret = Secret::from_bytes([1; SECRET_BYTES]);
    Arc::new(TlsServer::with_kernel(identity(), &secret, &[b"http/1.1"], ciphers).unwrap())
}

pub(crate) fn layers() -> Arc<dyn Layers> {
    static LAYERS: OnceLock<Arc<dyn Layers>> = OnceLock::new();
    Arc::clone(LAYERS.get_or_init(|| layers_with(1)))
}

pub(crate) fn config(version: &'static SupportedProtocolVersion) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&identity().certificates).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config
}

pub(crate) fn site() -> (Http, Files) {
    let mut files = Files::new();
    files.add("small.txt", b"small", Held::InMemory);
    files.add("disk.bin", &(0..150_000_u32).map(|i| (i % 251) as u8).collect::<Vec<_>>(), Held::OnDisk);
    let options = ProtocolOptions { root: true, writable: true, ..ProtocolOptions::default() };
    (Http::new(&options).unwrap(), files)
}

pub(crate) struct Client {
    pub(crate) tls: ClientConnection,
    pub(crate) got: Vec<u8>,
    /// The server has said that nothing follows.
    pub(crate) closed: bool,
    pub(crate) error: Option<rustls::Error>,
    pub(crate) taken: usize,
}

impl Client {
    pub(crate) fn new(config: &Arc<ClientConfig>) -> Client {
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::clone(config), name).unwrap();
        Client { tls, got: Vec::new(), closed: false, error: None, taken: 0 }
    }

    pub(crate) fn of(version: &'static SupportedProtocolVersion) -> Client {
        Client::new(&Arc::new(config(version)))
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
    }

    /// What it has for the server now.
    pub(crate) fn records(&mut self) -> Vec<u8> {
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).unwrap();
        }
        records
    }

    /// Takes what the server has sent since.
    pub(crate) fn take(&mut self, pump: &Pump<'_>) {
        let mut new = &pump.sent[self.taken..];
        self.taken = pump.sent.len();
        while !new.is_empty() && self.error.is_none() {
            self.tls.read_tls(&mut new).unwrap();
            match self.tls.process_new_packets() {
                Ok(state) => self.closed |= state.peer_has_closed(),
                Err(e) => self.error = Some(e),
            }
            let mut read = vec![0; 1 << 16];
            loop {
                match self.tls.reader().read(&mut read) {
                    Ok(0) => break,
                    Ok(n) => self.got.extend_from_slice(&read[..n]),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) => panic!("{e}"),
                }
            }
        }
    }

    /// Lets both talk, this many bytes at a time, until neither has anything to say.
    pub(crate) fn talk(&mut self, pump: &mut Pump<'_>, at_a_time: usize) {
        loop {
            let records = self.records();
            records.chunks(at_a_time).for_each(|piece| {
                pump.feed(piece);
            });
            self.take(pump);
            if !self.tls.wants_write() || pump.end.is_some() {
                break;
            }
        }
    }
}

/// A connection to an HTTP server whose handshake is complete.
pub(crate) fn connected<'a>(http: &Http, files: &'a Files, client: &mut Client) -> Pump<'a> {
    let mut pump = Pump::with_layers(http, files, layers(), false);
    pump.kept_max = usize::MAX;
    client.talk(&mut pump, usize::MAX);
    assert_eq!(pump.worker.tally.handshakes, 1);
    pump
}
