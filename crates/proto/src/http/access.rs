//! The access log: a line for each request, in the format that Apache and nginx call combined.
//!
//! ```text
//! 127.0.0.1 - - [22/Nov/2026:22:37:35 +0000] "GET /a HTTP/1.1" 200 5 "http://from/" "curl/8.5.0"
//! ```
//!
//! A site with a log has connections of another type, [`Logged`], which wraps the usual one. Without a log nothing is decided
//! per request, and a connection is as small as before. The price: a head is searched again for the two fields in the log.

use std::net::IpAddr;

use super::conn::Conn;
use super::syntax::trim;
use crate::{
    Context, Exchange, LoggedReply, Next, OpenError, Opened, ServerConn, Step, StoreError, Upload, Violation,
};

/// How unknown values are shown.
const UNKNOWN: &[u8] = b"-";

/// A connection whose requests are logged.
pub(super) struct Logged {
    conn: Conn,
    /// The address of the client, and the text for clients without one.
    peer: Option<IpAddr>,
    no_peer: &'static str,
    request: Option<Box<Request>>,
}

/// The fields of a request in the log, escaped.
struct Request {
    text: Vec<u8>,
    /// The end of the request line, where the referrer begins, and the end of that, where the user agent begins.
    line_end: usize,
    referrer_end: usize,
}

/// The state before a call of the core.
#[derive(Clone, Copy)]
struct Before {
    replies: u32,
    queued: u64,
}

impl Before {
    fn of(exchange: &Exchange) -> Before {
        Before { replies: exchange.counts.replies, queued: queued(exchange) }
    }
}

fn queued(exchange: &Exchange) -> u64 {
    exchange.out.len() + exchange.out.lent()
}

impl Logged {
    pub(super) fn new(conn: Conn, no_peer: &'static str) -> Logged {
        Logged { conn, peer: None, no_peer, request: None }
    }

    /// Logs the request if it was answered since then.
    fn log(&mut self, cx: &Context<'_>, before: Before, exchange: &mut Exchange) {
        if exchange.counts.replies == before.replies {
            return;
        }
        let request = self.request.take().unwrap_or_else(|| Box::new(Request::unknown()));
        let reply = LoggedReply { len: queued(exchange) - before.queued, ..exchange.last };
        exchange.log.add(
            |line| {
                match self.peer {
                    // An IPv4 client of a dual-stack socket is shown as IPv4.
                    Some(peer) => line.extend_from_slice(peer.to_canonical().to_string().as_bytes()),
                    None => line.extend_from_slice(self.no_peer.as_bytes()),
                }
                line.extend_from_slice(b" - - [");
                write_time(cx.date, line);
                line.extend_from_slice(b"] \"");
                line.extend_from_slice(&request.text[..request.line_end]);
                line.extend_from_slice(b"\" ");
            },
            reply,
            |line| {
                line.extend_from_slice(b" \"");
                line.extend_from_slice(&request.text[request.line_end..request.referrer_end]);
                line.extend_from_slice(b"\" \"");
                line.extend_from_slice(&request.text[request.referrer_end..]);
                line.extend_from_slice(b"\"\n");
            },
        );
    }
}

impl ServerConn for Logged {
    fn peer_is(&mut self, peer: IpAddr) {
        self.peer = Some(peer);
    }

    fn receive(
        &mut self,
        cx: &Context<'_>,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        let (before, is_head) = (Before::of(exchange), self.conn.awaits_head());
        let step = self.conn.receive(cx, input, exchange);
        if is_head && (exchange.counts.replies != before.replies || !self.conn.awaits_head()) {
            self.request = Some(Box::new(Request::of(input)));
        }
        self.log(cx, before, exchange);
        step
    }

    fn opened(
        &mut self,
        cx: &Context<'_>,
        answer: Result<&Opened, OpenError>,
        exchange: &mut Exchange,
    ) -> Next {
        let before = Before::of(exchange);
        let next = self.conn.opened(cx, answer, exchange);
        self.log(cx, before, exchange);
        next
    }

    fn stored(
        &mut self,
        cx: &Context<'_>,
        answer: Result<Option<Upload>, StoreError>,
        exchange: &mut Exchange,
    ) -> Next {
        let before = Before::of(exchange);
        let next = self.conn.stored(cx, answer, exchange);
        self.log(cx, before, exchange);
        next
    }

    fn delayed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        let before = Before::of(exchange);
        let next = self.conn.delayed(cx, exchange);
        self.log(cx, before, exchange);
        next
    }

    fn end_of_input(&mut self, cx: &Context<'_>, exchange: &mut Exchange) -> Next {
        self.conn.end_of_input(cx, exchange)
    }

    fn timed_out(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        let before = Before::of(exchange);
        self.conn.timed_out(cx, exchange);
        self.log(cx, before, exchange);
    }

    fn dismissed(&mut self, cx: &Context<'_>, exchange: &mut Exchange) {
        self.conn.dismissed(cx, exchange);
    }

    fn file_failed(&mut self, cx: &Context<'_>, error: OpenError, exchange: &mut Exchange) {
        let before = Before::of(exchange);
        self.conn.file_failed(cx, error, exchange);
        exchange.log.amend(LoggedReply { len: queued(exchange) - before.queued, ..exchange.last });
    }

    fn mid_request(&self) -> bool {
        self.conn.mid_request()
    }
}

impl Request {
    fn unknown() -> Request {
        Request { text: [UNKNOWN, UNKNOWN, UNKNOWN].concat(), line_end: 1, referrer_end: 2 }
    }

    /// The request whose head, or the start of one, is at the start of `input`.
    fn of(input: &[u8]) -> Request {
        let mut lines = input.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let line = lines.next().unwrap_or_default();
        let (mut referrer, mut agent) = (UNKNOWN, UNKNOWN);
        for line in lines.take_while(|line| !line.is_empty()) {
            // The length of the names rules out most of the others.
            let (name, shown) = match line {
                [b'R' | b'r', ..] if line.get(7) == Some(&b':') => (&b"referer"[..], &mut referrer),
                [b'U' | b'u', ..] if line.get(10) == Some(&b':') => (&b"user-agent"[..], &mut agent),
                _ => continue,
            };
            if line[..name.len()].eq_ignore_ascii_case(name) {
                let value = trim(&line[name.len() + 1..]);
                *shown = if value.is_empty() { UNKNOWN } else { value };
            }
        }
        let mut text = Vec::with_capacity(line.len() + referrer.len() + agent.len());
        escape(line, &mut text);
        let line_end = text.len();
        escape(referrer, &mut text);
        let referrer_end = text.len();
        escape(agent, &mut text);
        Request { text, line_end, referrer_end }
    }
}

/// Escapes text of a client as nginx does, so that it cannot end a line or a quoted part: quotes, backslashes, control
/// characters and bytes outside ASCII become `\xHH`.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for run in text.chunk_by(|a, b| is_plain(*a) == is_plain(*b)) {
        if is_plain(run[0]) {
            out.extend_from_slice(run);
        } else {
            for b in run {
                out.extend_from_slice(&[
                    b'\\',
                    b'x',
                    DIGITS[usize::from(b >> 4)],
                    DIGITS[usize::from(b & 15)],
                ]);
            }
        }
    }
}

const fn is_plain(b: u8) -> bool {
    matches!(b, b' '..=b'~') && b != b'"' && b != b'\\'
}

/// Writes an IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`) in the log's format: `06/Nov/1994:08:49:37 +0000`.
fn write_time(date: &str, out: &mut Vec<u8>) {
    let [_, _, _, _, _, d1, d2, _, m1, m2, m3, _, y1, y2, y3, y4, _, time @ .., _, _, _, _] = date.as_bytes()
    else {
        return out.extend_from_slice(UNKNOWN);
    };
    out.extend_from_slice(&[*d1, *d2, b'/', *m1, *m2, *m3, b'/', *y1, *y2, *y3, *y4, b':']);
    out.extend_from_slice(time);
    out.extend_from_slice(b" +0000");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &[u8]) -> String {
        let mut out = Vec::new();
        escape(text, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_clients_send_cannot_forge_a_line() {
        assert_eq!(escaped(b"GET /a?b=~c HTTP/1.1"), "GET /a?b=~c HTTP/1.1");
        assert_eq!(escaped(b"a\"b\\c\nd\x1b\x7f\x80\xff\0"), r"a\x22b\x5Cc\x0Ad\x1B\x7F\x80\xFF\x00");
        assert_eq!(escaped(b""), "");
    }

    #[test]
    fn a_time_is_that_of_the_reply() {
        let mut out = Vec::new();
        write_time("Sun, 06 Nov 1994 08:49:37 GMT", &mut out);
        assert_eq!(out, b"06/Nov/1994:08:49:37 +0000");
        out.clear();
        write_time("", &mut out);
        assert_eq!(out, b"-");
    }

    #[test]
    fn fields_are_found_whatever_their_case() {
        let shown = |input: &str| {
            let request = Request::of(input.as_bytes());
            let (line, rest) = request.text.split_at(request.line_end);
            let (referrer, agent) = rest.split_at(request.referrer_end - request.line_end);
            [line, referrer, agent].map(|part| String::from_utf8(part.to_vec()).unwrap())
        };
        let head =
            "GET / HTTP/1.1\r\nHost: h\r\nREFERER: http://a/\r\nuser-Agent:  b c \r\n\r\nReferer: x\r\n";
        assert_eq!(shown(head), ["GET / HTTP/1.1", "http://a/", "b c"]);
        assert_eq!(
            shown("GET / HTTP/1.1\r\nReferrer: x\r\nUser-Agents: y\r\nR: z\r\n\r\n"),
            ["GET / HTTP/1.1", "-", "-"]
        );
        assert_eq!(shown("GET / HTTP/1.1\r\nReferer:\r\n\r\n"), ["GET / HTTP/1.1", "-", "-"]);
        assert_eq!(shown("\x16\x03\x01"), [r"\x16\x03\x01", "-", "-"]);
        assert_eq!(shown(""), ["", "-", "-"]);
    }
}
