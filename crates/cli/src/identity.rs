//! The options that give a server a certificate.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use pitot_results::Failure;
use pitot_tls::server::Identity;

/// The value of `--tls` that asks for a certificate to be made.
const SELF_SIGNED: &str = "self-signed";

/// A certificate with its key.
#[derive(Clone, Debug, Args)]
pub(crate) struct IdentityArgs {
    /// Serve over TLS 1.2 and 1.3 with the certificate chain in this PEM file, or with one made for this run (`self-signed`, for
    /// localhost and the listen address).
    #[arg(long, value_name = "CERT|self-signed")]
    tls: Option<PathBuf>,
    /// The private key of the certificate, in PEM. [default: in the file of --tls]
    #[arg(long, value_name = "FILE", requires = "tls")]
    key: Option<PathBuf>,
}

impl IdentityArgs {
    /// True if there is to be a certificate.
    pub(crate) fn is_wanted(&self) -> bool {
        self.tls.is_some()
    }

    /// The certificate of a server that listens on this address, if it is to have one.
    pub(crate) fn identity(&self, address: IpAddr) -> Result<Option<Identity>, Failure> {
        let Some(certificate) = &self.tls else { return Ok(None) };
        if certificate.as_os_str() != SELF_SIGNED {
            let key = self.key.as_ref().unwrap_or(certificate);
            return Ok(Some(Identity {
                certificates: read(certificate, "--tls")?,
                key: read(key, "--key")?,
            }));
        }
        if self.key.is_some() {
            return Err(Failure::misuse(
                "--tls self-signed makes its own key",
                "omit --key, or give the file of a certificate with --tls",
            ));
        }
        let made = Identity::self_signed(address);
        made.map(Some).map_err(|e| Failure::run(e.to_string(), "give the file of a certificate with --tls"))
    }
}

fn read(path: &Path, option: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| {
        Failure::misuse(
            format!("cannot read {} of {option}: {e}", path.display()),
            "give a readable PEM file; or --tls self-signed without --key",
        )
    })
}
