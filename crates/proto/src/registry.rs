//! The registry of protocols.

use crate::entry::ProtocolEntry;
use crate::{blob, busy, echo, http, memcache, smtp};

/// All protocols, in the order in which lists show them: from the least work per request to the most.
pub static PROTOCOLS: &[&ProtocolEntry] =
    &[&busy::ENTRY, &echo::ENTRY, &blob::ENTRY, &http::ENTRY, &memcache::ENTRY, &smtp::ENTRY];

/// The protocol of that name.
pub fn find(name: &str) -> Option<&'static ProtocolEntry> {
    PROTOCOLS.iter().copied().find(|p| p.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::ProtocolOptions;

    #[test]
    fn every_entry_is_named_once_and_documented() {
        for (i, p) in PROTOCOLS.iter().enumerate() {
            assert!(PROTOCOLS[..i].iter().all(|q| q.name != p.name), "{} stands twice", p.name);
            assert!(!p.summary.is_empty() && p.doc.len() > p.summary.len(), "{} lacks its docs", p.name);
            assert!((p.build)(&ProtocolOptions::default()).is_ok(), "{} needs an option", p.name);
        }
    }
}
