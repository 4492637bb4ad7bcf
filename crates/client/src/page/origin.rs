//! From an address in a document to the path of a request (RFC 3986 section 5), as browsers do it (WHATWG URL).

use percent_encoding::AsciiSet;

use pitot_proto::percent;

/// What browsers encode (WHATWG URL, the path percent-encode set).
const NOT_OF_TARGETS: &AsciiSet =
    &percent::NOT_GRAPHIC.add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

/// The longest path of a request; what is longer is no address.
const TARGET_MAX: usize = 8 * 1024;

/// The host whose pages are read: everything else is elsewhere.
#[derive(Clone, Debug)]
pub struct Origin {
    scheme: String,
    /// Names of the host, each with its port, in lower case.
    authorities: Vec<(String, u16)>,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To the same host.
    Here,
    /// To another host, port or scheme.
    Elsewhere,
    /// Nowhere from which something could be got: it holds its content itself, is a part of the document, or a script.
    Nowhere,
}

/// What relative addresses of a document are relative to.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The path with its query.
    target: Vec<u8>,
    elsewhere: bool,
}

impl Origin {
    /// The origin of `scheme://host:port`, which the server may know by other names too, such as that of a `Host` header.
    pub fn new<'a>(scheme: &str, host: &str, port: u16, others: impl IntoIterator<Item = &'a str>) -> Origin {
        let mut origin = Origin { scheme: scheme.to_ascii_lowercase(), authorities: Vec::new() };
        origin.authorities.push((host.to_ascii_lowercase(), port));
        for other in others {
            origin.authorities.extend(origin.authority(other.as_bytes()));
        }
        origin
    }

    fn port(&self) -> u16 {
        if self.scheme == "https" { 443 } else { 80 }
    }

    /// The host and the port that stand in an address.
    fn authority(&self, text: &[u8]) -> Option<(String, u16)> {
        let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (&*text, ""),
        };
        let port = if port.is_empty() { self.port() } else { port.parse().ok()? };
        Some((host.trim_start_matches('[').trim_end_matches(']').to_owned(), port))
    }

    fn is_here(&self, scheme: Option<&[u8]>, authority: &[u8]) -> bool {
        scheme.is_none_or(|s| s.eq_ignore_ascii_case(self.scheme.as_bytes()))
            && self.authority(authority).is_some_and(|a| self.authorities.contains(&a))
    }
}

impl Base {
    /// The document at this path is read from now on.
    pub fn set(&mut self, target: &[u8]) {
        self.target.clear();
        self.target.extend_from_slice(target);
        self.elsewhere = false;
    }

    /// The path with its query.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// The document names another base.
    pub(super) fn change(&mut self, origin: &Origin, address: &[u8]) {
        let mut target = Vec::new();
        match self.resolve(origin, address, &mut target) {
            Place::Here => self.target = target,
            Place::Elsewhere => self.elsewhere = true,
            Place::Nowhere => {}
        }
    }

    /// Appends the path that an address stands for, if it is on the same host; else what is appended is of no use.
    pub fn resolve(&self, origin: &Origin, address: &[u8], target: &mut Vec<u8>) -> Place {
        let address = address.trim_ascii();
        let address = match memchr::memchr(b'#', address) {
            Some(at) => &address[..at],
            None => address,
        };
        if address.is_empty() || address.len() > TARGET_MAX {
            return Place::Nowhere;
        }
        let (scheme, rest) = scheme(address);
        if let Some(scheme) = scheme
            && !scheme.eq_ignore_ascii_case(b"http")
            && !scheme.eq_ignore_ascii_case(b"https")
        {
            return Place::Nowhere;
        }
        let (kept, rest) = match rest {
            [b'/' | b'\\', b'/' | b'\\', rest @ ..] => {
                let end = rest.iter().position(|b| matches!(b, b'/' | b'\\' | b'?')).unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                if !origin.is_here(scheme, authority) {
                    return Place::Elsewhere;
                }
                (&b"/"[..], path.strip_prefix(b"/").or(path.strip_prefix(b"\\")).unwrap_or(path))
            }
            _ if scheme.is_some() => return Place::Nowhere,
            _ if self.elsewhere => return Place::Elsewhere,
            [b'/' | b'\\', rest @ ..] => (&b"/"[..], rest),
            relative => {
                let path = &self.target[..memchr::memchr(b'?', &self.target).unwrap_or(self.target.len())];
                let directory = memchr::memrchr(b'/', path).map_or(0, |slash| slash + 1);
                (if relative[0] == b'?' { path } else { &path[..directory] }, relative)
            }
        };
        let start = target.len();
        target.extend_from_slice(kept);
        append(target, start, rest);
        if target.len() - start > TARGET_MAX { Place::Nowhere } else { Place::Here }
    }
}

/// The scheme that an address begins with, and the rest.
fn scheme(address: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let end = address.iter().position(|&b| !b.is_ascii_alphanumeric() && !matches!(b, b'+' | b'-' | b'.'));
    match end {
        Some(end) if end > 0 && address[end] == b':' && address[0].is_ascii_alphabetic() => {
            (Some(&address[..end]), &address[end + 1..])
        }
        _ => (None, address),
    }
}

/// Appends a relative path and its query to the path that begins at `start`, without dots, and with `%20` and the like
/// for what a request must not hold.
fn append(target: &mut Vec<u8>, start: usize, relative: &[u8]) {
    let (path, query) = relative.split_at(memchr::memchr(b'?', relative).unwrap_or(relative.len()));
    if target.len() == start {
        target.push(b'/');
    }
    let mut segments = path.split(|b| matches!(b, b'/' | b'\\')).peekable();
    while let Some(segment) = segments.next() {
        match segment {
            b"." => {}
            b".." => {
                let directory = target[start..].strip_suffix(b"/").unwrap_or(&target[start..]);
                let up = memchr::memrchr(b'/', directory).unwrap_or(0);
                target.truncate(start + up + 1);
            }
            segment => {
                encode(segment, target);
                if segments.peek().is_some() {
                    target.push(b'/');
                }
            }
        }
    }
    encode(query, target);
}

fn encode(text: &[u8], target: &mut Vec<u8>) {
    // Lines may be broken anywhere.
    for line in text.split(|b| matches!(b, b'\t' | b'\n' | b'\r')) {
        percent::encode(line, NOT_OF_TARGETS, target);
    }
}
