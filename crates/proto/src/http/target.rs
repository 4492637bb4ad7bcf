//! Request targets (RFC 9112 section 3.2) and the file paths that they name.
//!
//! A path is decoded once, component by component, and refused rather than repaired: dot segments, empty components, encoded
//! slashes, backslashes and NUL have no legitimate use after a client has normalised its URL, and with every repair two
//! parties could disagree about the file. [`DotFiles`] decides which names with a leading dot are served.

use super::options::DotFiles;
use crate::percent;

/// The target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestTarget<'a> {
    /// A resource, in origin-form or absolute-form.
    Resource {
        /// Its path.
        path: Path<'a>,
        /// The query, without its question mark.
        query: Option<&'a [u8]>,
    },
    /// The server as a whole (`OPTIONS *`).
    Server,
}

/// The path of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<'a> {
    /// The path as sent; it starts with a slash.
    pub raw: &'a [u8],
    /// True if it needs neither decoding nor checks.
    plain: bool,
}

/// Parses a request target. The authority-form, which belongs to CONNECT, is not supported.
///
/// # Errors
/// What is wrong with it.
pub fn parse(target: &[u8]) -> Result<RequestTarget<'_>, &'static str> {
    let relative = match target {
        [b'/', ..] => target,
        b"*" => return Ok(RequestTarget::Server),
        _ => after_authority(target)?,
    };
    let (mut seen, mut before, mut end) = (0, 0, relative.len());
    for (at, &b) in relative.iter().enumerate() {
        let class = class_of(b);
        if class & QUERY != 0 {
            end = at;
            break;
        }
        seen |= class & (INVALID | SPECIAL | before);
        // Another slash or a dot after a slash is special.
        before = (class & SLASH) << 1;
    }
    let (raw, query) = match relative[end..].split_first() {
        Some((_, query)) => (&relative[..end], Some(query)),
        None => (relative, None),
    };
    if seen & INVALID != 0 || query.is_some_and(|query| query.iter().any(|&b| class_of(b) & INVALID != 0)) {
        return Err("the target contains a fragment or bytes other than visible ASCII");
    }
    let path = Path { raw: if raw.is_empty() { b"/" } else { raw }, plain: seen == 0 };
    Ok(RequestTarget::Resource { path, query })
}

/// Not allowed in a target.
const INVALID: u8 = 1;
/// Has a special meaning in a path, or is refused there.
const SPECIAL: u8 = 2;
const SLASH: u8 = 4;
/// Is special in a path after a slash.
const BEHIND_SLASH: u8 = SLASH << 1;
const QUERY: u8 = 16;

/// The classes of each byte in a target, as bits.
fn class_of(b: u8) -> u8 {
    const CLASSES: [u8; 256] = {
        let mut classes = [INVALID; 256];
        let mut b = 0x21;
        while b < 0x7f {
            classes[b as usize] = match b {
                b'#' => INVALID,
                b'%' | b'\\' => SPECIAL,
                b'/' => SLASH | BEHIND_SLASH,
                b'.' => BEHIND_SLASH,
                b'?' => QUERY,
                _ => 0,
            };
            b += 1;
        }
        classes
    };
    CLASSES[usize::from(b)]
}

/// The part after the authority of an absolute-form target. The authority must be valid, but all names refer to the
/// same site.
fn after_authority(target: &[u8]) -> Result<&[u8], &'static str> {
    let scheme_end =
        target.iter().position(|&b| b == b':').ok_or("the target is neither a path nor a URL")?;
    let (scheme, rest) = target.split_at(scheme_end);
    let known = scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https");
    let rest = rest.strip_prefix(b"://").filter(|_| known).ok_or("the target is not an http URL")?;
    let authority_end = rest.iter().position(|&b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(authority_end);
    if authority.is_empty() || !is_authority(authority) {
        return Err("the URL does not name a valid host");
    }
    Ok(rest)
}

/// True for a host with an optional port (RFC 9110 section 7.2), the empty one included. User information is refused,
/// as section 4.2.4 advises.
pub fn is_authority(value: &[u8]) -> bool {
    let port = match value.strip_prefix(b"[") {
        Some(literal) => {
            let Some(end) = literal.iter().position(|&b| b == b']') else { return false };
            if end == 0 || !literal[..end].iter().all(|&b| is_host_byte(b) || b == b':') {
                return false;
            }
            &literal[end + 1..]
        }
        None => &value[value.iter().position(|&b| !is_host_byte(b)).unwrap_or(value.len())..],
    };
    match port.strip_prefix(b":") {
        Some(digits) => digits.iter().all(u8::is_ascii_digit),
        None => port.is_empty(),
    }
}

/// A byte of a registered name (RFC 3986 section 3.2.2).
fn is_host_byte(b: u8) -> bool {
    const HOST_BYTE: [bool; 256] = {
        let bytes = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~%!$&'()*+,;=";
        let mut table = [false; 256];
        let mut at = 0;
        while at < bytes.len() {
            table[bytes[at] as usize] = true;
            at += 1;
        }
        table
    };
    HOST_BYTE[usize::from(b)]
}

/// Why a path cannot refer to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It is malformed or tries to leave the root (400).
    Refused(&'static str),
    /// It is valid, but never served (404).
    Hidden,
}

/// What a path refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A file (or a directory without the trailing slash).
    File,
    /// A directory: the path ends with a slash, and so does the decoded form, unless it is the root.
    Directory,
}

impl Path<'_> {
    /// Appends the decoded form to `out`: relative, without empty components, dot segments, NUL, backslash, and components
    /// that `dot_files` hides.
    ///
    /// # Errors
    /// Why it cannot refer to a file. The content of `out` is then unspecified.
    pub fn decode(&self, dot_files: DotFiles, out: &mut Vec<u8>) -> Result<Named, PathError> {
        if self.plain {
            out.extend_from_slice(&self.raw[1..]);
            return Ok(if self.raw.ends_with(b"/") { Named::Directory } else { Named::File });
        }
        self.decode_components(dot_files, out)
    }

    fn decode_components(&self, dot_files: DotFiles, out: &mut Vec<u8>) -> Result<Named, PathError> {
        let first = out.len();
        let mut start = first;
        let mut bytes = self.raw[1..].iter();
        while let Some(&b) = bytes.next() {
            let b = match b {
                // Slashes in a row are one, as in nginx (merge_slashes) and in POSIX path resolution.
                b'/' if start == out.len() => continue,
                b'/' => {
                    check_component(&out[start..], start == first, dot_files)?;
                    out.push(b'/');
                    start = out.len();
                    continue;
                }
                b'%' => match (bytes.next().and_then(hex), bytes.next().and_then(hex)) {
                    (Some(high), Some(low)) => high << 4 | low,
                    _ => {
                        let why = "a percent sign is not followed by two hexadecimal digits";
                        return Err(PathError::Refused(why));
                    }
                },
                b => b,
            };
            match b {
                0 => return Err(PathError::Refused("the path contains a NUL")),
                b'\\' => return Err(PathError::Refused("the path contains a backslash")),
                b'/' => return Err(PathError::Hidden),
                _ => out.push(b),
            }
        }
        if start == out.len() {
            return Ok(Named::Directory);
        }
        check_component(&out[start..], start == first, dot_files)?;
        Ok(Named::File)
    }
}

fn check_component(component: &[u8], is_first: bool, dot_files: DotFiles) -> Result<(), PathError> {
    match component {
        b"." | b".." => Err(PathError::Refused("the path contains a dot segment")),
        name if dot_files.hides(name, is_first) => Err(PathError::Hidden),
        _ => Ok(()),
    }
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).map(|d| d as u8)
}

/// Appends `path`, decoded and relative, as an absolute path reference. It cannot be mistaken for a reference to
/// another host (`//host`), since a decoded path has no empty components.
pub fn encode(path: &[u8], out: &mut Vec<u8>) {
    for component in path.split(|&b| b == b'/') {
        out.push(b'/');
        encode_component(component, out);
    }
}

/// Appends a component of a path, encoded for a reference.
pub(super) fn encode_component(component: &[u8], out: &mut Vec<u8>) {
    percent::encode(component, percent::RESERVED, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource<'a>(path: &'a str, query: Option<&'a str>) -> Result<Option<Split<'a>>, &'static str> {
        Ok(Some((path.as_bytes(), query.map(str::as_bytes))))
    }

    /// Path and query.
    type Split<'a> = (&'a [u8], Option<&'a [u8]>);

    fn split(target: &str) -> Result<Option<Split<'_>>, &'static str> {
        Ok(match parse(target.as_bytes())? {
            RequestTarget::Resource { path, query } => Some((path.raw, query)),
            RequestTarget::Server => None,
        })
    }

    fn decode(path: &[u8], out: &mut Vec<u8>) -> Result<Named, PathError> {
        decode_with(DotFiles::None, path, out)
    }

    fn decode_with(dot_files: DotFiles, path: &[u8], out: &mut Vec<u8>) -> Result<Named, PathError> {
        let Ok(RequestTarget::Resource { path, .. }) = parse(path) else { panic!("{path:?} is no target") };
        let decoded = path.decode(dot_files, out);
        let mut slowly = Vec::new();
        assert_eq!(path.decode_components(dot_files, &mut slowly), decoded);
        assert!(decoded.is_err() || slowly == *out, "the short cut leads elsewhere");
        decoded
    }

    #[test]
    fn targets_in_every_form() {
        for (target, expected) in [
            ("/", resource("/", None)),
            ("/a/b.html", resource("/a/b.html", None)),
            ("/a?b=c?d", resource("/a", Some("b=c?d"))),
            ("/?", resource("/", Some(""))),
            ("//evil/x", resource("//evil/x", None)),
            ("http://host", resource("/", None)),
            ("http://host/a?b", resource("/a", Some("b"))),
            ("HTTPS://host:8080?b", resource("/", Some("b"))),
            ("http://[::1]:80/x", resource("/x", None)),
            ("*", Ok(None)),
        ] {
            assert_eq!(split(target), expected, "{target}");
        }
        for target in [
            "a",
            "host:80",
            "ftp://host/",
            "http:/host",
            "http:///x",
            "http://user@host/",
            "http://ho st/",
            "/a#b",
            "/\u{e4}",
            "/a\x7f",
            "**",
            "http://[/x",
            "?a",
        ] {
            assert!(parse(target.as_bytes()).is_err(), "{target}");
        }
    }

    #[test]
    fn authorities() {
        for value in
            ["", "host", "host:80", "host:", "127.0.0.1:8080", "[::1]", "[::1]:80", "a-b_c.d~", "%41"]
        {
            assert!(is_authority(value.as_bytes()), "{value}");
        }
        for value in
            ["a b", "a/b", "a@b", "host:80a", "host:80:80", "[::1", "[]", "[::1]x", "a,b c", "a\tb", "\u{e4}"]
        {
            assert!(!is_authority(value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn paths_name_files_below_the_root() {
        for (path, decoded, named) in [
            ("/", "", Named::Directory),
            ("/a", "a", Named::File),
            ("/a/", "a/", Named::Directory),
            ("/a/b.c", "a/b.c", Named::File),
            ("/%61%2f", "", Named::Directory),
            ("/a%20b", "a b", Named::File),
            ("/a..b/c.", "a..b/c.", Named::File),
            ("/%E4%bd%a0", "\u{4f60}", Named::File),
            ("/%25", "%", Named::File),
        ] {
            let mut out = Vec::new();
            let got = decode(path.as_bytes(), &mut out);
            if path.contains("%2f") {
                assert_eq!(got, Err(PathError::Hidden), "{path}");
            } else {
                assert_eq!((got, out.as_slice()), (Ok(named), decoded.as_bytes()), "{path}");
            }
        }
    }

    #[test]
    fn paths_that_try_to_escape_are_refused() {
        for path in [
            "/..",
            "/../etc/passwd",
            "/a/../b",
            "/a/..",
            "/%2e%2e/etc",
            "/.%2E/etc",
            "/./a",
            "/%2e",
            "/a/./",
            "/a%00b",
            "/a\\b",
            "/..\\..",
            "/%5c",
            "/%",
            "/%4",
            "/%zz",
            "/%4g",
            "/%-1",
            "/%+1",
        ] {
            let got = decode(path.as_bytes(), &mut Vec::new());
            assert!(matches!(got, Err(PathError::Refused(_))), "{path} gave {got:?}");
        }
        for path in ["/.git/config", "//.git", "/a/.htpasswd", "/...", "/a%2fb", "/%2F%2e%2e"] {
            assert_eq!(decode(path.as_bytes(), &mut Vec::new()), Err(PathError::Hidden), "{path}");
        }
    }

    #[test]
    fn which_dot_files_are_served_is_an_option() {
        let (file, hidden) = (Ok(Named::File), Err(PathError::Hidden));
        for (path, none, well_known, all) in [
            ("/.well-known", hidden, file, file),
            ("/.well-known/acme-challenge/x", hidden, file, file),
            ("//%2ewell-known/x", hidden, file, file),
            ("/.well-known/.git", hidden, hidden, file),
            ("/a/.well-known/x", hidden, hidden, file),
            ("/.well-knowns", hidden, hidden, file),
            ("/.git/config", hidden, hidden, file),
            ("/...", hidden, hidden, file),
        ] {
            for (dot_files, expected) in
                [(DotFiles::None, none), (DotFiles::WellKnown, well_known), (DotFiles::All, all)]
            {
                let got = decode_with(dot_files, path.as_bytes(), &mut Vec::new());
                assert_eq!(got, expected, "{path} with {dot_files:?}");
            }
        }
        for dot_files in [DotFiles::WellKnown, DotFiles::All] {
            for path in ["/..", "/.", "/a/%2e%2e/b", "/.well-known/../x", "/.well-known/%2e/x"] {
                let got = decode_with(dot_files, path.as_bytes(), &mut Vec::new());
                assert!(matches!(got, Err(PathError::Refused(_))), "{path} with {dot_files:?}: {got:?}");
            }
        }
    }

    #[test]
    fn slashes_in_a_row_are_one() {
        for (path, named, decoded) in [
            ("//", Named::Directory, ""),
            ("//etc/passwd", Named::File, "etc/passwd"),
            ("/a//b", Named::File, "a/b"),
            ("/a///", Named::Directory, "a/"),
            ("///a%20b//c", Named::File, "a b/c"),
        ] {
            let mut out = Vec::new();
            assert_eq!((decode(path.as_bytes(), &mut out), &*out), (Ok(named), decoded.as_bytes()), "{path}");
        }
    }

    #[test]
    fn an_encoded_path_is_safe_in_a_header_and_decodes_to_itself() {
        for path in ["a", "a b/c", "x\r\nSet-Cookie: y", "\u{e4}%?#\"<>", "a/b/"] {
            let (mut encoded, mut back) = (Vec::new(), Vec::new());
            encode(path.as_bytes(), &mut encoded);
            assert!(encoded.iter().all(|b| matches!(b, 0x21..=0x7e)) && !encoded.starts_with(b"//"));
            decode(&encoded, &mut back).unwrap();
            assert_eq!(back, path.as_bytes());
        }
    }
}
