//! `echo`: the echo protocol over TCP (RFC 862). The server sends back its input until the client ends the connection.
//!
//! This is the minimum that a server can do for each byte. There are no requests: each received piece counts as one reply.

use crate::{Context, Exchange, Next, Protocol, ProtocolEntry, ProtocolOptions, ServerConn, Step, Violation};

/// The entry of the registry.
pub(crate) static ENTRY: ProtocolEntry = ProtocolEntry {
    name: "echo",
    summary: "sends back every byte that it receives (RFC 862)",
    doc: "The echo service of 1983, without requests, framing or limits. It measures the cost of moving bytes in and \
          out. Each piece of input that one receive returns counts as one reply.",
    files: false,
    load_url: "echo://{address}/{size}",
    tls: crate::TlsBegins::AtOnce { alpn: &[] },
    build,
};

/// The protocol, which has no shared state.
#[derive(Debug)]
pub struct Echo;

fn build(_: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Echo))
}

impl Protocol for Echo {
    fn connect(&self) -> Box<dyn ServerConn> {
        Box::new(Conn)
    }
}

struct Conn;

impl ServerConn for Conn {
    fn receive(
        &mut self,
        cx: &Context<'_>,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        if input.is_empty() {
            return Ok(Step::read(0));
        }
        exchange.out.bytes(input);
        exchange.reply_done();
        Ok(Step { consumed: input.len(), next: if cx.stopping { Next::Close } else { Next::Read } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back_whatever_it_is() {
        let (mut conn, mut exchange) = (Echo.connect(), Exchange::new());
        let cx = Context { unix_s: 0, date: "", stopping: false };
        let bytes: Vec<u8> = (0..=255).collect();
        for piece in bytes.chunks(100) {
            assert_eq!(conn.receive(&cx, piece, &mut exchange), Ok(Step::read(piece.len())));
        }
        assert_eq!((&*exchange.out.gather().slices()[0], exchange.counts.replies), (&bytes[..], 3));
    }
}
