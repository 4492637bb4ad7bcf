//! One request and its reply, without a socket.

use crate::text::Format;

/// The longest request.
pub(crate) const REQUEST_BYTES_MAX: usize = 8 << 10;
const HEADERS_MAX: usize = 64;

/// Where the figures are.
pub(crate) const PATH: &str = "/metrics";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The rest of the request has not come.
    Partial,
    /// The figures, or for HEAD what they would come with.
    Figures {
        /// Without them.
        head: bool,
        /// Their format.
        format: Format,
    },
    /// Nothing that can be had: status and reason.
    Wrong(u16, &'static str),
}

/// Reads what has come of a request.
pub(crate) fn read(received: &[u8]) -> Asked {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(received) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if received.len() < REQUEST_BYTES_MAX => return Asked::Partial,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Asked::Wrong(431, "Request Header Fields Too Large");
        }
        Err(_) => return Asked::Wrong(400, "Bad Request"),
    }
    let format = format(request.headers);
    let target = request.path.unwrap_or_default();
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    match (request.method.unwrap_or_default(), path) {
        ("GET", PATH) => Asked::Figures { head: false, format },
        ("HEAD", PATH) => Asked::Figures { head: true, format },
        ("GET" | "HEAD", _) => Asked::Wrong(404, "Not Found"),
        _ => Asked::Wrong(405, "Method Not Allowed"),
    }
}

/// What is accepted: OpenMetrics, unless only text is.
fn format(headers: &[httparse::Header<'_>]) -> Format {
    let accepts = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("accept"));
    let accepts: Vec<String> =
        accepts.map(|header| String::from_utf8_lossy(header.value).to_ascii_lowercase()).collect();
    let names = |kind: &str| accepts.iter().any(|accept| accept.contains(kind));
    match names("text/plain") && !names("application/openmetrics-text") {
        true => Format::Plain,
        false => Format::OpenMetrics,
    }
}

/// The reply with the figures.
pub(crate) fn figures(text: &str, format: Format, head: bool) -> Vec<u8> {
    reply("200 OK", format.content_type(), text, head)
}

/// The reply to a request that is wrong.
pub(crate) fn wrong(status: u16, reason: &str) -> Vec<u8> {
    let text = format!("{reason}: the figures are at {PATH}\n");
    reply(&format!("{status} {reason}"), "text/plain; charset=utf-8", &text, false)
}

fn reply(status: &str, kind: &str, text: &str, head: bool) -> Vec<u8> {
    // One request a connection: it is a scrape every few seconds at most.
    let mut reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n",
        text.len()
    );
    if !head {
        reply.push_str(text);
    }
    reply.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_asked_for_by_get_and_head() {
        let scrape = "GET /metrics?name=x HTTP/1.1\r\nHost: 127.0.0.1:9464\r\nAccept: application/openmetrics-text\r\n\r\n";
        for end in 0..scrape.len() {
            assert_eq!(read(&scrape.as_bytes()[..end]), Asked::Partial, "{end}");
        }
        let format = Format::OpenMetrics;
        assert_eq!(read(scrape.as_bytes()), Asked::Figures { head: false, format });
        assert_eq!(read(b"HEAD /metrics HTTP/1.0\r\n\r\n"), Asked::Figures { head: true, format });
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", 404),
            ("POST /metrics HTTP/1.1\r\n\r\n", 405),
            ("nonsense\r\n\r\n", 400),
            ("\u{16}\u{3}\u{1}", 400),
        ] {
            assert!(
                matches!(read(request.as_bytes()), Asked::Wrong(found, _) if found == status),
                "{request:?}"
            );
        }
    }

    #[test]
    fn older_scrapers_get_what_they_accept() {
        for (accept, expected) in [
            ("*/*", Format::OpenMetrics),
            ("text/html", Format::OpenMetrics),
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
                Format::OpenMetrics,
            ),
            ("Text/Plain; version=0.0.4", Format::Plain),
        ] {
            let request = format!("GET /metrics HTTP/1.1\r\naccept: {accept}\r\n\r\n");
            assert_eq!(
                read(request.as_bytes()),
                Asked::Figures { head: false, format: expected },
                "{accept}"
            );
        }
    }

    #[test]
    fn a_request_has_an_end() {
        let long = format!("GET /{} HTTP/1.1", "a".repeat(REQUEST_BYTES_MAX));
        assert!(matches!(read(long.as_bytes()), Asked::Wrong(431, _)));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS_MAX + 1));
        assert!(matches!(read(many.as_bytes()), Asked::Wrong(431, _)));
    }

    #[test]
    fn a_reply_says_how_long_it_is() {
        let text = "# EOF\n";
        let format = Format::OpenMetrics;
        let reply = String::from_utf8(figures(text, format, false)).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n") && reply.ends_with("\r\n\r\n# EOF\n"), "{reply}");
        assert!(reply.contains("Content-Length: 6\r\n") && reply.contains(format.content_type()), "{reply}");
        assert!(String::from_utf8(figures(text, format, true)).unwrap().ends_with("\r\n\r\n"));
    }
}
