use std::fmt;

/// The parts of a target: `scheme://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// What stands before `://`.
    pub scheme: String,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// The port, where it is named.
    pub port: Option<u16>,
    /// The path with its query, from its first slash; empty if there is none.
    pub path: String,
}

/// Why a word is not a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlError {
    /// No `scheme://` in front.
    Scheme,
    /// No host.
    Host,
    /// The port is not a number from 1 to 65535.
    Port,
    /// A name and password, which no protocol here uses.
    UserInfo,
    /// A space or a control character, or one that is not ASCII.
    Character,
}

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UrlError::Scheme => "it has no scheme such as `http://`",
            UrlError::Host => "it names no host",
            UrlError::Port => "its port is not a number from 1 to 65535",
            UrlError::UserInfo => "it holds a user name",
            UrlError::Character => "it holds a space or a character that is not printable ASCII",
        })
    }
}

impl std::error::Error for UrlError {}

impl Url {
    /// Takes a word apart. A fragment (`#...`) is dropped, as it is never sent.
    ///
    /// # Errors
    /// See [`UrlError`].
    pub fn parse(word: &str) -> Result<Url, UrlError> {
        if !word.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(UrlError::Character);
        }
        let (scheme, rest) = word.split_once("://").ok_or(UrlError::Scheme)?;
        if scheme.is_empty() || !scheme.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(UrlError::Scheme);
        }
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err(UrlError::UserInfo);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, after) = v6.split_once(']').ok_or(UrlError::Host)?;
                match after {
                    "" => (host, None),
                    _ => (host, Some(after.strip_prefix(':').ok_or(UrlError::Port)?)),
                }
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            },
        };
        if host.is_empty() {
            return Err(UrlError::Host);
        }
        let port = match port {
            None => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok().filter(|&p| p != 0).ok_or(UrlError::Port)?)
            }
            Some(_) => return Err(UrlError::Port),
        };
        let slash = if path.starts_with('?') { "/" } else { "" };
        Ok(Url {
            scheme: scheme.to_ascii_lowercase(),
            host: host.to_owned(),
            port,
            path: format!("{slash}{path}"),
        })
    }

    /// The host and, where it is named, the port, as a Host header wants them.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        for (word, scheme, host, port, path) in [
            ("http://localhost:8080/a?b=c#d", "http", "localhost", Some(8080), "/a?b=c"),
            ("HTTP://10.0.0.1", "http", "10.0.0.1", None, ""),
            ("http://[::1]:80/", "http", "::1", Some(80), "/"),
            ("http://[::1]", "http", "::1", None, ""),
            ("http://h?x", "http", "h", None, "/?x"),
            ("blob://h:1/1024", "blob", "h", Some(1), "/1024"),
        ] {
            let url = Url::parse(word).unwrap();
            assert_eq!(
                (&*url.scheme, &*url.host, url.port, &*url.path),
                (scheme, host, port, path),
                "{word}"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (word, error) in [
            ("localhost:80", UrlError::Scheme),
            ("://x", UrlError::Scheme),
            ("http:/x", UrlError::Scheme),
            ("http://", UrlError::Host),
            ("http:///path", UrlError::Host),
            ("http://:80", UrlError::Host),
            ("http://h:", UrlError::Port),
            ("http://h:0", UrlError::Port),
            ("http://h:65536", UrlError::Port),
            ("http://h:+80", UrlError::Port),
            ("http://h:http", UrlError::Port),
            ("http://[::1]80", UrlError::Port),
            ("http://[::1", UrlError::Host),
            ("http://me@h", UrlError::UserInfo),
            ("http://h/a b", UrlError::Character),
            ("http://h/\r\n", UrlError::Character),
            ("http://h\u{e9}", UrlError::Character),
        ] {
            assert_eq!(Url::parse(word), Err(error), "{word:?}");
        }
    }

    #[test]
    fn an_ipv6_authority_keeps_its_brackets() {
        assert_eq!(Url::parse("http://[::1]:81").unwrap().authority(), "[::1]:81");
    }
}
