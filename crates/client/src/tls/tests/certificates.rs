//! Certificates, right ones and wrong ones.

use std::io::Write;
use std::path::Path;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerSessionMemoryCache;
use rustls::version::{TLS12, TLS13};
use tempfile::NamedTempFile;

use super::peer::PeerSettings;

/// An authority that the client trusts.
pub(super) struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
    file: NamedTempFile,
}

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    Expired,
    NotYetValid,
    UnknownIssuer,
    SelfSigned,
    SelfSignedAuthority,
    WrongName,
    WrongPurpose,
    BadSignature,
    Authority,
    Constraints,
}

impl Flaw {
    pub(super) const ALL: [Flaw; 10] = [
        Flaw::Expired,
        Flaw::NotYetValid,
        Flaw::UnknownIssuer,
        Flaw::SelfSigned,
        Flaw::SelfSignedAuthority,
        Flaw::WrongName,
        Flaw::WrongPurpose,
        Flaw::BadSignature,
        Flaw::Authority,
        Flaw::Constraints,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Flaw::Expired => "expired",
            Flaw::NotYetValid => "not-yet-valid",
            Flaw::UnknownIssuer => "unknown-issuer",
            Flaw::SelfSigned | Flaw::SelfSignedAuthority => "self-signed",
            Flaw::WrongName => "wrong-name",
            Flaw::WrongPurpose => "wrong-purpose",
            Flaw::BadSignature => "bad-signature",
            Flaw::Authority => "authority",
            Flaw::Constraints => "constraints",
        }
    }
}

pub(super) fn file_of(certificate: &CertificateDer<'_>) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    let base64 = certificate.chunks(48).fold(String::new(), |text, chunk| text + &base64(chunk) + "\n");
    write!(file, "-----BEGIN CERTIFICATE-----\n{base64}-----END CERTIFICATE-----\n").unwrap();
    file
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &b| word << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (word >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index]) } else { '=' });
        }
    }
    text
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn server_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "a server");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}

impl Authority {
    pub(super) fn new() -> Authority {
        let params = authority_params("an authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let file = file_of(certificate.der());
        Authority { certificate, issuer: Issuer::new(params, key), file }
    }

    pub(super) fn file(&self) -> &Path {
        self.file.path()
    }

    /// A server whose certificate is right.
    pub(super) fn settings(&self) -> PeerSettings {
        let key = KeyPair::generate().unwrap();
        let certificate = server_params("localhost").signed_by(&key, &self.issuer).unwrap();
        self.settings_of(vec![certificate.der().clone()], &key)
    }

    fn settings_of(&self, chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> PeerSettings {
        PeerSettings {
            chain,
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            versions: vec![&TLS12, &TLS13],
            alpn: vec!["http/1.1"],
            wants_certificate: false,
            authority: self.certificate.der().clone(),
            sessions: ServerSessionMemoryCache::new(64),
        }
    }

    /// A client's certificate and its key.
    pub(super) fn client_files(&self) -> (NamedTempFile, NamedTempFile) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["client".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(key.serialize_pem().as_bytes()).unwrap();
        (file_of(certificate.der()), file)
    }
}

/// A server whose certificate has that flaw.
pub(super) fn server_certificate(authority: &Authority, flaw: Flaw) -> PeerSettings {
    let key = KeyPair::generate().unwrap();
    let mut params = server_params(if flaw == Flaw::WrongName { "elsewhere" } else { "localhost" });
    match flaw {
        Flaw::Expired => {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        Flaw::NotYetValid => params.not_before = date_time_ymd(3000, 1, 1),
        Flaw::WrongPurpose => params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth],
        Flaw::Authority | Flaw::SelfSignedAuthority => {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        _ => {}
    }
    let chain = match flaw {
        Flaw::SelfSigned | Flaw::SelfSignedAuthority => vec![params.self_signed(&key).unwrap().der().clone()],
        Flaw::UnknownIssuer => {
            let unknown = Issuer::new(authority_params("nobody"), KeyPair::generate().unwrap());
            vec![params.signed_by(&key, &unknown).unwrap().der().clone()]
        }
        Flaw::BadSignature => {
            // By somebody who only has the authority's name.
            let impostor = Issuer::new(authority_params("an authority"), KeyPair::generate().unwrap());
            vec![params.signed_by(&key, &impostor).unwrap().der().clone()]
        }
        Flaw::Constraints => {
            let mut between = authority_params("an authority for others");
            between.name_constraints = Some(NameConstraints {
                permitted_subtrees: vec![GeneralSubtree::DnsName("example.org".into())],
                excluded_subtrees: vec![],
            });
            let between_key = KeyPair::generate().unwrap();
            let issued = between.signed_by(&between_key, &authority.issuer).unwrap();
            let issuer = Issuer::new(between, between_key);
            vec![params.signed_by(&key, &issuer).unwrap().der().clone(), issued.der().clone()]
        }
        _ => vec![params.signed_by(&key, &authority.issuer).unwrap().der().clone()],
    };
    authority.settings_of(chain, &key)
}
