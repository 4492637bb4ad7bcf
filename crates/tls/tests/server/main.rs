//! The server's layer in the connection machine, in memory, against rustls's client.
#![forbid(unsafe_code)]

mod client;
mod handshakes;
mod kernel;
mod replies;
mod starttls;
