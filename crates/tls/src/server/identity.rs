//! A certificate with its key.

use std::fmt;
use std::net::IpAddr;

use pitot_results::Failure;
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;

/// A certificate, with those of its issuers, and its key, each in PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate first, then its issuers' but for the root.
    pub certificates: Vec<u8>,
    /// The key in PKCS #8, PKCS #1 or SEC 1.
    pub key: Vec<u8>,
}

/// Why a certificate with its key cannot be used.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// No certificate is in what should have one.
    #[error("no certificate in PEM")]
    NoCertificate,
    /// No private key is in what should have one.
    #[error("no unencrypted private key in PEM")]
    NoKey,
    /// They do not belong together.
    #[error("the certificate does not match the key")]
    Mismatch,
    /// The library refuses them.
    #[error("{0}")]
    Unusable(rustls::Error),
    /// A certificate cannot be made.
    #[error("cannot create a certificate: {0}")]
    NotMade(rcgen::Error),
}

impl IdentityError {
    pub(super) fn of_pair(e: rustls::Error) -> IdentityError {
        match e {
            rustls::Error::InconsistentKeys(_) => IdentityError::Mismatch,
            other => IdentityError::Unusable(other),
        }
    }
}

impl From<IdentityError> for Failure {
    fn from(e: IdentityError) -> Failure {
        Failure::misuse(
            format!("the certificate and key of --tls cannot be used: {e}"),
            "set --tls to a certificate and --key to its private key, both in PEM, or use --tls self-signed",
        )
    }
}

impl Identity {
    /// A self-signed certificate, ECDSA P-256, for `localhost`, its addresses and this one.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn self_signed(address: IpAddr) -> Result<Identity, IdentityError> {
        let key = KeyPair::generate().map_err(IdentityError::NotMade)?;
        let mut params = CertificateParams::new(["localhost".to_owned()]).map_err(IdentityError::NotMade)?;
        let mut addresses = vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([0_u16, 0, 0, 0, 0, 0, 0, 1])];
        if !addresses.contains(&address) && !address.is_unspecified() {
            addresses.push(address);
        }
        params.subject_alt_names.extend(addresses.into_iter().map(SanType::IpAddress));
        params.distinguished_name.push(DnType::CommonName, "pitot --tls self-signed");
        let certificate = params.self_signed(&key).map_err(IdentityError::NotMade)?;
        Ok(Identity { certificates: certificate.pem().into_bytes(), key: key.serialize_pem().into_bytes() })
    }

    pub(super) fn read(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), IdentityError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificates).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(IdentityError::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| IdentityError::NoKey)?;
        Ok((chain, key))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}
