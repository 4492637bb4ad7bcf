//! From an address in a document to the path of a request (RFC 3986 section 5), as in browsers (WHATWG URL).

use percent_encoding::AsciiSet;

use pitot_proto::percent;

/// The path percent-encode set of browsers (WHATWG URL).
const NOT_OF_TARGETS: &AsciiSet =
    &percent::NOT_GRAPHIC.add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

/// The longest path of a request, bytes; longer addresses are ignored.
const TARGET_MAX: usize = 8 * 1024;

/// The host whose pages are read.
#[derive(Clone, Debug)]
pub struct Origin {
    scheme: String,
    /// Names of the host with their ports, in lower case.
    authorities: Vec<(String, u16)>,
}

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To the same host.
    Here,
    /// To another host, port or scheme.
    Elsewhere,
    /// Nothing to load: the address contains its content, is a part of the document, or a script.
    Nowhere,
}

/// The base of the relative addresses of a document.
#[derive(Clone, Debug, Default)]
pub struct Base {
    /// The path with its query.
    target: Vec<u8>,
    elsewhere: bool,
}

impl Origin {
    /// The origin of `scheme://host:port`, with other names of the server, such as that of a `Host` header.
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

    /// The host and the port in an address.
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
    /// Begins the document at this path.
    pub fn set(&mut self, target: &[u8]) {
        self.target.clear();
        self.target.extend_from_slice(target);
        self.elsewhere = false;
    }

    /// The path with its query.
    pub fn target(&self) -> &[u8] {
        &self.target
    }

    /// Changes the base, as `<base>` does.
    pub(super) fn change(&mut self, origin: &Origin, address: &[u8]) {
        let mut target = Vec::new();
        match self.resolve(origin, address, &mut target) {
            Place::Here => self.target = target,
            Place::Elsewhere => self.elsewhere = true,
            Place::Nowhere => {}
        }
    }

    /// Appends the path of an address on the same host. For other places, the appended text is meaningless.
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

/// The scheme of an address, and the rest.
fn scheme(address: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let end = address.iter().position(|&b| !b.is_ascii_alphanumeric() && !matches!(b, b'+' | b'-' | b'.'));
    match end {
        Some(end) if end > 0 && address[end] == b':' && address[0].is_ascii_alphabetic() => {
            (Some(&address[..end]), &address[end + 1..])
        }
        _ => (None, address),
    }
}

/// Appends a relative path and its query to the path that begins at `start`, without dot segments, and percent-encodes what a
/// request must not contain.
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
    // Line breaks are ignored.
    for line in text.split(|b| matches!(b, b'\t' | b'\n' | b'\r')) {
        percent::encode(line, NOT_OF_TARGETS, target);
    }
}
