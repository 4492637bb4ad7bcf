//! The options of `http` that no other protocol has.

/// What a site serves, and how. Limits that protocols share are in [`ProtocolOptions`](crate::ProtocolOptions).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpOptions {
    /// Which names that start with a dot are served.
    pub dot_files: DotFiles,
    /// Send a file's `.br`, `.zst` or `.gz` to clients that accept its content coding. That there is none is remembered for
    /// this many seconds of the clock, 0 for not at all; `None` is to send files as they are only.
    pub precompressed: Option<u64>,
    /// List the directories that have no `index.html`.
    pub index: bool,
    /// Write a line about each request to the log of the worker; this stands in the place of an address if the client has
    /// none.
    pub access_log: Option<&'static str>,
}

/// Which files and directories are served whose names start with a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DotFiles {
    /// None of them.
    None,
    /// Those below `/.well-known/` (RFC 8615), which itself is at the top only.
    #[default]
    WellKnown,
    /// All of them.
    All,
}

impl DotFiles {
    /// True if a component of a path, the first one or a later one, is not served.
    pub(super) fn hides(self, name: &[u8], is_first: bool) -> bool {
        name.first().is_none_or(|&b| b == b'.')
            && match self {
                DotFiles::None => true,
                DotFiles::WellKnown => !(is_first && name == b".well-known"),
                DotFiles::All => name.is_empty(),
            }
    }
}
