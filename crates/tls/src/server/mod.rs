//! The server's side: a certificate with its key, tickets that all processes of a server understand, and the layer of a
//! connection.

mod identity;
mod layer;
mod tickets;

use std::sync::Arc;

use pitot_proto::{Layer, Layers};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::server::{NoServerSessionStorage, UnbufferedServerConnection};

pub use identity::{Identity, IdentityError};
pub use tickets::{SECRET_BYTES, Secret};

use layer::{NoLayer, TlsLayer};
use tickets::Tickets;

/// What all connections of a server share.
#[derive(Debug)]
pub struct TlsServer {
    config: Arc<ServerConfig>,
}

impl TlsServer {
    /// The layer with this certificate, for these protocols (ALPN); none means that no protocol is negotiated. Servers with
    /// the same secret take each other's tickets.
    ///
    /// # Errors
    /// The certificate or the key cannot be used, or they do not belong together.
    pub fn new(identity: &Identity, secret: &Secret, alpn: &[&[u8]]) -> Result<TlsServer, IdentityError> {
        let (chain, key) = identity.read()?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(IdentityError::Unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(IdentityError::of_pair)?;
        config.ticketer = Arc::new(Tickets::new(secret));
        // Sessions are in their tickets: the processes of a server share no memory for them.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
        Ok(TlsServer { config: Arc::new(config) })
    }
}

impl Layers for TlsServer {
    fn layer(&self) -> Box<dyn Layer> {
        match UnbufferedServerConnection::new(Arc::clone(&self.config)) {
            Ok(connection) => Box::new(TlsLayer::new(connection)),
            // There is no random number to begin with.
            Err(_) => Box::new(NoLayer),
        }
    }
}
