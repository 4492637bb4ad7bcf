//! TLS without I/O: records in, bytes out, and the reverse. The TLS library is rustls; the architecture around it is what is
//! measured.
//!
//! [`server`] is a layer between a server's connection and its protocol; the client's layer is in `pitot-client`. It turns bytes
//! into bytes and has no descriptor, clock or thread; only the library reads the wall clock, for the expiry of tickets. [`trust`]
//! decides which certificates a client trusts.

pub mod server;
pub mod trust;
