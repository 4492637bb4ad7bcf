//! The protocols, as data.

use crate::{Protocol, blob, busy};

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
    /// Makes the protocol's shared state, or says in one line what is wrong with the options.
    pub build: fn(&ProtocolOptions) -> Result<Box<dyn Protocol>, String>,
}

/// What a user may set for a protocol. Each protocol reads its own fields.
#[derive(Clone, Debug, Default)]
pub struct ProtocolOptions {
    /// A root of files is being served.
    pub root: bool,
}

/// All protocols, in the order in which lists show them: from the least work per request to the most.
pub static PROTOCOLS: &[ProtocolEntry] = &[
    ProtocolEntry {
        name: "busy",
        summary: "answers `450 too busy` to every connection and closes",
        doc: "The service of the 2001 comparison of task architectures: what it costs to accept a connection, say \
              one line and close it, with nothing else in the way.",
        files: false,
        build: busy::build,
    },
    ProtocolEntry {
        name: "blob",
        summary: "answers `GET <n>` by n bytes; connections persist and pipeline",
        doc: "The transfer service of the 2006 comparison of select and epoll: the smallest request and reply that \
              still carry a payload, from 1 byte to 1 GiB (1024 bytes where the request names no size).",
        files: false,
        build: blob::build,
    },
];

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static ProtocolEntry> {
    PROTOCOLS.iter().find(|p| p.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_named_once_and_documented() {
        for (i, p) in PROTOCOLS.iter().enumerate() {
            assert!(PROTOCOLS[..i].iter().all(|q| q.name != p.name), "{} stands twice", p.name);
            assert!(!p.summary.is_empty() && p.doc.len() > p.summary.len(), "{} lacks its docs", p.name);
            assert!((p.build)(&ProtocolOptions::default()).is_ok(), "{} needs an option", p.name);
        }
    }
}
