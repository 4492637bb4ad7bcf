//! TLS without I/O: records in, bytes out, and the reverse. The TLS library is rustls; what is measured is the architecture
//! around it.
//!
//! [`server`] is a layer between a connection of a server and its protocol, as the client's side is in `pitot-client`. It turns
//! bytes into bytes and knows no descriptor, no clock and no thread; only the library itself reads the wall clock, to see
//! whether a ticket has expired. [`trust`] says whose certificates a client trusts.

pub mod server;
pub mod trust;
