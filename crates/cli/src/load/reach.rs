//! Options for how the target is reached.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use pitot_load::ReachOptions;

#[derive(Debug, Args)]
pub(super) struct Reach {
    /// Ask for this host while connecting to that of the URL: in the Host header (:authority of HTTP/2), and with TLS in the name
    /// that is sent (SNI) and that the certificate must have.
    #[arg(long, value_name = "NAME[:PORT]", help_heading = "Connections")]
    host: Option<String>,
    /// Connect to ADDRESS for this name and port, and still send the name; may be repeated. ADDRESS may have a port of its own:
    /// HOST:PORT:ADDRESS:PORT.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = "Connections")]
    resolve: Vec<String>,
    /// Connect to this socket of the file system (unix(7)) for what the URL asks for.
    #[arg(long, value_name = "SOCKET", help_heading = "Connections")]
    unix: Option<PathBuf>,
    /// Ask this resolver, ADDRESS:PORT on loopback, for the target's IPv4 address before each connection, without a cache; a lookup
    /// that fails is an error of the phase `resolve`.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["resolve", "unix"], help_heading = "Connections")]
    resolver: Option<SocketAddr>,
}

impl Reach {
    pub(super) fn options(&self) -> ReachOptions {
        ReachOptions {
            host: self.host.clone(),
            resolve: self.resolve.clone(),
            unix: self.unix.clone(),
            resolver: self.resolver,
        }
    }
}
