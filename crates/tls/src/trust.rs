//! Trusted certificates: those of the system's authorities, those of a file, or any.

use std::path::Path;
use std::sync::Arc;

use pitot_results::Failure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The authorities that this system trusts. `instead` is the alternative if there are none.
///
/// # Errors
/// The system has none.
pub fn of_the_system(instead: &str) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Failure::run(
            "cannot check certificates: this system has no certificates of authorities",
            format!("install ca-certificates, name a file with --tls-ca, or use {instead}"),
        ));
    }
    Ok(roots)
}

/// The certificates of a file in PEM.
///
/// # Errors
/// The file cannot be read, is not PEM, or contains no certificate.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Failure> {
    let failed = |e: &dyn std::fmt::Display| {
        let what = format!("cannot use the certificates in {}: {e}", path.display());
        Failure::misuse(what, "name a PEM file with certificates")
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| failed(&e))?;
    if certificates.is_empty() { Err(failed(&"there are none")) } else { Ok(certificates) }
}

/// The lists of revoked certificates of a file in PEM (RFC 5280 section 5).
///
/// # Errors
/// The file cannot be read, is not PEM, or contains no list.
pub fn revoked(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, Failure> {
    let lists = CertificateRevocationListDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| no_lists(Some(path), &e))?;
    if lists.is_empty() { Err(no_lists(Some(path), &"there are none")) } else { Ok(lists) }
}

/// The lists of revoked certificates in a file are of no use.
pub fn no_lists(path: Option<&Path>, why: &dyn std::fmt::Display) -> Failure {
    Failure::misuse(
        format!(
            "cannot use the lists of revoked certificates in {}: {why}",
            path.unwrap_or(Path::new("-")).display()
        ),
        "name a PEM file with lists (X509 CRL); openssl crl -inform DER converts the binary form",
    )
}

/// The authorities whose certificates are in a file in PEM.
///
/// # Errors
/// As for [`certificates`], or one of them is malformed.
pub fn of_file(path: &Path) -> Result<RootCertStore, Failure> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|e| {
            let what = format!("cannot use the certificates in {}: {e}", path.display());
            Failure::misuse(what, "name a PEM file with the certificates of authorities")
        })?;
    }
    Ok(roots)
}

/// Accepts any certificate. Signatures are still checked, so that only the holder of the certificate's key can read
/// the connection.
#[derive(Debug)]
pub struct AnyCertificate(pub Arc<CryptoProvider>);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_certificates_is_refused_with_a_fix() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        for content in ["", "no certificate\n"] {
            std::fs::write(&file, content).unwrap();
            let failure = of_file(&file).unwrap_err();
            assert!(failure.what.contains("ca.pem") && !failure.fix.is_empty(), "{failure}");
        }
        assert!(of_file(&dir.path().join("missing.pem")).is_err());
        let key = rcgen::generate_simple_self_signed(["h".to_owned()]).unwrap();
        std::fs::write(&file, key.cert.pem()).unwrap();
        assert_eq!(of_file(&file).unwrap().len(), 1);
    }
}
