//! The registry of URL schemes.

use super::entry::ClientEntry;
use super::{blob, busy, echo, http_entry, memcache, postgres, redis, smtp, trade};

/// All schemes, in the order of lists; the first is the example of a URL.
pub static CLIENTS: &[ClientEntry] = &[
    http_entry::ENTRY,
    blob::ENTRY,
    busy::ENTRY,
    echo::ENTRY,
    memcache::ENTRY,
    postgres::ENTRY,
    redis::ENTRY,
    smtp::ENTRY,
    trade::ENTRY,
];

/// The entry of `scheme`.
pub fn find(scheme: &str) -> Option<&'static ClientEntry> {
    CLIENTS.iter().find(|c| c.scheme == scheme)
}

/// The entry with `scheme` over TLS.
pub fn find_tls(scheme: &str) -> Option<&'static ClientEntry> {
    CLIENTS.iter().find(|c| c.tls.is_some_and(|tls| tls.scheme == scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ClientOptions;
    use crate::request::RequestSpec;
    use crate::url::Url;

    #[test]
    fn every_scheme_stands_once_is_documented_and_builds_its_example() {
        for (i, c) in CLIENTS.iter().enumerate() {
            assert!(CLIENTS[..i].iter().all(|d| d.scheme != c.scheme), "{} stands twice", c.scheme);
            if let Some(tls) = c.tls {
                assert!(find(tls.scheme).is_none(), "{}", tls.scheme);
                assert_eq!(find_tls(tls.scheme).map(|c| c.scheme), Some(c.scheme));
            }
            assert!(!c.summary.is_empty() && c.doc.len() > c.summary.len(), "{} lacks its docs", c.scheme);
            let url = Url::parse(c.example).unwrap();
            assert_eq!(url.scheme, c.scheme);
            let request = RequestSpec { path: url.path.clone(), ..RequestSpec::default() };
            let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
            assert!((c.build)(&url, &options).is_ok(), "{}", c.scheme);
        }
    }
}
