use std::path::PathBuf;

/// The options of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// A file of certificates in PEM that replaces the system's authorities.
    pub authorities: Option<PathBuf>,
    /// A file of lists of revoked certificates (CRL) in PEM.
    pub revoked: Option<PathBuf>,
    /// Take any certificate.
    pub insecure: bool,
    /// A file with the client certificate and its chain, in PEM.
    pub certificate: Option<PathBuf>,
    /// A file with its private key, in PEM.
    pub key: Option<PathBuf>,
    /// The only version to use; `None` for both.
    pub version: Option<TlsVersion>,
    /// Whether a connection resumes the session of the one it replaces; yes if `None`.
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
    /// The versions by their words in `--tls-version`.
    pub const WORDS: [(&'static str, TlsVersion); 2] = [("1.2", TlsVersion::V1_2), ("1.3", TlsVersion::V1_3)];

    /// Its word in `--tls-version`.
    pub fn word(self) -> &'static str {
        TlsVersion::WORDS.iter().find(|(_, v)| *v == self).map_or("", |(word, _)| word)
    }
}

impl TlsOptions {
    /// The first option that is set, as on the command line.
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
