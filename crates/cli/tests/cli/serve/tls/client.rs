//! A client of rustls, and the certificate that it trusts.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, SanType};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use tempfile::TempDir;

use crate::serve::client::connect;
use crate::serve::pairs::Pair;
use crate::serve::server::Server;

pub(super) const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

/// A certificate for localhost and 127.0.0.1, signed by itself, in files.
pub(super) struct Certificate(TempDir);

impl Certificate {
    pub(super) fn new() -> Certificate {
        let directory = tempfile::tempdir().expect("a directory");
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        params.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        let certificate = params.self_signed(&key).expect("a certificate");
        fs::write(directory.path().join("cert.pem"), certificate.pem()).expect("a file");
        fs::write(directory.path().join("key.pem"), key.serialize_pem()).expect("a file");
        Certificate(directory)
    }

    pub(super) fn file(&self) -> String {
        self.0.path().join("cert.pem").to_str().expect("UTF-8").to_owned()
    }

    pub(super) fn key(&self) -> String {
        self.0.path().join("key.pem").to_str().expect("UTF-8").to_owned()
    }

    /// Starts a server with it.
    pub(super) fn serve(&self, pair: &Pair, protocol: &str, args: &[&str]) -> Server {
        let tls = ["--tls", &self.file(), "--key", &self.key()];
        Server::start(pair, protocol, &[&tls, args].concat())
    }

    /// What clients share that trust it.
    pub(super) fn config(&self, version: &'static SupportedProtocolVersion) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.file()).expect("a certificate")).expect("an authority");
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[version])
            .expect("a version");
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

/// A connection.
pub(super) struct Tls(pub(super) StreamOwned<ClientConnection, TcpStream>);

impl Tls {
    pub(super) fn connect(config: &Arc<ClientConfig>, addr: SocketAddr) -> Tls {
        Tls::on(config, connect(addr))
    }

    pub(super) fn on(config: &Arc<ClientConfig>, stream: TcpStream) -> Tls {
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::clone(config), name).expect("a client");
        Tls(StreamOwned::new(connection, stream))
    }

    pub(super) fn say(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).expect("the server reads");
    }

    /// All that comes, and whether the server says that nothing follows.
    pub(super) fn read_to_end(&mut self) -> (Vec<u8>, bool) {
        let mut got = Vec::new();
        match self.0.read_to_end(&mut got) {
            Ok(_) => (got, true),
            Err(e) if matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset) => {
                (got, false)
            }
            Err(e) => panic!("{e}"),
        }
    }

    /// Gets what has a body of this length.
    pub(super) fn get(&mut self, path: &str, len: usize) -> Vec<u8> {
        self.say(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"));
        let (mut got, mut piece) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let n = self.0.read(&mut piece).expect("a reply");
            assert!(n > 0, "the end after {} bytes", got.len());
            got.extend_from_slice(&piece[..n]);
            let head = got.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            if let Some(head) = head.filter(|head| got.len() >= head + 4 + len) {
                assert!(got.starts_with(b"HTTP/1.1 200 "), "{}", got[..head].escape_ascii());
                return got.split_off(head + 4);
            }
        }
    }
}
