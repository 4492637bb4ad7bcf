//! The options of `http`.

/// The options of a site. Limits that protocols share are in [`ProtocolOptions`](crate::ProtocolOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpOptions {
    /// Which names that start with a dot are served.
    pub dot_files: DotFiles,
    /// Send a file's `.br`, `.zst` or `.gz` to clients that accept its coding. A missing one is remembered for so many seconds, 0 for
    /// not at all. `None` sends only the files themselves.
    pub precompressed: Option<u64>,
    /// List the directories that have no `index.html`.
    pub index: bool,
    /// Write a line about each request to the worker's log; the value replaces the address of clients without one.
    pub access_log: Option<&'static str>,
}

/// Which names with a leading dot are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DotFiles {
    /// None of them.
    None,
    /// Those below `/.well-known/` (RFC 8615), which itself must be at the top.
    #[default]
    WellKnown,
    /// All of them.
    All,
}

impl DotFiles {
    /// True if this component of a path is not served.
    pub(super) fn hides(self, name: &[u8], is_first: bool) -> bool {
        name.first().is_none_or(|&b| b == b'.')
            && match self {
                DotFiles::None => true,
                DotFiles::WellKnown => !(is_first && name == b".well-known"),
                DotFiles::All => name.is_empty(),
            }
    }
}
