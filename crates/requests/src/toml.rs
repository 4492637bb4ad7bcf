//! Pitot's own format: tables of TOML, for what the formats of other programs lack.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use pitot_client::{RequestSpec, SessionSpec, Source, StepSpec, TakeSpec, Url};
use pitot_meter::units;
use serde::Deserialize;
use toml::Spanned;

use super::content;
use super::format::{Format, first_line};
use super::lines::elsewhere;
use super::parsed::{Flaw, Parsed};
use super::target::{Place, place};
use crate::status_ranges::statuses;

pub(super) const FORMAT: Format = Format {
    name: "toml",
    summary: "TOML tables with weights, think times and sessions",
    holds_commands: false,
    // No other format has such a line; an error lists the valid table names.
    looks_like: |beginning| first_line(beginning).starts_with(b"[["),
    parse,
};

const CURE: &str = "docs/requests.md lists all keys of a table";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    request: Vec<Spanned<Request>>,
    #[serde(default)]
    session: Vec<Spanned<Session>>,
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
    think: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Session {
    name: Option<String>,
    weight: Option<f64>,
    #[serde(default)]
    step: Vec<Spanned<Step>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: Option<String>,
    method: Option<String>,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    body_file: Option<PathBuf>,
    expect: Option<String>,
    #[serde(default)]
    take: BTreeMap<String, Take>,
    think: Option<String>,
    #[serde(default)]
    burst: bool,
}

/// Where a value is: one of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Take {
    status: Option<bool>,
    header: Option<String>,
    regex: Option<String>,
    json: Option<String>,
}

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let text = std::str::from_utf8(content).map_err(|_| Flaw::of_file("it is not text", CURE))?;
    let line_of = |span: Range<usize>| text[..span.start.min(text.len())].matches('\n').count() + 1;
    let file: File = toml::from_str(text).map_err(|e| Flaw {
        line: e.span().map(line_of),
        what: e.message().replace('\n', " "),
        fix: CURE.into(),
    })?;
    let mut parsed = Parsed::default();
    // Those of requests that become sessions come behind those of others that do.
    let (mut lines, mut of_sessions) = (Vec::new(), Vec::new());
    for table in file.request {
        let line = line_of(table.span());
        let Request { method, url, headers, body, body_file, weight, think } = table.into_inner();
        let mut spec = request(line, (method, url, headers, body, body_file), target)?;
        spec.weight = weight.unwrap_or(1.0);
        match think {
            None => {
                parsed.requests.push(spec);
                lines.push(line);
            }
            // Who thinks after a request has a session of one step.
            Some(think) => {
                parsed.sessions.push(alone(spec, duration(line, &think)?));
                of_sessions.push(line);
            }
        }
    }
    if !parsed.sessions.is_empty() {
        parsed.sessions.extend(parsed.requests.drain(..).map(|spec| alone(spec, Duration::ZERO)));
    }
    for table in file.session {
        let (line, number) = (line_of(table.span()), parsed.sessions.len() + 1);
        let session = table.into_inner();
        if !parsed.requests.is_empty() {
            return Err(Flaw::of_line(
                line,
                "a session follows plain requests",
                "write each request as a session",
            ));
        }
        if session.step.is_empty() {
            return Err(Flaw::of_line(
                line,
                "the session has no steps",
                "write a [[session.step]] with a url",
            ));
        }
        let (mut steps, mut of_steps) = (Vec::new(), Vec::new());
        for table in session.step {
            let line = line_of(table.span());
            steps.push(step(line, steps.len() + 1, table.into_inner(), target)?);
            of_steps.push(line);
        }
        parsed.sessions.push(SessionSpec {
            name: session.name.unwrap_or_else(|| number.to_string()),
            weight: session.weight.unwrap_or(1.0),
            draws: Vec::new(),
            steps,
        });
        lines.extend(of_steps);
    }
    of_sessions.extend(lines);
    parsed.positions.numbers = of_sessions;
    if parsed.requests.is_empty() && parsed.sessions.is_empty() {
        return Err(Flaw::of_file("it contains no requests", CURE));
    }
    Ok(parsed)
}

/// A session of a single request.
fn alone(request: RequestSpec, think: Duration) -> SessionSpec {
    let name = format!("{} {}", request.method, request.path);
    let weight = request.weight;
    SessionSpec {
        name,
        weight,
        draws: Vec::new(),
        steps: vec![StepSpec { name: "1".into(), request, think, ..StepSpec::default() }],
    }
}

fn duration(line: usize, text: &str) -> Result<Duration, Flaw> {
    units::duration(text)
        .map(Duration::from)
        .map_err(|e| Flaw::of_line(line, format!("`{text}` is not a time: {e}"), "write it like 500ms or 2s"))
}

fn step(line: usize, number: usize, given: Step, target: &Url) -> Result<StepSpec, Flaw> {
    let parts = (given.method, given.url, given.headers, given.body, given.body_file);
    let statuses = given.expect.as_deref().map(statuses).transpose();
    let think = given.think.as_deref().map(|text| duration(line, text)).transpose()?;
    Ok(StepSpec {
        name: given.name.unwrap_or_else(|| number.to_string()),
        request: request(line, parts, target)?,
        expect_status: statuses
            .map_err(|e| Flaw::of_line(line, e.what, "write expect = \"200,302\" or \"2xx\""))?
            .unwrap_or_default(),
        take: given.take.into_iter().map(|(name, from)| take(line, name, from)).collect::<Result<_, _>>()?,
        think: think.unwrap_or_default(),
        burst: given.burst,
    })
}

fn take(line: usize, name: String, from: Take) -> Result<TakeSpec, Flaw> {
    let from = match (from.status, from.header, from.regex, from.json) {
        (Some(true), None, None, None) => Source::Status,
        (None, Some(header), None, None) => Source::Header(header),
        (None, None, Some(regex), None) => Source::Regex(regex),
        (None, None, None, Some(pointer)) => Source::Json(pointer),
        _ => {
            return Err(Flaw::of_line(
                line,
                format!("the value `{name}` needs exactly one source"),
                "set one: status = true, header = \"Name\", regex = 'id=(\\d+)' or json = \"/id\"",
            ));
        }
    };
    Ok(TakeSpec { name, from })
}

/// What requests and steps have in common.
type Parts = (Option<String>, String, BTreeMap<String, String>, Option<String>, Option<PathBuf>);

fn request(
    line: usize,
    (method, url, headers, body, file): Parts,
    target: &Url,
) -> Result<RequestSpec, Flaw> {
    let path = match place(&url, target) {
        Place::Target(path) => path,
        Place::Elsewhere => return Err(elsewhere(line, &url, target)),
        // A value may be a whole path.
        Place::Nowhere(_) if url.starts_with('{') => url,
        Place::Nowhere(why) => return Err(Flaw::of_line(line, format!("`{url}` is not a URL: {why}"), CURE)),
    };
    let body = match (body, file) {
        (Some(_), Some(_)) => {
            return Err(Flaw::of_line(line, "body and body_file cannot be combined", "remove one of them"));
        }
        (Some(text), None) => text.into_bytes(),
        (None, Some(file)) => content::read(&file).map_err(|e| Flaw::of_line(line, e.what, e.fix))?,
        (None, None) => Vec::new(),
    };
    let usual = if body.is_empty() { "GET" } else { "POST" };
    Ok(RequestSpec {
        method: method.unwrap_or_else(|| usual.into()),
        path,
        headers: headers.into_iter().collect(),
        body,
        ..RequestSpec::default()
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
    fn a_session_has_steps_with_values() {
        let text = r#"
[[session]]
name = "shop"
weight = 2
[[session.step]]
name = "log in"
url = "/login"
body = "user={session}"
expect = "2xx"
think = "1.5s"
take = { token = { header = "X-Token" }, id = { json = "/id" } }
[[session.step]]
url = "{token}"
[[session.step]]
url = "/items/{id}"
burst = true
"#;
        let parsed = parse(text.as_bytes(), &Url::parse("http://h/").unwrap()).unwrap();
        let session = &parsed.sessions[0];
        assert_eq!((&*session.name, session.weight, session.steps.len()), ("shop", 2.0, 3));
        let first = &session.steps[0];
        assert_eq!((&*first.name, &*first.request.method), ("log in", "POST"));
        assert_eq!((first.think, &*first.expect_status), (Duration::from_millis(1500), &[200..=299][..]));
        let taken: Vec<&Source> = first.take.iter().map(|take| &take.from).collect();
        assert_eq!(taken, [&Source::Json("/id".into()), &Source::Header("X-Token".into())]);
        assert_eq!((&*session.steps[1].request.path, &*session.steps[1].name), ("{token}", "2"));
        assert!(session.steps[2].burst);
    }

    #[test]
    fn a_request_with_a_think_time_is_a_session_of_its_own() {
        let text = "[[request]]\nurl = '/a'\nthink = '1s'\n[[request]]\nurl = '/b'\nweight = 3\n";
        let parsed = parse(text.as_bytes(), &Url::parse("http://h/").unwrap()).unwrap();
        let seen: Vec<(&str, f64, Duration)> =
            parsed.sessions.iter().map(|s| (&*s.name, s.weight, s.steps[0].think)).collect();
        assert_eq!(seen, [("GET /a", 1.0, Duration::from_secs(1)), ("GET /b", 3.0, Duration::ZERO)]);
        assert!(parsed.requests.is_empty());
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
            ("[[session]]\nname = 'x'\n", Some(1)),
            ("[[request]]\nurl = '/'\n[[session]]\n[[session.step]]\nurl = '/'\n", Some(3)),
            ("[[session]]\n[[session.step]]\nurl = '/'\nthink = 'soon'\n", Some(2)),
            ("[[session]]\n[[session.step]]\nurl = '/'\nexpect = 'ok'\n", Some(2)),
            ("[[session]]\n[[session.step]]\nurl = '/'\ntake = { a = {} }\n", Some(2)),
            ("", None),
        ] {
            assert_eq!(parsed(text).unwrap_err().line, line, "{text}");
        }
    }
}
