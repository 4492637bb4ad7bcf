use std::io;

use pitot_client::Payload;

/// What [`Connections`](super::Connections) want done with their sockets. Each engine implements it, and so do the
/// tests.
pub trait Wire {
    /// Starts to connect. The engine reports the outcome with `Connections::connected`.
    fn connect(&mut self, slot: u32) -> io::Result<()>;

    /// Sends, or keeps what cannot be sent yet until it can. A failure may also be reported later, with
    /// `Connections::broke`.
    fn send(&mut self, slot: u32, payload: Payload<'_>) -> io::Result<()>;

    /// Closes, and returns how many segments the kernel retransmitted. No event of this connection is reported any more.
    fn close(&mut self, slot: u32) -> u32;
}
