//! The options of `pitot serve` that give a server TLS.

use std::net::IpAddr;

use clap::Args;
use pitot_results::Failure;
use pitot_serve::{InKernel, TlsPlan};
use pitot_tls::server::Secret;

use crate::identity::IdentityArgs;

/// The option that has the kernel encrypt.
pub(crate) const KTLS: &str = "ktls";

/// TLS.
#[derive(Clone, Debug, Args)]
pub(crate) struct TlsArgs {
    #[command(flatten)]
    identity: IdentityArgs,
    /// Let the kernel encrypt and decrypt after the handshake, so that files are sent with sendfile(2) as without TLS. Needs
    /// ciphers of the kernel (CONFIG_TLS); not with the mechanism uring.
    #[arg(long, requires = "tls")]
    ktls: bool,
}

impl TlsArgs {
    /// True if the server is to have TLS.
    pub(crate) fn is_wanted(&self) -> bool {
        self.identity.is_wanted()
    }

    /// The plan, if the server is to have TLS. `address` is the one that it listens on.
    pub(crate) fn plan(&self, address: IpAddr) -> Result<Option<TlsPlan>, Failure> {
        let Some(identity) = self.identity.identity(address)? else { return Ok(None) };
        let in_kernel = if self.ktls { InKernel::Yes } else { InKernel::No };
        Ok(Some(TlsPlan { identity, secret: Secret::random()?, in_kernel }))
    }
}
