//! Request heads: the request line and the header section (RFC 9112 sections 2 to 6).
//!
//! httparse finds lines, names and values in one pass, with vector instructions. Two things that it accepts are checked here:
//! bare line feeds as line ends, and message framing, which it ignores. A request whose length two parsers could see
//! differently is answered with 400, and the connection is closed.

use std::mem::MaybeUninit;

use super::coding::Accepted;
use super::conditional::Conditions;
use super::reply::{ALLOW, Connection, Status, Terms};
use super::syntax::{decimal, elements, is_token_byte, trim};
use super::target::is_authority;

/// Limit on the fields of a header section.
pub const FIELDS_MAX: usize = 100;

/// Why a request is refused. Unless all of it has been read, the connection is closed after the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    pub(super) why: &'static str,
    /// True if it is the reply to a HEAD.
    pub(super) head_only: bool,
}

impl Refusal {
    pub(super) const fn new(status: Status, why: &'static str) -> Refusal {
        Refusal { status, why, head_only: false }
    }

    /// The additional fields of the reply.
    pub(super) fn fields(&self) -> &'static [(&'static str, &'static [u8])] {
        match self.status {
            Status::MethodNotAllowed => &[("Allow", ALLOW)],
            _ => &[],
        }
    }

    const fn bad(why: &'static str) -> Refusal {
        Refusal::new(Status::BadRequest, why)
    }
}

/// The request methods that are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
    Post,
    Put,
    Options,
    /// Known, but not allowed for any resource.
    NotAllowed,
    Unknown,
}

/// The length of the content of a request (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// No length field, hence no content.
    Absent,
    Exact(u64),
    Chunked,
}

/// What a client expects before it sends content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Nothing,
    Continue,
    Other,
}

/// A valid request head.
#[derive(Debug)]
pub(super) struct Head<'a> {
    /// Its length in bytes, including the empty line.
    pub(super) len: usize,
    pub(super) method: Method,
    pub(super) target: &'a [u8],
    pub(super) terms: Terms,
    pub(super) length: Length,
    pub(super) expect: Expect,
    pub(super) conditions: Option<Box<Conditions>>,
    /// The content codings that the client accepts, if the site needs them.
    pub(super) codings: Option<Accepted>,
}

/// Parses the head at the start of `view`; `None` if it is incomplete. `asks_codings` is true if the accepted content codings
/// matter.
///
/// The verdict depends only on the complete lines, so it does not matter how the head was split.
pub(super) fn parse(view: &[u8], asks_codings: bool) -> Result<Option<Head<'_>>, Refusal> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(view, &mut fields) {
        Ok(httparse::Status::Complete(len)) => interpret(&request, &view[..len], asks_codings).map(Some),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(_) => refuse_lines(view),
    }
}

/// The error in the complete lines of a head, if there is one.
#[cold]
fn refuse_lines(view: &[u8]) -> Result<Option<Head<'_>>, Refusal> {
    let lines = &view[..view.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1)];
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let Err(error) = httparse::Request::new(&mut fields).parse(lines) else { return Ok(None) };
    Err(match error {
        httparse::Error::TooManyHeaders => {
            Refusal::new(Status::HeaderFieldsTooLarge, "too many header fields")
        }
        httparse::Error::Version if names_other_version(lines) => {
            Refusal::new(Status::VersionNotSupported, "this server supports HTTP/1.1 and HTTP/1.0")
        }
        httparse::Error::Token | httparse::Error::Version => Refusal::bad("the request line is malformed"),
        httparse::Error::HeaderName => {
            Refusal::bad("a field name is malformed or surrounded by blanks, or a line is folded")
        }
        httparse::Error::HeaderValue => Refusal::bad("a field value contains a control character"),
        httparse::Error::NewLine | httparse::Error::Status => Refusal::bad("a line does not end with CR LF"),
    })
}

/// True if the request line ends with an HTTP version, which is then not 1.0 or 1.1.
fn names_other_version(lines: &[u8]) -> bool {
    let line = lines.split(|&b| b == b'\n').next().unwrap_or_default();
    let version = line.strip_suffix(b"\r").unwrap_or(line).rsplit(|&b| b == b' ').next().unwrap_or_default();
    matches!(version, [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'])
}

/// The relevant header fields.
struct Fields {
    hosts: u32,
    close: bool,
    keep_alive: bool,
    content_length: Option<u64>,
    chunked: bool,
    expect: Expect,
    conditions: Option<Box<Conditions>>,
    asks_codings: bool,
    codings: Option<Accepted>,
}

fn interpret<'a>(
    request: &httparse::Request<'_, 'a>,
    bytes: &'a [u8],
    asks_codings: bool,
) -> Result<Head<'a>, Refusal> {
    if has_bare_line_feed(bytes) {
        return Err(Refusal::bad("a line does not end with CR LF"));
    }
    let mut fields = Fields {
        hosts: 0,
        close: false,
        keep_alive: false,
        content_length: None,
        chunked: false,
        expect: Expect::Nothing,
        conditions: None,
        asks_codings,
        codings: None,
    };
    for field in request.headers.iter() {
        fields.take(field.name.as_bytes(), field.value)?;
    }

    let http10 = request.version == Some(0);
    if fields.hosts != 1 && !(http10 && fields.hosts == 0) {
        return Err(Refusal::bad("a request must have exactly one Host field"));
    }
    let length = match (fields.chunked, fields.content_length) {
        (true, Some(_)) => {
            return Err(Refusal::bad("Transfer-Encoding and Content-Length contradict each other"));
        }
        (true, None) if http10 => return Err(Refusal::bad("HTTP/1.0 has no Transfer-Encoding")),
        (true, None) => Length::Chunked,
        (false, Some(length)) => Length::Exact(length),
        (false, None) => Length::Absent,
    };
    let method = match request.method.unwrap_or_default() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "OPTIONS" => Method::Options,
        "DELETE" | "PATCH" | "TRACE" | "CONNECT" => Method::NotAllowed,
        _ => Method::Unknown,
    };
    let connection = match (http10, fields.close, fields.keep_alive) {
        (_, true, _) | (true, _, false) => Connection::Close,
        (true, false, true) => Connection::PersistTold,
        (false, false, _) => Connection::Persist,
    };
    Ok(Head {
        len: bytes.len(),
        method,
        target: request.path.unwrap_or_default().as_bytes(),
        terms: Terms { head_only: method == Method::Head, connection },
        length,
        // RFC 9110 section 10.1.1: an expectation in HTTP/1.0 is ignored.
        expect: if http10 { Expect::Nothing } else { fields.expect },
        conditions: fields.conditions,
        codings: fields.codings,
    })
}

/// True if a line of a head ends with a bare line feed. httparse ensures that a line feed follows each carriage return,
/// so it suffices to compare their counts, which fit into a byte. This compiles to vector instructions.
fn has_bare_line_feed(head: &[u8]) -> bool {
    let excess = head
        .iter()
        .fold(0u8, |excess, &b| excess.wrapping_add(u8::from(b == b'\n')).wrapping_sub(u8::from(b == b'\r')));
    excess != 0
}

const _: () = assert!(FIELDS_MAX + 2 <= u8::MAX as usize, "the lines of a head are counted in a byte");

impl Fields {
    /// Handles a field. The length of its name rules out most of the irrelevant ones.
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Refusal> {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => {
                self.hosts += 1;
                if !is_authority(value) {
                    return Err(Refusal::bad("the Host field is malformed"));
                }
            }
            5 if is(b"range") => Conditions::set_once(&mut self.conditions().range, value),
            6 if is(b"expect") => {
                let known = self.expect != Expect::Other && value.eq_ignore_ascii_case(b"100-continue");
                self.expect = if known { Expect::Continue } else { Expect::Other };
            }
            8 if is(b"if-match") => Conditions::add_line(&mut self.conditions().if_match, value),
            8 if is(b"if-range") => Conditions::set_once(&mut self.conditions().if_range, value),
            10 if is(b"connection") => self.take_connection(value),
            13 if is(b"if-none-match") => Conditions::add_line(&mut self.conditions().if_none_match, value),
            14 if is(b"content-length") => {
                if self.content_length.is_some() {
                    return Err(Refusal::bad("more than one Content-Length"));
                }
                let length =
                    decimal(value).ok_or(Refusal::bad("the Content-Length is not a plain number"))?;
                self.content_length = Some(length);
            }
            15 if self.asks_codings && is(b"accept-encoding") => {
                self.codings.get_or_insert_default().add(value);
            }
            17 if is(b"transfer-encoding") => {
                if self.chunked {
                    return Err(Refusal::bad("more than one Transfer-Encoding"));
                }
                check_coding(value)?;
                self.chunked = true;
            }
            17 if is(b"if-modified-since") => {
                Conditions::set_date(&mut self.conditions().if_modified_since, value);
            }
            19 if is(b"if-unmodified-since") => {
                Conditions::set_date(&mut self.conditions().if_unmodified_since, value);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in elements(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn conditions(&mut self) -> &mut Conditions {
        self.conditions.get_or_insert_default()
    }
}

/// Accepts only the chunked coding. Other codings are not implemented (501); a list that does not end with chunked,
/// names it twice, or is not a list of tokens leaves the length of the content unclear (400).
fn check_coding(value: &[u8]) -> Result<(), Refusal> {
    if value.eq_ignore_ascii_case(b"chunked") {
        return Ok(());
    }
    let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
    let mut codings = value.split(|&b| b == b',').map(trim);
    let sound = codings.clone().all(|coding| !coding.is_empty() && coding.iter().all(|&b| is_token_byte(b)));
    if sound && codings.clone().filter(|coding| is_chunked(coding)).count() <= 1 {
        let last_is_chunked = codings.clone().next_back().is_some_and(is_chunked);
        if last_is_chunked || !codings.any(is_chunked) {
            return Err(Refusal::new(
                Status::NotImplemented,
                "the only supported transfer coding is chunked",
            ));
        }
    }
    Err(Refusal::bad("the Transfer-Encoding is malformed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_feed_alone_ends_no_line() {
        let head = format!("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", "A: b\r\n".repeat(FIELDS_MAX - 1));
        assert_eq!(parse(head.as_bytes(), false).unwrap().unwrap().len, head.len());
        for (at, _) in head.match_indices('\r') {
            let (before, after) = (&head[..at], &head[at + 1..]);
            let refusal = parse(format!("{before}{after}").as_bytes(), false).unwrap_err();
            assert_eq!(refusal.status, Status::BadRequest, "without the carriage return at {at}");
        }
    }
}
