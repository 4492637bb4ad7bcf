//! vegeta's JSON targets (`vegeta attack -format=json`): one object a line.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pitot_client::{RequestSpec, Url};
use serde::Deserialize;

use super::format::{Format, first_line};
use super::lines::elsewhere;
use super::parsed::{Flaw, Parsed, Positions};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "vegeta",
    summary: "vegeta's JSON targets: one object per line with method, url, header and body (base64)",
    holds_commands: false,
    looks_like: |beginning| first_line(beginning).starts_with(b"{"),
    parse,
};

const CURE: &str =
    r#"write it like {"method": "GET", "url": "http://127.0.0.1:8080/", "header": {"A": ["b"]}}"#;

#[derive(Deserialize)]
struct VegetaTarget {
    method: String,
    url: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
}

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let (mut requests, mut positions) = (Vec::new(), Positions::default());
    for (number, line) in (1..).zip(content.split(|&b| b == b'\n')) {
        let line = line.trim_ascii();
        if !line.is_empty() && !line.starts_with(b"#") {
            requests.push(request(number, line, target)?);
            positions.numbers.push(number);
        }
    }
    if requests.is_empty() {
        return Err(Flaw::of_file("it contains no requests", CURE));
    }
    Ok(Parsed { requests, positions, ..Parsed::default() })
}

fn request(number: usize, line: &[u8], target: &Url) -> Result<RequestSpec, Flaw> {
    let given: VegetaTarget = serde_json::from_slice(line)
        .map_err(|e| Flaw::of_line(number, format!("not a vegeta target: {e}"), CURE))?;
    let path = match place(&given.url, target) {
        Place::Target(path) => path,
        Place::Elsewhere => return Err(elsewhere(number, &given.url, target)),
        Place::Nowhere(why) => {
            return Err(Flaw::of_line(number, format!("`{}` is not a URL: {why}", given.url), CURE));
        }
    };
    let body = STANDARD.decode(given.body.unwrap_or_default()).map_err(|e| {
        Flaw::of_line(number, format!("its body is not base64: {e}"), "encode it with base64 -w0")
    })?;
    let fields = given.header.unwrap_or_default().into_iter();
    let headers = fields.flat_map(|(name, values)| values.into_iter().map(move |v| (name.clone(), v)));
    Ok(RequestSpec { method: given.method, path, headers: headers.collect(), body, ..RequestSpec::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<RequestSpec>, Flaw> {
        parse(text.as_bytes(), &Url::parse("http://h/").unwrap()).map(|parsed| parsed.requests)
    }

    #[test]
    fn a_target_has_method_url_header_and_body() {
        let text = r#"{"method":"POST","url":"http://h/a","body":"aGk=","header":{"X":["1","2"]}}

            {"method": "GET", "url": "http://h/b", "unknown": 1}"#;
        let requests = parsed(text).unwrap();
        assert_eq!(
            (&*requests[0].method, &*requests[0].path, &*requests[0].body),
            ("POST", "/a", &b"hi"[..])
        );
        assert_eq!(requests[0].headers, [("X".into(), "1".into()), ("X".into(), "2".into())]);
        assert_eq!((&*requests[1].path, requests.len()), ("/b", 2));
    }

    #[test]
    fn a_bad_target_is_named_by_its_line() {
        for bad in [
            "{}",
            "nonsense",
            r#"{"method":"GET","url":"http://other/"}"#,
            r#"{"method":"GET","url":"x"}"#,
            r#"{"method":"GET","url":"http://h/","body":"%"}"#,
        ] {
            let flaw = parsed(&format!("{{\"method\":\"GET\",\"url\":\"/\"}}\n{bad}")).unwrap_err();
            assert_eq!(flaw.line, Some(2), "{bad}: {flaw:?}");
        }
    }
}
