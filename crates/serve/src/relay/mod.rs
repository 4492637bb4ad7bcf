//! The split data server: relay processes serve the clients, a data process reads the files, and TCP connections over
//! loopback join them.
//!
//! To a relay's loop the data process is one more asynchronous way to open, read and store files ([`remote::Remote`]).
//! The framing is described in docs/relay-framing.md and implemented in [`frame`].

pub mod data;
pub mod frame;
mod peer;
pub mod remote;
