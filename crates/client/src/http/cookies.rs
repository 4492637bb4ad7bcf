//! The cookies of one connection (RFC 6265). It talks to one host only.
//!
//! A cookie is a name, a value and a path. `Max-Age` of 0 or less deletes it, or else an `Expires` before the start of the run.
//! `Domain`, `Secure` and `SameSite` are ignored: the host is always the same. Cookies do not expire within a run.

use std::time::{Duration, SystemTime};

use crate::fields::fields_of;
use crate::outgoing::Outgoing;

/// The most cookies of a connection (RFC 6265 section 6.1); the oldest goes first.
const COOKIES_MAX: usize = 50;
/// Name and value together; longer cookies are ignored.
const COOKIE_BYTES_MAX: usize = 4096;

/// Cookies in the order in which they were set first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Jar {
    cookies: Vec<Cookie>,
    /// The time of day when the run begins, seconds since 1970.
    now_s: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: Box<[u8]>,
    value: Box<[u8]>,
    path: Box<[u8]>,
}

impl Jar {
    /// An empty jar of a run that begins at that time of day, seconds since 1970.
    pub(crate) fn at(now_s: u64) -> Jar {
        Jar { now_s, ..Jar::default() }
    }

    /// Adds the cookies of a `Cookie` header, for all paths.
    pub(crate) fn with_header(mut self, value: &str) -> Jar {
        for pair in value.split(';') {
            self.set(pair.as_bytes(), b"/");
        }
        self
    }

    /// Takes the value of a `Set-Cookie` field of the reply to a request for `path`.
    pub(crate) fn set(&mut self, field: &[u8], path: &[u8]) {
        let mut parts = field.split(|&b| b == b';').map(<[u8]>::trim_ascii);
        let Some((name, value)) = parts.next().and_then(pair) else { return };
        if name.is_empty() || name.len() + value.len() > COOKIE_BYTES_MAX {
            return;
        }
        let (mut of, mut expired, mut aged) = (default_path(path), false, None);
        for (attribute, given) in parts.filter_map(pair) {
            if attribute.eq_ignore_ascii_case(b"path") && given.starts_with(b"/") {
                of = given;
            } else if attribute.eq_ignore_ascii_case(b"max-age") {
                aged = Some(given.starts_with(b"-") || !given.is_empty() && given.iter().all(|&b| b == b'0'));
            } else if attribute.eq_ignore_ascii_case(b"expires") {
                expired = self.is_past(given);
            }
        }
        // Max-Age takes precedence (RFC 6265 section 5.3).
        let deleted = aged.unwrap_or(expired);
        let known = self.cookies.iter().position(|cookie| *cookie.name == *name && *cookie.path == *of);
        match known {
            Some(at) if deleted => drop(self.cookies.remove(at)),
            Some(at) => self.cookies[at].value = value.into(),
            None if deleted => {}
            None => {
                if self.cookies.len() == COOKIES_MAX {
                    self.cookies.remove(0);
                }
                self.cookies.push(Cookie { name: name.into(), value: value.into(), path: of.into() });
            }
        }
    }

    /// Whether a date was over when the run began; false for one that cannot be read.
    fn is_past(&self, date: &[u8]) -> bool {
        let Ok(date) = std::str::from_utf8(date) else { return false };
        // Netscape's form, with dashes and a year of four digits, is not one of HTTP's.
        let read =
            httpdate::parse_http_date(date).or_else(|_| httpdate::parse_http_date(&date.replace('-', " ")));
        read.is_ok_and(|at| at <= SystemTime::UNIX_EPOCH + Duration::from_secs(self.now_s))
    }

    /// Takes all `Set-Cookie` fields of the head of a reply to a request for `path`.
    pub(crate) fn take(&mut self, head: &[u8], path: &[u8]) {
        for (_, value) in fields_of(head).filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie")) {
            self.set(value, path);
        }
    }

    /// Appends the header for a request for `path`, if there is a cookie for it. Longer paths come first.
    pub(crate) fn write(&self, path: &[u8], out: &mut Outgoing) {
        let path = without_query(path);
        let mut fitting: Vec<&Cookie> = self.cookies.iter().filter(|cookie| cookie.is_for(path)).collect();
        fitting.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        for (i, cookie) in fitting.iter().enumerate() {
            out.bytes(if i == 0 { b"Cookie: " } else { b"; " });
            out.bytes(&cookie.name);
            out.bytes(b"=");
            out.bytes(&cookie.value);
        }
        if !fitting.is_empty() {
            out.bytes(b"\r\n");
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }
}

impl Cookie {
    /// Whether it is sent with a request for that path (RFC 6265 section 5.1.4).
    fn is_for(&self, path: &[u8]) -> bool {
        let Some(rest) = path.strip_prefix(&*self.path) else { return false };
        rest.is_empty() || self.path.ends_with(b"/") || rest.starts_with(b"/")
    }
}

/// `name=value`, or an attribute without a value.
fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|&b| b == b'=')?;
    Some((text[..at].trim_ascii(), text[at + 1..].trim_ascii()))
}

/// The path of a cookie that names none: that of the request up to its last slash.
fn default_path(path: &[u8]) -> &[u8] {
    let path = without_query(path);
    match path.iter().rposition(|&b| b == b'/') {
        Some(last) if last > 0 && path.starts_with(b"/") => &path[..last],
        _ => b"/",
    }
}

fn without_query(path: &[u8]) -> &[u8] {
    path.split(|&b| b == b'?').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(jar: &Jar, path: &str) -> String {
        let mut out = Outgoing::new();
        jar.write(path.as_bytes(), &mut out);
        String::from_utf8(out.payload().as_slice().to_vec()).unwrap()
    }

    #[test]
    fn what_was_set_is_sent_to_the_paths_that_it_is_for() {
        let mut jar = Jar::default();
        jar.set(b"id=1; Path=/; HttpOnly", b"/login");
        jar.set(b"deep = x=y ; path=/a/b", b"/login");
        jar.set(b"here=2", b"/a/b/c?q=/z");
        assert_eq!(sent(&jar, "/"), "Cookie: id=1\r\n");
        assert_eq!(sent(&jar, "/a/b?x"), "Cookie: deep=x=y; here=2; id=1\r\n");
        assert_eq!(sent(&jar, "/a/bc"), "Cookie: id=1\r\n");
        jar.set(b"id=3; Path=/", b"/");
        assert_eq!(sent(&jar, "/"), "Cookie: id=3\r\n");
        for gone in ["id=; Path=/; Max-Age=0", "here=; path=/a/b; max-age=-1"] {
            jar.set(gone.as_bytes(), b"/");
        }
        assert_eq!(sent(&jar, "/a/b/c"), "Cookie: deep=x=y\r\n");
        assert_eq!(sent(&jar, "/"), "");
    }

    #[test]
    fn a_header_of_the_user_is_where_a_jar_begins() {
        assert_eq!(sent(&Jar::default().with_header("a=b; c=d"), "/x"), "Cookie: a=b; c=d\r\n");
    }

    #[test]
    fn an_expiry_in_the_past_deletes() {
        // 2001-09-09 01:46:40.
        let jar = Jar::at(1_000_000_000).with_header("a=b");
        let after = |attributes: &str| {
            let mut jar = jar.clone();
            jar.set(format!("a=c; Path=/; {attributes}").as_bytes(), b"/");
            sent(&jar, "/")
        };
        for past in [
            "Expires=Thu, 01 Jan 1970 00:00:00 GMT",
            "expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "Expires=Sunday, 09-Sep-01 01:46:40 GMT",
            "Expires=Sun, 09 Sep 2040 01:46:40 GMT; Max-Age=0",
        ] {
            assert_eq!(after(past), "", "{past}");
        }
        for kept in [
            "Expires=Sun, 09 Sep 2001 01:46:41 GMT",
            "Expires=some day",
            "Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60",
        ] {
            assert_eq!(after(kept), "Cookie: a=c\r\n", "{kept}");
        }
    }

    #[test]
    fn a_jar_is_bounded() {
        let mut jar = Jar::default();
        (0..1000).for_each(|n| jar.set(format!("c{n}=1").as_bytes(), b"/"));
        jar.set(&[b"big=".as_slice(), &[b'x'; COOKIE_BYTES_MAX]].concat(), b"/");
        assert_eq!(jar.cookies.len(), COOKIES_MAX);
        assert!(sent(&jar, "/").contains("c999=1") && !sent(&jar, "/").contains("c949="));
    }

    proptest! {
        #[test]
        fn no_field_makes_it_panic(field in prop::collection::vec(any::<u8>(), 0..80), path in "[/a-c?=;]{0,12}") {
            let mut jar = Jar::default();
            jar.set(&field, path.as_bytes());
            jar.write(path.as_bytes(), &mut Outgoing::new());
        }
    }
}
