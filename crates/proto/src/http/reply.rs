//! Reply heads.

use super::syntax::write_decimal;
use crate::{Context, Exchange, Next};

/// The methods that all resources allow.
pub(super) const ALLOW: &[u8] = b"GET, HEAD, POST, OPTIONS";

/// The same if the root is writable.
pub(super) const ALLOW_PUT: &[u8] = b"GET, HEAD, POST, PUT, OPTIONS";

/// Declares the statuses, each with the start of its reply head, up to the date, as one string.
macro_rules! statuses {
    ($($name:ident $line:literal)*) => {
        /// The status of a reply.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Status {
            $($name,)*
        }

        impl Status {
            /// The status code with its reason phrase.
            pub(super) fn line(self) -> &'static str {
                match self {
                    $(Status::$name => $line,)*
                }
            }

            /// The code as a number.
            pub(super) fn code(self) -> u16 {
                const fn code(line: &str) -> u16 {
                    let line = line.as_bytes();
                    (line[0] - b'0') as u16 * 100 + (line[1] - b'0') as u16 * 10 + (line[2] - b'0') as u16
                }
                match self {
                    $(Status::$name => const { code($line) },)*
                }
            }

            fn start(self) -> &'static [u8] {
                match self {
                    $(Status::$name => {
                        concat!("HTTP/1.1 ", $line, "\r\nServer: pitot\r\nDate: ").as_bytes()
                    })*
                }
            }
        }
    };
}

statuses! {
    Ok "200 OK"
    Created "201 Created"
    NoContent "204 No Content"
    PartialContent "206 Partial Content"
    MovedPermanently "301 Moved Permanently"
    NotModified "304 Not Modified"
    BadRequest "400 Bad Request"
    Forbidden "403 Forbidden"
    NotFound "404 Not Found"
    MethodNotAllowed "405 Method Not Allowed"
    RequestTimeout "408 Request Timeout"
    Conflict "409 Conflict"
    LengthRequired "411 Length Required"
    PreconditionFailed "412 Precondition Failed"
    ContentTooLarge "413 Content Too Large"
    UriTooLong "414 URI Too Long"
    RangeNotSatisfiable "416 Range Not Satisfiable"
    ExpectationFailed "417 Expectation Failed"
    HeaderFieldsTooLarge "431 Request Header Fields Too Large"
    InternalServerError "500 Internal Server Error"
    NotImplemented "501 Not Implemented"
    ServiceUnavailable "503 Service Unavailable"
    InsufficientStorage "507 Insufficient Storage"
    VersionNotSupported "505 HTTP Version Not Supported"
}

/// Whether the connection persists after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// It persists, which is the default in HTTP/1.1.
    Persist,
    /// It persists, and an HTTP/1.0 client needs a field for that.
    PersistTold,
    /// It is closed.
    Close,
}

/// The part of a request that determines the form of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// True for HEAD: no content follows the head.
    pub(super) head_only: bool,
    /// Whether the connection persists.
    pub(super) connection: Connection,
}

impl Terms {
    /// The same, but with a closed connection if the server is stopping.
    pub(super) fn at(self, cx: &Context<'_>) -> Terms {
        if cx.stopping { Terms { connection: Connection::Close, ..self } } else { self }
    }

    /// The number of content bytes to send, of `len`.
    pub(super) fn content(self, len: u64) -> u64 {
        if self.head_only { 0 } else { len }
    }

    /// What follows the reply.
    pub(super) fn next(self) -> Next {
        if self.connection == Connection::Close { Next::Close } else { Next::Read }
    }
}

/// Writes the status line and the common fields, up to and including the line end after the date.
pub(super) fn start(buf: &mut Vec<u8>, status: Status, cx: &Context<'_>) {
    buf.extend_from_slice(status.start());
    buf.extend_from_slice(cx.date.as_bytes());
    buf.extend_from_slice(b"\r\n");
}

/// Writes the rest of [`start`] behind a status line without its end.
pub(super) fn after_line(buf: &mut Vec<u8>, cx: &Context<'_>) {
    buf.extend_from_slice(b"\r\nServer: pitot\r\nDate: ");
    buf.extend_from_slice(cx.date.as_bytes());
    buf.extend_from_slice(b"\r\n");
}

/// Counts a reply that reports an error of the client or the server (RFC 9110 section 15).
pub(super) fn count_error(exchange: &mut Exchange, code: u16) {
    match code / 100 {
        4 => exchange.counts.client_errors += 1,
        5 => exchange.counts.server_errors += 1,
        _ => {}
    }
}

/// Writes a header field.
pub(super) fn field(buf: &mut Vec<u8>, name: &str, value: &[u8]) {
    buf.extend_from_slice(name.as_bytes());
    buf.extend_from_slice(b": ");
    buf.extend_from_slice(value);
    buf.extend_from_slice(b"\r\n");
}

/// Writes a Content-Length field.
pub(super) fn content_length(buf: &mut Vec<u8>, len: u64) {
    buf.extend_from_slice(b"Content-Length: ");
    write_decimal(buf, len);
    buf.extend_from_slice(b"\r\n");
}

/// Writes the Connection field, if one is needed, and the empty line.
pub(super) fn finish(buf: &mut Vec<u8>, connection: Connection) {
    buf.extend_from_slice(match connection {
        Connection::Persist => b"\r\n",
        Connection::PersistTold => b"Connection: keep-alive\r\n\r\n",
        Connection::Close => b"Connection: close\r\n\r\n",
    });
}

/// Writes a complete reply with short content, and returns what comes next.
pub(super) fn small(
    exchange: &mut Exchange,
    cx: &Context<'_>,
    status: Status,
    terms: Terms,
    fields: &[(&str, &[u8])],
    content: &[u8],
) -> Next {
    exchange.out.write_with(|buf| {
        start(buf, status, cx);
        for (name, value) in fields {
            field(buf, name, value);
        }
        content_length(buf, content.len() as u64);
        finish(buf, terms.connection);
        if !terms.head_only {
            buf.extend_from_slice(content);
        }
    });
    exchange.replied(status.code(), terms.content(content.len() as u64));
    terms.next()
}

/// The media type of the server's own messages.
pub(super) const TEXT: (&str, &[u8]) = ("Content-Type", b"text/plain; charset=utf-8");

/// Writes a reply with its status and a reason as content, and returns what comes next.
pub(super) fn explain(
    exchange: &mut Exchange,
    cx: &Context<'_>,
    status: Status,
    terms: Terms,
    extra: &[(&str, &[u8])],
    why: &str,
) -> Next {
    let content = [status.line(), ": ", why, "\n"];
    let len: u64 = content.iter().map(|piece| piece.len() as u64).sum();
    exchange.out.write_with(|buf| {
        start(buf, status, cx);
        field(buf, TEXT.0, TEXT.1);
        for (name, value) in extra {
            field(buf, name, value);
        }
        content_length(buf, len);
        finish(buf, terms.connection);
        if !terms.head_only {
            content.iter().for_each(|piece| buf.extend_from_slice(piece.as_bytes()));
        }
    });
    count_error(exchange, status.code());
    exchange.replied(status.code(), terms.content(len));
    terms.next()
}
