use std::path::PathBuf;

/// What a user may set for TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// A file of certificates in PEM that takes the place of the system's authorities.
    pub authorities: Option<PathBuf>,
    /// A file of lists of revoked certificates (CRL) in PEM.
    pub revoked: Option<PathBuf>,
    /// Take any certificate.
    pub insecure: bool,
    /// A file with the certificate to show to a server that asks for one, and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// A file with its private key in PEM.
    pub key: Option<PathBuf>,
    /// The only version to speak; `None` for both.
    pub version: Option<TlsVersion>,
    /// Whether a connection that replaces another resumes its session; yes if `None`.
    pub resume: Option<bool>,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// RFC 5246.
    V1_2,
    /// RFC 8446.
    V1_3,
}

impl TlsVersion {
    /// The versions by the words of `--tls-version`.
    pub const WORDS: [(&'static str, TlsVersion); 2] = [("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];

    /// The word of the version.
    pub fn word(self) -> &'static str {
        TlsVersion::WORDS.iter().find(|(_, v)| *v == self).map_or("", |(word, _)| word)
    }
}

impl TlsOptions {
    /// The first option that is set, as it is written, if there is one.
    pub fn first_set(&self) -> Option<&'static str> {
        let set = [
            (self.authorities.is_some(), "--tls-ca"),
            (self.revoked.is_some(), "--tls-crl"),
            (self.insecure, "--insecure"),
            (self.certificate.is_some(), "--tls-cert"),
            (self.key.is_some(), "--tls-key"),
            (self.version.is_some(), "--tls-version"),
            (self.resume.is_some(), "--tls-resume"),
        ];
        set.iter().find(|(set, _)| *set).map(|(_, option)| *option)
    }
}
