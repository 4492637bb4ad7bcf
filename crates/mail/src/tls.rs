//! TLS over a socket that does not block (RFC 3207): rustls turns bytes into bytes, and the session moves them.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use pitot_results::Failure;
use pitot_tls::trust::{self, AnyCertificate};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use crate::message::TlsPolicy;

/// What all TLS connections share.
pub(crate) type Config = Arc<ClientConfig>;

/// The configuration of a policy; `authorities` is a PEM file that replaces the system's.
///
/// # Errors
/// Certificates must be checked, but neither the file nor the system has authorities.
pub(crate) fn config(policy: TlsPolicy, authorities: Option<&Path>) -> Result<Config, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| Failure::run(format!("TLS cannot be set up: {e}"), "use --tls off"))?;
    let config = if policy == TlsPolicy::Require {
        let roots = match authorities {
            Some(file) => trust::of_file(file)?,
            None => trust::of_the_system("--tls auto")?,
        };
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        // Opportunistic encryption needs no certificate (RFC 7435).
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    Ok(Arc::new(config))
}

/// TLS on one connection.
#[derive(Debug)]
pub(crate) struct Tls(ClientConnection);

impl Tls {
    /// Begins a handshake with the host of that name; [`Tls::flush`] has the first bytes to send.
    pub(crate) fn new(config: &Config, name: &str, ip: std::net::IpAddr) -> Result<Tls, String> {
        let name = ServerName::try_from(name.to_owned()).unwrap_or(ServerName::IpAddress(ip.into()));
        ClientConnection::new(Arc::clone(config), name).map(Tls).map_err(|e| e.to_string())
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Decrypts received bytes and appends the plain text to `plain`.
    pub(crate) fn receive(&mut self, mut input: &[u8], plain: &mut Vec<u8>) -> Result<(), String> {
        while !input.is_empty() {
            self.0.read_tls(&mut input).map_err(|e| e.to_string())?;
            let state = self.0.process_new_packets().map_err(|e| e.to_string())?;
            let (start, more) = (plain.len(), state.plaintext_bytes_to_read());
            plain.resize(start + more, 0);
            self.0.reader().read_exact(&mut plain[start..]).map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Appends `plain` as it goes over the wire, and whatever else there is to send, to `out`.
    pub(crate) fn send(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        self.0.set_buffer_limit(None);
        self.0.writer().write_all(plain)?;
        self.flush(out)
    }

    /// Appends what there is to send to `out`.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(out)?;
        }
        Ok(())
    }
}
