//! What an entry of the registry is.

use crate::memcache::options::MemcacheOptions;
use crate::server::Protocol;
use crate::smtp::options::SmtpOptions;

/// One protocol of the registry.
#[derive(Debug)]
pub struct ProtocolEntry {
    /// The word that users type.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// True if it serves files, and so wants a root.
    pub files: bool,
    /// The URL with which `pitot load` asks it for replies of a size, in a plan that names none.
    pub load_url: &'static str,
    /// Makes the protocol's shared state, or says in one line what is wrong with the options.
    pub build: fn(&ProtocolOptions) -> Result<Box<dyn Protocol>, String>,
}

/// What a user may set for a protocol. Each protocol reads its own fields.
#[derive(Clone, Debug)]
pub struct ProtocolOptions {
    /// A root of files is being served.
    pub root: bool,
    /// The most bytes of a request's head: request line and header fields with their line ends.
    pub head_bytes_max: usize,
    /// The most bytes of a request line with its line end.
    pub request_line_bytes_max: usize,
    /// The most bytes of content that a request may carry.
    pub content_bytes_max: u64,
    /// Files may be put below the root.
    pub writable: bool,
    /// The most bytes of a file that is put there.
    pub upload_bytes_max: u64,
    /// What is said of the cache of `memcache`.
    pub memcache: MemcacheOptions,
    /// What is said of the mail server.
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
            memcache: MemcacheOptions::default(),
            smtp: SmtpOptions::default(),
        }
    }
}
