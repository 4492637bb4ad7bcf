//! An entry of the registry.

use crate::http::options::HttpOptions;
use crate::memcache::options::MemcacheOptions;
use crate::server::Protocol;
use crate::smtp::options::SmtpOptions;

/// One protocol of the registry.
#[derive(Debug)]
pub struct ProtocolEntry {
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// True if it serves files and can have a root.
    pub files: bool,
    /// The default URL of a load in a plan, with placeholders for the address and the size of replies.
    pub load_url: &'static str,
    /// When TLS begins on its connections, if the server has a certificate.
    pub tls: TlsBegins,
    /// Creates the protocol's shared state; an error is one line about the options.
    pub build: fn(&ProtocolOptions) -> Result<Box<dyn Protocol>, String>,
}

/// When TLS begins on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsBegins {
    /// Before the protocol, which has these names in the handshake (ALPN).
    AtOnce {
        /// The names.
        alpn: &'static [&'static [u8]],
    },
    /// When the client requests it in the protocol (STARTTLS).
    OnRequest,
}

/// The options of the protocols. Each protocol reads its own fields.
#[derive(Clone, Debug)]
pub struct ProtocolOptions {
    /// True if the files of a root are served.
    pub root: bool,
    /// Limit on the head of a request in bytes: request line and header fields with their line ends.
    pub head_bytes_max: usize,
    /// Limit on the request line with its line end, in bytes.
    pub request_line_bytes_max: usize,
    /// Limit on the content of a request, in bytes.
    pub content_bytes_max: u64,
    /// True if clients may store files below the root.
    pub writable: bool,
    /// Limit on the size of a stored file, in bytes.
    pub upload_bytes_max: u64,
    /// The options of `http`.
    pub http: HttpOptions,
    /// The options of `memcache`.
    pub memcache: MemcacheOptions,
    /// The options of `smtp`.
    pub smtp: SmtpOptions,
}

impl Default for ProtocolOptions {
    fn default() -> ProtocolOptions {
        ProtocolOptions {
            root: false,
            head_bytes_max: 16 * 1024,
            request_line_bytes_max: 8 * 1024,
            content_bytes_max: 1024 * 1024,
            writable: false,
            upload_bytes_max: 1 << 30,
            http: HttpOptions::default(),
            memcache: MemcacheOptions::default(),
            smtp: SmtpOptions::default(),
        }
    }
}
