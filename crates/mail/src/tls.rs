//! TLS over a socket that does not block (RFC 3207): rustls turns bytes into bytes, and the session moves them.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use pitot_results::Failure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::message::TlsPolicy;

/// What all TLS connections share.
pub(crate) type Config = Arc<ClientConfig>;

/// The settings of a policy; `authorities` is a file of certificates in PEM that takes the place of the system's.
///
/// # Errors
/// Certificates must be checked, and the file or the system has none of authorities.
pub(crate) fn config(policy: TlsPolicy, authorities: Option<&Path>) -> Result<Config, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| Failure::run(format!("TLS cannot be set up: {e}"), "use --tls off"))?;
    let config = if policy == TlsPolicy::Require {
        let roots = authorities.map_or_else(of_the_system, of_file)?;
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth()
    };
    Ok(Arc::new(config))
}

fn of_the_system() -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Failure::run(
            "certificates cannot be checked: this system has none of authorities",
            "install ca-certificates, name a file with --tls-ca, or use --tls auto",
        ));
    }
    Ok(roots)
}

fn of_file(path: &Path) -> Result<RootCertStore, Failure> {
    let failed = |e: &dyn std::fmt::Display| {
        let what = format!("the certificates in {} cannot be used: {e}", path.display());
        Failure::misuse(what, "name a PEM file with the certificates of authorities")
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| failed(&e))? {
        roots.add(certificate.map_err(|e| failed(&e))?).map_err(|e| failed(&e))?;
    }
    if roots.is_empty() { Err(failed(&"there are none")) } else { Ok(roots) }
}

/// Takes any certificate: opportunistic encryption asks for none (RFC 7435). Signatures are checked all the same, so
/// that only the holder of the certificate's key can read the connection.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
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

    /// Takes bytes off the wire and appends what they hold to `plain`.
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
