//! The server's side: a certificate with its key, tickets that all processes of a server understand, and the layer of a
//! connection.

mod identity;
mod kernel;
mod layer;
mod tickets;

use std::sync::Arc;

use pitot_proto::{Layer, Layers};
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};

pub use identity::{Identity, IdentityError};
pub use kernel::KernelCipher;
pub use tickets::{SECRET_BYTES, Secret};

use layer::{NoLayer, TlsLayer};
use tickets::Tickets;

/// What all connections of a server share.
#[derive(Debug)]
pub struct TlsServer {
    config: Arc<ServerConfig>,
    goes_to_kernel: bool,
}

impl TlsServer {
    /// The layer with this certificate, for these protocols (ALPN); without protocols none is negotiated. Servers with the same secret
    /// accept each other's tickets.
    ///
    /// # Errors
    /// An unusable certificate or key, or one that does not match the other.
    pub fn new(identity: &Identity, secret: &Secret, alpn: &[&[u8]]) -> Result<TlsServer, IdentityError> {
        let config = config(ring::default_provider(), identity, secret, alpn)?;
        Ok(TlsServer { config: Arc::new(config), goes_to_kernel: false })
    }

    /// The same, and the kernel carries on behind the handshake, which agrees on one of these ciphers.
    ///
    /// # Errors
    /// As [`TlsServer::new`]; none of the ciphers is one of TLS.
    pub fn with_kernel(
        identity: &Identity,
        secret: &Secret,
        alpn: &[&[u8]],
        ciphers: &[KernelCipher],
    ) -> Result<TlsServer, IdentityError> {
        let mut provider = ring::default_provider();
        provider
            .cipher_suites
            .retain(|suite| kernel::cipher_of(*suite).is_some_and(|c| ciphers.contains(&c)));
        let mut config = config(provider, identity, secret, alpn)?;
        config.enable_secret_extraction = true;
        Ok(TlsServer { config: Arc::new(config), goes_to_kernel: true })
    }

    /// What the library takes, for a server that has its connections itself.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

fn config(
    provider: CryptoProvider,
    identity: &Identity,
    secret: &Secret,
    alpn: &[&[u8]],
) -> Result<ServerConfig, IdentityError> {
    let (chain, key) = identity.read()?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(IdentityError::Unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(IdentityError::of_pair)?;
    config.ticketer = Arc::new(Tickets::new(secret));
    // Sessions are in their tickets: the processes of a server share no memory for them.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

impl Layers for TlsServer {
    fn layer(&self) -> Box<dyn Layer> {
        match UnbufferedServerConnection::new(Arc::clone(&self.config)) {
            Ok(connection) => Box::new(TlsLayer::new(connection, self.goes_to_kernel)),
            // There are no random numbers for a start.
            Err(_) => Box::new(NoLayer),
        }
    }
}
