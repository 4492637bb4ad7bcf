//! The split data server: relay processes hold the clients, a data process reads the files, and TCP connections over
//! loopback join them.
//!
//! To a relay's loop the data process is one more asynchronous way to look at files, to read and to store them
//! ([`remote::Remote`]). What passes between the two is described in docs/relay-framing.md and written and read in
//! [`frame`].

pub mod data;
pub mod frame;
mod peer;
pub mod remote;
