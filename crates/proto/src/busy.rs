//! `busy`: the service of the 2001 architecture comparison. It answers every connection with one line and closes.

use crate::{Context, Exchange, Next, Protocol, ProtocolEntry, ProtocolOptions, ServerConn, Step, Violation};

/// The line that every connection gets.
pub const REPLY: &[u8] = b"450 too busy\r\n";

/// The protocol, which has no shared state.
#[derive(Debug)]
pub struct Busy;

/// The entry of the registry.
pub(crate) static ENTRY: ProtocolEntry = ProtocolEntry {
    name: "busy",
    summary: "answers `450 too busy` to every connection and closes",
    doc: "The service of the 2001 comparison of task architectures. It measures the cost of accepting a connection, \
          sending one line and closing it.",
    files: false,
    load_url: "busy://{address}",
    tls: crate::TlsBegins::AtOnce { alpn: &[] },
    build,
};

fn build(_: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Busy))
}

impl Protocol for Busy {
    fn connect(&self) -> Box<dyn ServerConn> {
        // A zero-sized type: the box allocates nothing.
        Box::new(Conn)
    }
}

struct Conn;

impl ServerConn for Conn {
    fn open(&mut self, _: &Context<'_>, exchange: &mut Exchange) -> Next {
        exchange.out.fixed(REPLY);
        exchange.reply_done();
        Next::Close
    }

    fn receive(&mut self, _: &Context<'_>, input: &[u8], _: &mut Exchange) -> Result<Step, Violation> {
        Ok(Step { consumed: input.len(), next: Next::Close })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_gets_its_line_before_it_says_a_word() {
        let mut exchange = Exchange::new();
        let cx = Context { unix_s: 0, date: "", stopping: false };
        assert_eq!(Busy.connect().open(&cx, &mut exchange), Next::Close);
        assert_eq!(&*exchange.out.gather().slices()[0], REPLY);
        assert_eq!(exchange.counts.replies, 1);
    }
}
