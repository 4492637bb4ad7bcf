//! The schemes `http` and `https`, for both versions of HTTP.

use super::entry::{ClientEntry, TlsScheme};
use super::protocol::{ClientOptions, ClientProtocol, HttpVersion};
use super::url::Url;
use super::{http, http2};

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "http",
    summary: "HTTP/1.1 or HTTP/2 to any server: methods, headers, bodies, several weighted paths",
    doc: "The status of every reply is checked. --expect-body compares its content with a file, --verify with the \
          generated content of /bytes/N. With --http 2, a connection carries --streams requests at once.",
    port: Some(80),
    tls: Some(TlsScheme { scheme: "https", port: Some(443) }),
    requests_per_connection_max: None,
    url_options: &[],
    has_statuses: true,
    has_methods: true,
    logs_in: true,
    has_commands: false,
    takes_body_files: true,
    has_sessions: true,
    example: "http://127.0.0.1:8080/bytes/1024",
    build: of_version,
};

fn of_version(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    match options.http {
        HttpVersion::Http1 => http::build(url, options),
        HttpVersion::Http2 => http2::build(url, options),
    }
}
