//! Pitot's own format: tables of TOML, for what the formats of other programs lack.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use pitot_proto::client::{RequestSpec, Url};
use serde::Deserialize;
use toml::Spanned;

use super::content;
use super::format::{Format, first_line};
use super::lines::elsewhere;
use super::parsed::{Flaw, Parsed};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "toml",
    summary: "tables of TOML, [[request]], with weights and think times: see docs/requests.md",
    looks_like: |beginning| {
        let line = first_line(beginning);
        line.starts_with(b"[[request]]") || line.starts_with(b"[[session]]")
    },
    parse,
};

const CURE: &str = "docs/requests.md shows all that a table may hold";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    request: Vec<Spanned<Request>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    body_file: Option<PathBuf>,
    weight: Option<f64>,
}

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let text = std::str::from_utf8(content).map_err(|_| Flaw::of_file("it is not text", CURE))?;
    let line_of = |span: Range<usize>| text[..span.start.min(text.len())].matches('\n').count() + 1;
    let file: File = toml::from_str(text).map_err(|e| Flaw {
        line: e.span().map(line_of),
        what: e.message().replace('\n', " "),
        cure: CURE.into(),
    })?;
    let mut requests = Vec::new();
    for table in file.request {
        let line = line_of(table.span());
        requests.push(request(line, table.into_inner(), target)?);
    }
    if requests.is_empty() {
        return Err(Flaw::of_file("it holds no request", CURE));
    }
    Ok(Parsed { requests, ..Parsed::default() })
}

fn request(line: usize, given: Request, target: &Url) -> Result<RequestSpec, Flaw> {
    let path = match place(&given.url, target) {
        Place::Target(path) => path,
        Place::Elsewhere => return Err(elsewhere(line, &given.url, target)),
        Place::Nowhere(why) => {
            return Err(Flaw::of_line(line, format!("`{}` is no URL: {why}", given.url), CURE));
        }
    };
    let body = match (given.body, given.body_file) {
        (Some(_), Some(_)) => {
            return Err(Flaw::of_line(line, "it has a body and a body_file", "leave one of them out"));
        }
        (Some(text), None) => text.into_bytes(),
        (None, Some(file)) => content::read(&file).map_err(|e| Flaw::of_line(line, e.what, e.cure))?,
        (None, None) => Vec::new(),
    };
    let usual = if body.is_empty() { "GET" } else { "POST" };
    Ok(RequestSpec {
        method: given.method.unwrap_or_else(|| usual.into()),
        path,
        headers: given.headers.into_iter().collect(),
        weight: given.weight.unwrap_or(1.0),
        body,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<RequestSpec>, Flaw> {
        parse(text.as_bytes(), &Url::parse("http://h/").unwrap()).map(|parsed| parsed.requests)
    }

    #[test]
    fn a_table_is_a_request() {
        let requests = parsed(
            "[[request]]\nurl = '/a'\nweight = 3\nheaders = { X-A = 'b' }\n\
             [[request]]\nurl = 'http://h/b'\nbody = 'hi'\n[[request]]\nmethod = 'PUT'\nurl = '/c'\n",
        )
        .unwrap();
        let seen: Vec<(&str, &str, f64)> =
            requests.iter().map(|r| (&*r.method, &*r.path, r.weight)).collect();
        assert_eq!(seen, [("GET", "/a", 3.0), ("POST", "/b", 1.0), ("PUT", "/c", 1.0)]);
        assert_eq!(requests[0].headers, [("X-A".into(), "b".into())]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, line) in [
            ("[[request]]\nurl = '/'\nwight = 3\n", Some(3)),
            ("[[request]]\nurl = '/'\n\n[[request]]\nurl = 'http://other/'\n", Some(4)),
            ("[[request]]\nmethod = 'GET'\n", Some(1)),
            ("[[request]]\nurl = \n", Some(2)),
            ("[[request]]\nurl = '/'\nbody = ''\nbody_file = 'x'\n", Some(1)),
            ("[[request]]\nurl = '/'\nbody_file = '/nonexistent/x'\n", Some(1)),
            ("", None),
        ] {
            assert_eq!(parsed(text).unwrap_err().line, line, "{text}");
        }
    }
}
