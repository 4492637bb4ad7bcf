//! Where a server listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// An address that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// The path of a socket (unix(7)).
    Unix(PathBuf),
}

impl Address {
    /// The IP address; for a socket that is a file, that of this machine alone.
    pub fn ip(&self) -> IpAddr {
        match self {
            Address::Tcp(addr) => addr.ip(),
            Address::Unix(_) => Ipv4Addr::LOCALHOST.into(),
        }
    }

    /// True for a socket that is a file.
    pub fn is_unix(&self) -> bool {
        matches!(self, Address::Unix(_))
    }
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Address {
        Address::Tcp(addr)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(addr) => addr.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}
