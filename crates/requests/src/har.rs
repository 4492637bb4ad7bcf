//! HTTP archives, as browsers save them (HAR 1.2): the requests to the target, in their order.

use form_urlencoded::Serializer;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use pitot_client::{RequestSpec, Url};
use pitot_meter::units::counted;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::format::Format;
use super::parsed::{Flaw, Parsed, Positions};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "har",
    summary: "an HTTP archive (HAR) of a browser: the requests to the target, with their headers and bodies",
    holds_commands: false,
    looks_like,
    parse,
};

const CURE: &str = "save it again in the network panel of the browser";

/// Headers that belong to the connection that was recorded (RFC 9110 section 7.6.1) or that follow from the request.
const NOT_SENT: [&str; 10] = [
    "host",
    "content-length",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "transfer-encoding",
    "te",
    "upgrade",
    "http2-settings",
];

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    /// Each entry is parsed separately, so that an error has its line.
    entries: Vec<IgnoredAny>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Field>,
    #[serde(default)]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Field>,
}

/// Whether it is an object whose first name is `log`.
fn looks_like(beginning: &[u8]) -> bool {
    // Some programs write a byte order mark.
    let text = beginning.strip_prefix(b"\xef\xbb\xbf").unwrap_or(beginning).trim_ascii_start();
    text.strip_prefix(b"{").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"log\""))
}

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let text = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let archive: Archive = serde_json::from_slice(text).map_err(|e| Flaw {
        line: (e.line() > 0).then_some(e.line()),
        what: format!("it is not an HTTP archive: {}", without_place(&e)),
        fix: CURE.into(),
    })?;
    let all = archive.log.entries.len();
    let mut requests = Vec::new();
    let mut positions = Positions::default();
    let (mut walk, mut line, mut seen) = (Walk { text, at: 0 }, 1, 0);
    walk.enter_entries().map_err(|what| Flaw::of_file(format!("it is not an HTTP archive: {what}"), CURE))?;
    for number in 1..=all {
        walk.skip_blanks();
        line += text[seen..walk.at].iter().filter(|&&b| b == b'\n').count();
        seen = walk.at;
        let Entry { request } = walk.value().map_err(|what| {
            Flaw::of_line(line, format!("entry {number} is not valid in an HTTP archive: {what}"), CURE)
        })?;
        walk.skip(b',');
        // An archive contains all requests of a page, and data: URLs.
        if let Place::Target(path) = place(&encoded(&request.url), target) {
            requests.push(spec(request, path));
            positions.numbers.push(line);
            positions.entries.push(number);
        }
    }
    let others = counted((all - requests.len()) as u64, "request", "requests");
    let server = format!("{}://{}", target.scheme, target.authority());
    if requests.is_empty() {
        return Err(Flaw::of_file(
            format!("none of its {} is for {server}", counted(all as u64, "request", "requests")),
            "use the server of the archive as the target; only its requests are sent",
        ));
    }
    let left_out = all > requests.len();
    let notes =
        left_out.then(|| format!("{others} to servers other than {server} skipped")).into_iter().collect();
    Ok(Parsed { requests, positions, notes, ..Parsed::default() })
}

/// The error without line and column, which are reported separately.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(what, _)| what.to_owned())
}

/// Goes through an archive that is sound JSON, to know where each entry begins.
struct Walk<'a> {
    text: &'a [u8],
    at: usize,
}

impl Walk<'_> {
    fn skip_blanks(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    /// Takes a byte if it is the next one.
    fn skip(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_next = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value<T: DeserializeOwned>(&mut self) -> Result<T, String> {
        let mut values = serde_json::Deserializer::from_slice(&self.text[self.at..]).into_iter();
        let value = values.next().ok_or("it ends here")?.map_err(|e| without_place(&e))?;
        self.at += values.byte_offset();
        Ok(value)
    }

    /// Goes to the value of that name in the object that comes next.
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let mut more = self.skip(b'{');
        while more {
            self.skip_blanks();
            let is_it = self.value::<String>()? == name;
            self.skip(b':');
            if is_it {
                return Ok(());
            }
            self.skip_blanks();
            self.value::<IgnoredAny>()?;
            more = self.skip(b',');
        }
        Err(format!("it has no `{name}`"))
    }

    /// Goes to the first entry.
    fn enter_entries(&mut self) -> Result<(), String> {
        self.enter("log")?;
        self.enter("entries")?;
        self.skip(b'[');
        Ok(())
    }
}

/// Characters that are encoded in URLs.
const NOT_OF_URLS: &AsciiSet = &CONTROLS.add(b' ');

/// A URL with encoded spaces and non-ASCII letters, as in requests of browsers (URL standard).
fn encoded(url: &str) -> String {
    utf8_percent_encode(url, NOT_OF_URLS).to_string()
}

fn spec(request: Request, path: String) -> RequestSpec {
    let sent = |field: &Field| {
        !field.name.starts_with(':') && !NOT_SENT.iter().any(|name| field.name.eq_ignore_ascii_case(name))
    };
    let headers = request.headers.into_iter().filter(sent).map(|field| (field.name, field.value)).collect();
    let body = match request.post_data {
        Some(PostData { text, params }) if text.is_empty() => form(&params).into_bytes(),
        Some(PostData { text, .. }) => text.into_bytes(),
        None => Vec::new(),
    };
    RequestSpec { method: request.method, path, headers, body, ..RequestSpec::default() }
}

/// The fields of a form, encoded as `application/x-www-form-urlencoded`.
fn form(fields: &[Field]) -> String {
    let pairs = fields.iter().map(|field| (&field.name, &field.value));
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARCHIVE: &str = r#"{"log": {"version": "1.2", "entries": [
        {"request": {"method": "GET", "url": "http://h/a?b=c", "headers": [
            {"name": ":authority", "value": "h"}, {"name": "Host", "value": "h"},
            {"name": "Cookie", "value": "id=1"}, {"name": "Connection", "value": "keep-alive"}]},
         "response": {"status": 200}},
        {"request": {"method": "GET", "url": "https://elsewhere/x", "headers": []}},
        {"request": {"method": "GET", "url": "data:image/png;base64,xx", "headers": []}},
        {"request": {"method": "POST", "url": "http://h/form", "headers": [],
         "postData": {"mimeType": "application/x-www-form-urlencoded",
                      "params": [{"name": "a b", "value": "\u00e4&"}, {"name": "c"}]}}},
        {"request": {"method": "PUT", "url": "http://h/text", "headers": [], "postData": {"text": "{}"}}}
    ]}}"#;

    fn parsed(text: &str, target: &str) -> Result<Parsed, Flaw> {
        parse(text.as_bytes(), &Url::parse(target).unwrap())
    }

    #[test]
    fn requests_to_the_target_are_taken_and_others_counted() {
        let parsed = parsed(ARCHIVE, "http://h").unwrap();
        let seen: Vec<(&str, &str, &[u8])> =
            parsed.requests.iter().map(|r| (&*r.method, &*r.path, &*r.body)).collect();
        assert_eq!(
            seen,
            [("GET", "/a?b=c", &b""[..]), ("POST", "/form", b"a+b=%C3%A4%26&c="), ("PUT", "/text", b"{}")]
        );
        assert_eq!(parsed.requests[0].headers, [("Cookie".into(), "id=1".into())]);
        assert_eq!(parsed.notes, ["2 requests to servers other than http://h skipped"]);
    }

    #[test]
    fn an_entry_is_known_by_its_line() {
        let positions = parsed(ARCHIVE, "http://h").unwrap().positions;
        assert_eq!((&*positions.numbers, &*positions.entries), (&[2, 8, 11][..], &[1, 4, 5][..]));
        assert_eq!(positions.of(1).as_deref(), Some("line 8 (entry 4)"));
        let good = r#"{"request": {"method": "GET", "url": "http://h/"}}"#;
        for bad in [
            r#"{"request": {"method": "GET"}}"#,
            "1",
            r#"{"request":
            {"method": "GET", "url": 7}}"#,
        ] {
            let text =
                format!("{{\"log\": {{\"pages\": [1, 2.5],\n\"entries\": [\n{good},\n{bad}\n,{good}]}}}}");
            let flaw = parsed(&text, "http://h").unwrap_err();
            assert_eq!(flaw.line, Some(4), "{flaw:?}");
            assert!(flaw.what.starts_with("entry 2 ") && !flaw.what.contains("column"), "{flaw:?}");
        }
        // Names may be written with escapes.
        let escaped = format!("{{\"lo\\u0067\": {{\"entries\":\n[{good}]}}}}");
        assert_eq!(parsed(&escaped, "http://h").unwrap().positions.numbers, [2]);
    }

    #[test]
    fn blanks_in_a_url_are_encoded() {
        let text = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://h/a b?c=ä"}}]}}"#;
        assert_eq!(parsed(text, "http://h").unwrap().requests[0].path, "/a%20b?c=%C3%A4");
    }

    #[test]
    fn an_archive_without_a_request_to_the_target_is_refused() {
        let flaw = parsed(ARCHIVE, "http://other").unwrap_err();
        assert!(flaw.what.contains("none of its 5 requests is for http://other"), "{flaw:?}");
        assert_eq!(parsed("{\"log\":\n {\"entries\": 1}}", "http://h").unwrap_err().line, Some(2));
    }
}
