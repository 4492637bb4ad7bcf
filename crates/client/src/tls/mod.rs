//! TLS as a layer between a connection of the load generator and its protocol.
//!
//! [`TlsProtocol`] is a protocol around a protocol. Its connections write the first message of a handshake when they are
//! opened, and report [`Progress::Secured`](crate::Progress::Secured) when it is complete. From then on they decrypt the input
//! record by record and encrypt the output of the inner protocol, which also chooses what to offer by ALPN
//! ([`ClientProtocol::alpn`](crate::ClientProtocol::alpn)).
//!
//! A connection keeps its session when it is replaced, as a browser does, so all handshakes but its first are resumed if the
//! server supports that. Other connections stand for other users and have their own sessions.
//!
//! rustls is used with its unbuffered interface: the caller keeps incomplete records anyway, and a waiting connection has no
//! buffer.

mod chain;
mod config;
mod conn;
mod fault;
mod options;
mod preload;
mod protocol;
mod record;
mod session;
mod store;
#[cfg(test)]
mod tests;

pub use fault::{Explanation, cipher_name, explain, version_name};
pub use options::{TlsOptions, TlsVersion};
pub use protocol::TlsProtocol;
