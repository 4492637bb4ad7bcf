use std::sync::Arc;

use crate::{Alpn, ClientConn, ClientProtocol, Preload, SessionInfo};
use pitot_results::Failure;
use rustls::ClientConfig;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;

use super::config;
use super::conn::TlsConn;
use super::options::TlsOptions;
use super::preload::TlsPreload;
use super::session::Session;
use super::store::{LastSession, OwnCertificate};

/// A protocol over TLS.
pub struct TlsProtocol {
    protocol: Box<dyn ClientProtocol>,
    config: ClientConfig,
    name: ServerName<'static>,
    alpn: Option<Alpn>,
    resume: bool,
}

impl TlsProtocol {
    /// Puts TLS under a protocol. `host` is the name sent to the server (SNI, RFC 6066 section 3), which its certificate must match.
    ///
    /// # Errors
    /// Options that contradict each other, an unusable file, or an invalid host name.
    pub fn new(
        protocol: Box<dyn ClientProtocol>,
        options: &TlsOptions,
        host: &str,
    ) -> Result<TlsProtocol, Failure> {
        let mut config = config::config(options)?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            Failure::misuse(
                format!("`{host}` is not a valid name for a certificate"),
                "use a name of letters, digits and hyphens, or an address",
            )
        })?;
        let alpn = protocol.alpn();
        config.alpn_protocols = alpn.iter().map(|alpn| alpn.name.into()).collect();
        Ok(TlsProtocol { protocol, config, name, alpn, resume: options.resume.unwrap_or(true) })
    }

    /// The configuration of one connection, with its own session and certificate.
    fn own_config(&self) -> (Arc<ClientConfig>, Arc<OwnCertificate>) {
        let mut config = self.config.clone();
        if self.resume {
            config.resumption = Resumption::store(Arc::new(LastSession::default()));
        }
        let certificate = Arc::new(OwnCertificate::new(Arc::clone(&config.client_auth_cert_resolver)));
        config.client_auth_cert_resolver = Arc::clone(&certificate) as _;
        (Arc::new(config), certificate)
    }
}

impl ClientProtocol for TlsProtocol {
    fn connect(&self) -> Box<dyn ClientConn> {
        let (config, certificate) = self.own_config();
        Box::new(TlsConn::new(
            self.protocol.connect(),
            config,
            certificate,
            self.name.clone(),
            self.alpn,
            self.protocol.start_tls(),
        ))
    }

    /// What is encrypted is built as it is sent.
    fn sessions(&self) -> Option<SessionInfo> {
        self.protocol.sessions()
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        let preload = self.protocol.preload()?;
        let (config, certificate) = self.own_config();
        let session = UnbufferedClientConnection::new(config, self.name.clone()).map(Session::new);
        Some(Box::new(TlsPreload::new(preload, session, certificate)))
    }

    fn redirects_to(&self) -> Option<String> {
        self.protocol.redirects_to()
    }

    fn server_said(&self) -> Option<String> {
        self.protocol.server_said()
    }

    fn alpn(&self) -> Option<Alpn> {
        self.alpn
    }
}
