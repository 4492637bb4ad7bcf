//! The options of `pitot serve` that give a server TLS.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use pitot_results::Failure;
use pitot_serve::{InKernel, TlsPlan};
use pitot_tls::server::{Identity, Secret};

/// The value of `--tls` that asks for a certificate to be made.
const SELF_SIGNED: &str = "self-signed";

/// The option that has the kernel encrypt.
pub(crate) const KTLS: &str = "ktls";

/// TLS.
#[derive(Clone, Debug, Args)]
pub(crate) struct TlsArgs {
    /// Serve over TLS 1.2 and 1.3 with the certificate chain in this PEM file, or with one made for this run (`self-signed`, for
    /// localhost and the listen address). With smtp: when the client asks for it (STARTTLS).
    #[arg(long, value_name = "CERT|self-signed")]
    tls: Option<PathBuf>,
    /// The private key of the certificate, in PEM. [default: in the file of --tls]
    #[arg(long, value_name = "FILE", requires = "tls")]
    key: Option<PathBuf>,
    /// Let the kernel encrypt and decrypt after the handshake, so that files are sent with sendfile(2) as without TLS. Needs
    /// ciphers of the kernel (CONFIG_TLS); not with the mechanism uring.
    #[arg(long, requires = "tls")]
    ktls: bool,
}

impl TlsArgs {
    /// True if the server is to have TLS.
    pub(crate) fn is_wanted(&self) -> bool {
        self.tls.is_some()
    }

    /// The plan, if the server is to have TLS. `address` is the one that it listens on.
    pub(crate) fn plan(&self, address: IpAddr) -> Result<Option<TlsPlan>, Failure> {
        let Some(certificate) = &self.tls else { return Ok(None) };
        let identity = if certificate.as_os_str() == SELF_SIGNED {
            if self.key.is_some() {
                return Err(Failure::misuse(
                    "--tls self-signed makes its own key",
                    "omit --key, or give the file of a certificate with --tls",
                ));
            }
            Identity::self_signed(address)
                .map_err(|e| Failure::run(e.to_string(), "give the file of a certificate with --tls"))?
        } else {
            let key = self.key.as_ref().unwrap_or(certificate);
            Identity { certificates: read(certificate, "--tls")?, key: read(key, "--key")? }
        };
        let secret = Secret::random().ok_or_else(|| {
            Failure::run("the system has no random numbers", "see getrandom(2); has the machine just booted?")
        })?;
        let in_kernel = if self.ktls { InKernel::Yes } else { InKernel::No };
        Ok(Some(TlsPlan { identity, secret, in_kernel }))
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
