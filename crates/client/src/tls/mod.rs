//! The client's side: a layer between a connection of the load generator and its protocol.
//!
//! [`TlsProtocol`] is a protocol around a protocol. A connection of it writes the first message of a handshake when it is
//! opened, reports [`Progress::Secured`](crate::Progress::Secured) when both ends have agreed on keys, and
//! from then on decrypts what arrives, record by record, and encrypts what the inner protocol writes. It is the inner
//! protocol that says what it asks for by ALPN ([`ClientProtocol::alpn`](crate::ClientProtocol::alpn)).
//!
//! A connection keeps its session when it is replaced, as a browser does, so that all handshakes but its first are
//! resumed if the server takes part; another connection stands for another user, and has a session of its own.
//!
//! rustls is driven by its unbuffered interface: the caller keeps an incomplete record anyway, and a connection that waits
//! has no buffer at all.

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
