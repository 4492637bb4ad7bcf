//! The split data server: relay processes hold the clients, a data process reads the files, and TCP connections over
//! loopback join them.
//!
//! To a relay's loop the data process is one more asynchronous way to look at files, to read and to store them
//! ([`Remote`]). What
//! passes between the two is described in docs/relay-framing.md and written and read in [`frame`].

use std::net::SocketAddr;

mod data;
pub mod frame;
mod peer;
mod remote;

pub use data::{DataWorker, run as run_data};
pub use remote::{Event, Got, RETRY, Remote, RemoteFile, file_to_read, flush};

/// Connections between a relay and its data process, at most.
pub const LINKS_MAX: usize = 64;

/// How a relay finds its data process.
#[derive(Clone, Copy, Debug)]
pub struct RemotePlan {
    /// Where the data process listens.
    pub addr: SocketAddr,
    /// What tells a relay from any other program that connects there.
    pub secret: [u8; frame::SECRET_BYTES],
    /// Connections that the relay opens.
    pub links: usize,
}
