//! A connection on a non-blocking socket: what to do when it is ready, independent of the mechanism, and who helps it so that its
//! loop does not block.

mod connection;
mod helpers;

pub use connection::{RECEIVE_BYTES, Request, Socket, SocketConnection, Turn};
pub use helpers::{Helper, Helpers};
