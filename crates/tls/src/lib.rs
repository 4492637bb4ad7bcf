//! TLS without I/O: records in, bytes out, and the reverse. The TLS library is rustls; what is measured is the architecture
//! around it.
//!
//! [`client`] is a layer between a connection of the load generator and its protocol, [`server`] one between a connection
//! of a server and its protocol. Both turn bytes into bytes and know no descriptor, no clock and no thread; only the
//! library itself reads the wall clock, to see whether a certificate or a ticket has expired.

pub mod client;
pub mod server;
pub mod trust;
