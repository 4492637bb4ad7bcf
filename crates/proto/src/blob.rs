//! `blob`: the transfer service of the 2006 select and epoll comparison. `GET <n>\n` returns exactly n bytes.
//!
//! n is decimal, 1 to 1 GiB; without it (`GET\n`) the reply has 1024 bytes. A carriage return before the newline is allowed.
//! Connections persist and requests may be pipelined. There is no framing except the requested length, so an invalid request
//! line ends the connection without a reply.

use crate::{
    Context, Exchange, Next, Protocol, ProtocolEntry, ProtocolOptions, ServerConn, Step, Violation,
    ViolationKind,
};

/// Size of a reply to a request without a size, in bytes.
pub const SIZE_DEFAULT: u64 = 1024;
/// Size of the largest reply, in bytes.
pub const SIZE_MAX: u64 = 1 << 30;
/// Length of the longest request line with its newline, in bytes.
pub const LINE_MAX: usize = 32;

/// The protocol, which has no shared state.
#[derive(Debug)]
pub struct Blob;

/// The entry of the registry.
pub(crate) static ENTRY: ProtocolEntry = ProtocolEntry {
    name: "blob",
    summary: "answers `GET N` with N bytes; connections persist and pipeline",
    doc: "The transfer service of the 2006 comparison of select and epoll: a minimal request and a reply of 1 byte to \
          1 GiB (1024 bytes if the request names no size).",
    files: false,
    load_url: "blob://{address}/{size}",
    tls: crate::TlsBegins::AtOnce { alpn: &[] },
    build,
};

fn build(_: &ProtocolOptions) -> Result<Box<dyn Protocol>, String> {
    Ok(Box::new(Blob))
}

impl Protocol for Blob {
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
        let Some(end) = input.iter().take(LINE_MAX).position(|&b| b == b'\n') else {
            return if input.len() < LINE_MAX {
                Ok(Step::read(0))
            } else {
                Err(ViolationKind::TooLarge.into())
            };
        };
        let size = parse(&input[..end]).ok_or(ViolationKind::Malformed)?;
        exchange.out.pattern(size);
        exchange.reply_done();
        Ok(Step { consumed: end + 1, next: if cx.stopping { Next::Close } else { Next::Read } })
    }
}

/// The size that a request line (without its newline) asks for.
pub fn parse(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r").unwrap_or(line).strip_prefix(b"GET")?;
    if line.is_empty() {
        return Some(SIZE_DEFAULT);
    }
    let digits = line.strip_prefix(b" ")?;
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (1..=SIZE_MAX).contains(&size).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines() {
        for (line, size) in [
            ("GET", Some(1024)),
            ("GET\r", Some(1024)),
            ("GET 1", Some(1)),
            ("GET 1073741824", Some(1 << 30)),
            ("GET 1073741825", None),
            ("GET 0", None),
            ("GET -1", None),
            ("GET +1", None),
            ("GET ", None),
            ("GET  1", None),
            ("GET1", None),
            ("get 1", None),
            ("GET 99999999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(parse(line.as_bytes()), size, "{line:?}");
        }
    }

    #[test]
    fn a_line_that_never_ends_is_refused_at_its_limit() {
        let (mut conn, mut exchange) = (Blob.connect(), Exchange::new());
        let cx = Context { unix_s: 0, date: "", stopping: false };
        assert_eq!(conn.receive(&cx, &[b'G'; LINE_MAX - 1], &mut exchange), Ok(Step::read(0)));
        assert_eq!(conn.receive(&cx, &[b'G'; LINE_MAX], &mut exchange), Err(ViolationKind::TooLarge.into()));
    }
}
