//! Reply heads.

use super::syntax::write_decimal;
use crate::{Context, Exchange, Next};

/// The methods that every resource here allows.
pub(super) const ALLOW: &[u8] = b"GET, HEAD, POST, OPTIONS";

/// The same where files may be put.
pub(super) const ALLOW_PUT: &[u8] = b"GET, HEAD, POST, PUT, OPTIONS";

/// Declares the statuses; each knows the start of its reply head, up to the date, as one string.
macro_rules! statuses {
    ($($name:ident $line:literal)*) => {
        /// The status of a reply.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Status {
            $($name,)*
        }

        impl Status {
            /// The code with its reason phrase.
            pub(super) fn line(self) -> &'static str {
                match self {
                    $(Status::$name => $line,)*
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

/// What becomes of the connection after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// It stays open, which goes without saying in HTTP/1.1.
    Persist,
    /// It stays open, and an HTTP/1.0 client has to be told.
    PersistTold,
    /// It is closed.
    Close,
}

/// What a request lays down for the form of its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// No content follows the head, as after HEAD.
    pub(super) head_only: bool,
    /// What becomes of the connection.
    pub(super) connection: Connection,
}

impl Terms {
    /// The same, unless the server is stopping: then the connection is closed.
    pub(super) fn at(self, cx: &Context<'_>) -> Terms {
        if cx.stopping { Terms { connection: Connection::Close, ..self } } else { self }
    }

    /// What the caller is to do once the reply is in the outbox.
    pub(super) fn next(self) -> Next {
        if self.connection == Connection::Close { Next::Close } else { Next::Read }
    }
}

/// Writes the status line and the fields that every reply has, up to and with the line end after the date.
pub(super) fn start(buf: &mut Vec<u8>, status: Status, cx: &Context<'_>) {
    buf.extend_from_slice(status.start());
    buf.extend_from_slice(cx.date.as_bytes());
    buf.extend_from_slice(b"\r\n");
}

/// Writes a field.
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

/// Writes what is to be said of the connection, and the empty line.
pub(super) fn finish(buf: &mut Vec<u8>, connection: Connection) {
    buf.extend_from_slice(match connection {
        Connection::Persist => b"\r\n",
        Connection::PersistTold => b"Connection: keep-alive\r\n\r\n",
        Connection::Close => b"Connection: close\r\n\r\n",
    });
}

/// Puts a whole reply with a short content in the outbox, and says what comes next.
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
    exchange.reply_done();
    terms.next()
}

/// The media type of what the server says itself.
pub(super) const TEXT: (&str, &[u8]) = ("Content-Type", b"text/plain; charset=utf-8");

/// Puts a reply in the outbox whose content is its status and why, and says what comes next.
pub(super) fn explain(
    exchange: &mut Exchange,
    cx: &Context<'_>,
    status: Status,
    terms: Terms,
    extra: &[(&str, &[u8])],
    why: &str,
) -> Next {
    let content = [status.line(), ": ", why, "\n"];
    exchange.out.write_with(|buf| {
        start(buf, status, cx);
        field(buf, TEXT.0, TEXT.1);
        for (name, value) in extra {
            field(buf, name, value);
        }
        content_length(buf, content.iter().map(|piece| piece.len() as u64).sum());
        finish(buf, terms.connection);
        if !terms.head_only {
            content.iter().for_each(|piece| buf.extend_from_slice(piece.as_bytes()));
        }
    });
    exchange.reply_done();
    terms.next()
}
