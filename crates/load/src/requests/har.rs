//! HTTP archives, as browsers save them (HAR 1.2): the requests to the target, in their order.

use pitot_meter::units::counted;
use pitot_proto::client::{RequestSpec, Url};
use serde::Deserialize;

use super::format::Format;
use super::parsed::{Flaw, Parsed, Positions};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "har",
    summary: "an HTTP archive of a browser: the requests to the target, with their headers and bodies",
    looks_like,
    parse,
};

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
    entries: Vec<Entry>,
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
        what: format!("it is not an HTTP archive: {e}"),
        cure: "save it again from the network panel of the browser".into(),
    })?;
    let all = archive.log.entries.len();
    let mut requests = Vec::new();
    let mut positions = Positions { are_entries: true, numbers: Vec::new() };
    for (number, Entry { request }) in (1..).zip(archive.log.entries) {
        // An archive is of all that a page asked for, data: URLs too.
        if let Place::Target(path) = place(&encoded(&request.url), target) {
            requests.push(spec(request, path));
            positions.numbers.push(number);
        }
    }
    let others = counted((all - requests.len()) as u64, "request", "requests");
    let server = format!("{}://{}", target.scheme, target.authority());
    if requests.is_empty() {
        return Err(Flaw::of_file(
            format!("none of its {} is to {server}", counted(all as u64, "request", "requests")),
            "name the server of the archive as the target; only what was sent to it is sent",
        ));
    }
    let left_out = all > requests.len();
    let notes = left_out.then(|| format!("{others} to others than {server} left out")).into_iter().collect();
    Ok(Parsed { requests, positions, notes, ..Parsed::default() })
}

/// A URL whose blanks and letters beyond ASCII are encoded, as browsers do when they ask for it (URL standard).
fn encoded(url: &str) -> String {
    let byte = |b: u8| if b.is_ascii_graphic() { char::from(b).to_string() } else { format!("%{b:02X}") };
    url.bytes().map(byte).collect()
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
    let encode = |text: &str| -> String {
        let byte = |b: u8| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => char::from(b).to_string(),
            b' ' => "+".into(),
            _ => format!("%{b:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let pairs = fields.iter().map(|f| format!("{}={}", encode(&f.name), encode(&f.value)));
    pairs.collect::<Vec<_>>().join("&")
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
        assert_eq!(parsed.notes, ["2 requests to others than http://h left out"]);
    }

    #[test]
    fn blanks_in_a_url_are_encoded() {
        let text = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://h/a b?c=ä"}}]}}"#;
        assert_eq!(parsed(text, "http://h").unwrap().requests[0].path, "/a%20b?c=%C3%A4");
    }

    #[test]
    fn an_archive_without_a_request_to_the_target_is_refused() {
        let flaw = parsed(ARCHIVE, "http://other").unwrap_err();
        assert!(flaw.what.contains("none of its 5 requests is to http://other"), "{flaw:?}");
        assert_eq!(parsed("{\"log\":\n {\"entries\": 1}}", "http://h").unwrap_err().line, Some(2));
    }
}
