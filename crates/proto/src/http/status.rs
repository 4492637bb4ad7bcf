//! `/status/N`: a reply with this status, like the errors of a backend.

use super::reply::{self, ALLOW, TEXT, Terms};
use super::syntax::write_decimal;
use crate::{Context, Exchange, Next};

/// The prefix of its path.
pub(super) const PREFIX: &[u8] = b"/status/";
/// The reason to refuse a number.
pub(super) const OUT_OF_RANGE: &str = "a status must be 200 to 599";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made(u16);

/// The reply with this status; `None` below 200, since another reply would follow.
pub(super) fn made(code: u64) -> Option<Made> {
    u16::try_from(code).ok().filter(|code| (200..=599).contains(code)).map(Made)
}

impl Made {
    /// Writes the reply, and returns what follows it.
    pub(super) fn reply(self, exchange: &mut Exchange, cx: &Context<'_>, terms: Terms) -> Next {
        let Made(code) = self;
        // Neither has content (RFC 9110 sections 15.3.5 and 15.4.5).
        let has_content = !matches!(code, 204 | 304);
        let content = self.content();
        exchange.out.write_with(|buf| {
            buf.extend_from_slice(b"HTTP/1.1 ");
            self.write_line(buf);
            reply::after_line(buf, cx);
            if let Some((name, value)) = self.field() {
                reply::field(buf, name, value);
            }
            if has_content {
                reply::field(buf, TEXT.0, TEXT.1);
                reply::content_length(buf, content.len() as u64);
            }
            reply::finish(buf, terms.connection);
            if has_content && !terms.head_only {
                buf.extend_from_slice(&content);
            }
        });
        reply::count_error(exchange, code);
        exchange.replied(code, if has_content { terms.content(content.len() as u64) } else { 0 });
        terms.next()
    }

    fn write_line(self, buf: &mut Vec<u8>) {
        write_decimal(buf, u64::from(self.0));
        // The space remains without a phrase (RFC 9112 section 4).
        buf.push(b' ');
        buf.extend_from_slice(phrase(self.0).as_bytes());
    }

    fn content(self) -> Vec<u8> {
        let mut content = Vec::new();
        self.write_line(&mut content);
        content.extend_from_slice(b": this status was requested\n");
        content
    }

    /// The field that a valid reply of this status needs.
    fn field(self) -> Option<(&'static str, &'static [u8])> {
        match self.0 {
            301 | 302 | 303 | 307 | 308 => Some(("Location", b"/")),
            401 => Some(("WWW-Authenticate", b"Basic realm=\"pitot\"")),
            405 => Some(("Allow", ALLOW)),
            407 => Some(("Proxy-Authenticate", b"Basic realm=\"pitot\"")),
            426 => Some(("Upgrade", b"HTTP/1.1")),
            _ => None,
        }
    }
}

/// The reason phrases of RFC 9110 and RFC 6585 for common statuses; a phrase may be empty.
fn phrase(code: u16) -> &'static str {
    match code {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        413 => "Content Too Large",
        418 => "(Unused)",
        422 => "Unprocessable Content",
        425 => "Too Early",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}
