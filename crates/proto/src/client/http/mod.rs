//! The client's side of HTTP/1.1 (RFC 9112), for any server.
//!
//! Each reply's status line and framing are read, whatever the last one looked like; nothing else of a head is looked
//! at, so that a reply costs some fifty nanoseconds. Content is compared only where asked.

mod build;
mod chunked;
mod conn;
mod head;
mod site;
#[cfg(test)]
mod tests;

use crate::client::entry::ClientEntry;

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "http",
    summary: "HTTP/1.1 to any server: methods, headers, bodies, several weighted paths",
    doc: "Every reply is framed by its own head and its status is checked; its content is compared with a file \
          (--expect-body) or with generated content (--verify, for /bytes/<n>) where asked.",
    port: Some(80),
    requests_per_connection_max: None,
    example: "http://127.0.0.1:8080/bytes/1024",
    build: build::build,
};
