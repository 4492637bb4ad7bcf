//! URLs in files, and the target that they must be on.

use pitot_client::{Url, find, find_tls};

/// Where a URL of a file leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To this path of the target.
    Target(String),
    /// To another host, port or scheme.
    Elsewhere,
    /// Not a URL.
    Nowhere(String),
}

/// Where a path or a URL leads.
pub(super) fn place(url: &str, target: &Url) -> Place {
    if url.starts_with('/') || url == "*" {
        return Place::Target(url.to_owned());
    }
    match Url::parse(url) {
        Ok(found) if is_same_server(&found, target) => {
            Place::Target(if found.path.is_empty() { "/".into() } else { found.path })
        }
        Ok(_) => Place::Elsewhere,
        Err(e) => Place::Nowhere(e.to_string()),
    }
}

fn is_same_server(a: &Url, b: &Url) -> bool {
    let usual = |scheme: &str| match find(scheme) {
        Some(client) => client.port,
        None => find_tls(scheme)?.tls?.port,
    };
    let port = |url: &Url| url.port.or_else(|| usual(&url.scheme));
    a.scheme == b.scheme && a.host.eq_ignore_ascii_case(&b.host) && port(a) == port(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_compared_with_the_target() {
        let target = Url::parse("http://Example.com/ignored").unwrap();
        for (url, wanted) in [
            ("/a?b", Place::Target("/a?b".into())),
            ("http://example.com:80/a#part", Place::Target("/a".into())),
            ("http://EXAMPLE.com", Place::Target("/".into())),
            ("http://example.com:81/a", Place::Elsewhere),
            ("https://example.com/a", Place::Elsewhere),
            ("ws://example.com/", Place::Elsewhere),
        ] {
            assert_eq!(place(url, &target), wanted, "{url}");
        }
        assert!(matches!(place("data:text/plain,x", &target), Place::Nowhere(_)));
    }
}
