//! The client's side of HTTP/1.1 (RFC 9112), for any server.
//!
//! Only the status line and the framing of each reply are parsed, so that a reply costs some fifty nanoseconds. Content is
//! compared only on request.

mod browser;
mod build;
mod chunked;
mod conn;
mod head;
mod reader;
mod session;
mod site;
mod step;
#[cfg(test)]
mod tests;
mod visit;

use crate::client::entry::{ClientEntry, TlsScheme};
use crate::client::http2;
use crate::client::protocol::{ClientOptions, ClientProtocol, HttpVersion};
use crate::client::url::Url;

pub(super) use browser::{Pages, Sight};
pub(super) use build::{check_varied, pages, requests, visiting, without_cookies};
pub(super) use head::Head;
pub(super) use reader::{Parts, Reader};
pub(super) use session::{Compiled, compile};
pub(super) use site::Request;
pub(super) use step::{Step, path};
pub(super) use visit::{Jar, Visiting, Visitor};

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "http",
    summary: "HTTP/1.1 or HTTP/2 to any server: methods, headers, bodies, several weighted paths",
    doc: "The status of every reply is checked; on request its content is compared with a file (--expect-body) or with \
          generated content (--verify, for /bytes/<n>). With --http 2 a connection carries --streams requests at once.",
    port: Some(80),
    tls: Some(TlsScheme { scheme: "https", port: Some(443) }),
    requests_per_connection_max: None,
    url_options: &[],
    has_statuses: true,
    has_methods: true,
    logs_in: true,
    has_commands: false,
    has_sessions: true,
    example: "http://127.0.0.1:8080/bytes/1024",
    build: of_version,
};

fn of_version(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    match options.http {
        HttpVersion::Http1 => build::build(url, options),
        HttpVersion::Http2 => http2::build(url, options),
    }
}
