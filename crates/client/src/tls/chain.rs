//! Verification of a server's certificates.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use webpki::EndEntityCert;

/// How long a verified chain is not verified again, in seconds.
const REMEMBERED_S: u64 = 60;

/// The library's verifier, with three differences. A certificate given by `--tls-ca` may be the server's own, as with curl, even
/// if it is marked as an authority's, as those of `openssl req -x509` are. Errors distinguish a self-signed certificate from an
/// unknown issuer. And a verified chain is not verified again by each of ten thousand connections to the same name.
#[derive(Debug)]
pub(super) struct Chain {
    verifier: Arc<WebPkiServerVerifier>,
    /// The certificates that the user trusts.
    named: Vec<CertificateDer<'static>>,
    remembered: Mutex<Option<Remembered>>,
}

/// The last verified chain.
#[derive(Debug)]
struct Remembered {
    certificates: Vec<CertificateDer<'static>>,
    name: ServerName<'static>,
    until: UnixTime,
}

/// An error for which the library has no variant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Named(pub(super) &'static str);

fn named(word: &'static str) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(Named(word)))))
}

impl Chain {
    pub(super) fn new(verifier: Arc<WebPkiServerVerifier>, named: Vec<CertificateDer<'static>>) -> Chain {
        Chain { verifier, named, remembered: Mutex::new(None) }
    }

    /// Decides on a certificate that the library rejects.
    fn second_look(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        error: Error,
    ) -> Result<ServerCertVerified, Error> {
        let Error::InvalidCertificate(kind) = &error else { return Err(error) };
        let is_self_issued = EndEntityCert::try_from(certificate).is_ok_and(|c| c.issuer() == c.subject());
        match kind {
            CertificateError::UnknownIssuer if is_self_issued => Err(named("self-signed")),
            // The library checks its dates first.
            CertificateError::Other(other) if is_authority(other) => {
                if self.named.iter().any(|trusted| trusted == certificate) {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                    Ok(ServerCertVerified::assertion())
                } else if is_self_issued {
                    Err(named("self-signed"))
                } else {
                    Err(error)
                }
            }
            _ => Err(error),
        }
    }
}

/// The server presented the certificate of an authority as its own.
fn is_authority(error: &OtherError) -> bool {
    matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

impl ServerCertVerifier for Chain {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = remembered.as_ref().is_some_and(|known| {
            now < known.until
                && known.name == *name
                && known.certificates.iter().eq(std::iter::once(certificate).chain(intermediates))
        });
        if is_known {
            return Ok(ServerCertVerified::assertion());
        }
        let verified = self
            .verifier
            .verify_server_cert(certificate, intermediates, name, ocsp, now)
            .or_else(|error| self.second_look(certificate, name, error))?;
        let certificates = std::iter::once(certificate).chain(intermediates);
        *remembered = Some(Remembered {
            certificates: certificates.map(|c| c.clone().into_owned()).collect(),
            name: name.to_owned(),
            until: UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.as_secs() + REMEMBERED_S)),
        });
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
