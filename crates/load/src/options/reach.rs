use std::net::SocketAddr;
use std::path::PathBuf;

/// How the target is reached, where that is not by its name alone.
#[derive(Clone, Debug, Default)]
pub struct ReachOptions {
    /// The host that the server is asked for, `name` or `name:port`, instead of the URL's.
    pub host: Option<String>,
    /// `host:port:address`, instead of what the name resolves to.
    pub resolve: Vec<String>,
    /// A socket of the file system to connect to.
    pub unix: Option<PathBuf>,
    /// A resolver on loopback that is asked for the target's address before each connection.
    pub resolver: Option<SocketAddr>,
}
