//! The options of TLS.

use std::path::PathBuf;

use clap::Args;
use pitot_load::{TlsOptions, TlsVersion};

use crate::choice::one_of;

/// TLS of `pitot load`.
#[derive(Debug, Args)]
pub(super) struct Tls {
    /// Trust the authorities whose certificates are in FILE (PEM) instead of those of the system; the server's own
    /// certificate may be among them.
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_ca: Option<PathBuf>,
    /// Refuse certificates that are revoked by the lists (CRL) in FILE (PEM).
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_crl: Option<PathBuf>,
    /// Accept any certificate of the server.
    #[arg(short = 'k', long, help_heading = "TLS")]
    insecure: bool,
    /// Client certificate with its chain (PEM), for servers that ask for one.
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert (PEM).
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    tls_key: Option<PathBuf>,
    /// Use only this version of TLS: 1.2 or 1.3. [default: the higher that the server has]
    #[arg(long, value_name = "VERSION", value_parser = one_of(TlsVersion::WORDS), hide_possible_values = true, help_heading = "TLS")]
    tls_version: Option<TlsVersion>,
    /// Whether a connection that replaces another resumes its session, as a browser's does: on or off. [default: on]
    #[arg(long, value_name = "on|off", value_parser = one_of([("on", true), ("off", false)]), hide_possible_values = true, help_heading = "TLS")]
    tls_resume: Option<bool>,
}

impl Tls {
    pub(super) fn options(&self) -> TlsOptions {
        TlsOptions {
            authorities: self.tls_ca.clone(),
            revoked: self.tls_crl.clone(),
            insecure: self.insecure,
            certificate: self.tls_cert.clone(),
            key: self.tls_key.clone(),
            version: self.tls_version,
            resume: self.tls_resume,
        }
    }
}
