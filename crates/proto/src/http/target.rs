//! Request targets (RFC 9112 section 3.2) and the file paths that they name.
//!
//! A path is decoded once, component by component, and refused rather than repaired: dot segments, empty components,
//! encoded slashes, backslashes and NUL have no honest use in what a client sends after it has normalised its URL, and
//! every repair is a chance for two parties to disagree about which file is meant. Names that start with a dot are
//! private.

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// A resource: origin-form and absolute-form come to the same.
    Resource {
        /// The path as it was sent; it starts with a slash.
        path: &'a [u8],
        /// The query, without its question mark.
        query: Option<&'a [u8]>,
    },
    /// The server as a whole (`OPTIONS *`).
    Server,
}

/// Reads a request target, or says what is wrong with it. The authority-form is not read, as it belongs to CONNECT.
///
/// # Errors
/// What is wrong with it.
pub fn parse(target: &[u8]) -> Result<Target<'_>, &'static str> {
    if target == b"*" {
        return Ok(Target::Server);
    }
    if !target.iter().all(|&b| matches!(b, 0x21..=0x7e) && b != b'#') {
        return Err("the target holds a fragment or bytes that are not visible ASCII");
    }
    let (path, query) = split_query(if target.starts_with(b"/") { target } else { after_authority(target)? });
    Ok(Target::Resource { path: if path.is_empty() { b"/" } else { path }, query })
}

fn split_query(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match target.iter().position(|&b| b == b'?') {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// What follows the authority of an absolute-form target. The authority itself must be a sound one, but every name
/// leads to the same site.
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
    let (host, port) = match value.strip_prefix(b"[") {
        Some(literal) => {
            let Some(end) = literal.iter().position(|&b| b == b']') else { return false };
            if end == 0 || !literal[..end].iter().all(|&b| is_host_byte(b) || b == b':') {
                return false;
            }
            (&b""[..], &literal[end + 1..])
        }
        None => value.split_at(value.iter().position(|&b| b == b':').unwrap_or(value.len())),
    };
    let port_is_sound = match port.strip_prefix(b":") {
        Some(digits) => digits.iter().all(u8::is_ascii_digit),
        None => port.is_empty(),
    };
    port_is_sound && host.iter().all(|&b| is_host_byte(b))
}

/// A byte of a registered name (RFC 3986 section 3.2.2).
fn is_host_byte(b: u8) -> bool {
    const HOST_BYTE: [bool; 256] = {
        let mut table = [false; 256];
        let mut b = 0;
        while b < 256 {
            table[b] = (b as u8).is_ascii_alphanumeric()
                || matches!(
                    b as u8,
                    b'-' | b'.'
                        | b'_'
                        | b'~'
                        | b'%'
                        | b'!'
                        | b'$'
                        | b'&'
                        | b'\''
                        | b'('
                        | b')'
                        | b'*'
                        | b'+'
                        | b','
                        | b';'
                        | b'='
                );
            b += 1;
        }
        table
    };
    HOST_BYTE[usize::from(b)]
}

/// Why a path names no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathError {
    /// It is broken or tries to escape (400).
    Refused(&'static str),
    /// It is sound, but nothing is ever served under it (404).
    Hidden,
}

/// What a path names below the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A file (or a directory whose slash is missing).
    File,
    /// A directory: the path ends with a slash, and so does what was written, unless it is the root.
    Directory,
}

/// Appends the decoded form of `path`, which starts with a slash, to `out`: relative, its components neither empty nor
/// starting with a dot, free of NUL and backslash.
///
/// # Errors
/// Why it names no file. What `out` then holds is of no use.
pub fn decode(path: &[u8], out: &mut Vec<u8>) -> Result<Named, PathError> {
    let relative =
        path.strip_prefix(b"/").ok_or(PathError::Refused("the path does not start with a slash"))?;
    let mut start = out.len();
    let mut bytes = relative.iter();
    while let Some(&b) = bytes.next() {
        let b = match b {
            b'/' => {
                check_component(&out[start..])?;
                out.push(b'/');
                start = out.len();
                continue;
            }
            b'%' => match (bytes.next().and_then(hex), bytes.next().and_then(hex)) {
                (Some(high), Some(low)) => high << 4 | low,
                _ => {
                    return Err(PathError::Refused(
                        "a percent sign is not followed by two hexadecimal digits",
                    ));
                }
            },
            b => b,
        };
        match b {
            0 => return Err(PathError::Refused("the path holds a NUL")),
            b'\\' => return Err(PathError::Refused("the path holds a backslash")),
            b'/' => return Err(PathError::Hidden),
            _ => out.push(b),
        }
    }
    if start == out.len() {
        return Ok(Named::Directory);
    }
    check_component(&out[start..])?;
    Ok(Named::File)
}

fn check_component(component: &[u8]) -> Result<(), PathError> {
    match component {
        b"." | b".." => Err(PathError::Refused("the path holds a dot segment")),
        [] | [b'.', ..] => Err(PathError::Hidden),
        _ => Ok(()),
    }
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).map(|d| d as u8)
}

/// Appends `path`, decoded and relative, as an absolute path reference. It cannot be taken for a reference to another
/// host (`//host`), since a decoded path has no empty component.
pub fn encode(path: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push(b'/');
    for &b in path {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~' | b'/') {
            out.push(b);
        } else {
            out.extend_from_slice(&[b'%', DIGITS[usize::from(b >> 4)], DIGITS[usize::from(b & 15)]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource<'a>(path: &'a str, query: Option<&'a str>) -> Result<Target<'a>, &'static str> {
        Ok(Target::Resource { path: path.as_bytes(), query: query.map(str::as_bytes) })
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
            ("*", Ok(Target::Server)),
        ] {
            assert_eq!(parse(target.as_bytes()), expected, "{target}");
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
            "a",
        ] {
            let got = decode(path.as_bytes(), &mut Vec::new());
            assert!(matches!(got, Err(PathError::Refused(_))), "{path} gave {got:?}");
        }
        for path in
            ["//", "//etc/passwd", "/a//b", "/.git/config", "/a/.htpasswd", "/...", "/a%2fb", "/%2F%2e%2e"]
        {
            assert_eq!(decode(path.as_bytes(), &mut Vec::new()), Err(PathError::Hidden), "{path}");
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
