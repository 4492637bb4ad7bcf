//! A request a line: a URL, or `METHOD PATH` with a body or `@FILE` behind it.

use pitot_client::{RequestSpec, Url};

use super::content;
use super::format::Format;
use super::parsed::{Flaw, Parsed, Positions};
use super::target::{Place, place};

pub(super) const FORMAT: Format = Format {
    name: "lines",
    summary: "one request per line: a URL or path, or METHOD PATH [BODY or @FILE]",
    holds_commands: false,
    looks_like: |_| true,
    parse,
};

const CURE: &str = "write a URL, or METHOD PATH with an optional body or @file";

fn parse(content: &[u8], target: &Url) -> Result<Parsed, Flaw> {
    let text = std::str::from_utf8(content)
        .map_err(|_| Flaw::of_file("it is not text", "write one request per line: GET /path"))?;
    let (mut requests, mut positions) = (Vec::new(), Positions::default());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            requests.push(request(number, line, target)?);
            positions.numbers.push(number);
        }
    }
    if requests.is_empty() {
        return Err(Flaw::of_file("it contains no requests", "write one request per line: GET /path"));
    }
    Ok(Parsed { requests, positions, ..Parsed::default() })
}

fn request(number: usize, line: &str, target: &Url) -> Result<RequestSpec, Flaw> {
    let wrong = || Flaw::of_line(number, format!("not a request: `{line}`"), CURE);
    let is_url = |word: &str| word.starts_with('/') || word.contains("://");
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (method, url, body) = match is_url(first) {
        true if rest.is_empty() => ("GET", first, ""),
        true => return Err(wrong()),
        false => {
            let (url, body) =
                rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim_start(), ""));
            (first, url, body.trim_start())
        }
    };
    if url.is_empty() {
        return Err(wrong());
    }
    let path = match place(url, target) {
        Place::Target(path) => path,
        Place::Elsewhere => return Err(elsewhere(number, url, target)),
        // Other protocols have other paths.
        Place::Nowhere(_) if !url.contains("://") => url.to_owned(),
        Place::Nowhere(why) => {
            return Err(Flaw::of_line(number, format!("`{url}` is not a URL: {why}"), CURE));
        }
    };
    // The line of a request as HTTP/1 has it, with its version.
    let body = if body.starts_with("HTTP/") && !body.contains(char::is_whitespace) { "" } else { body };
    let body = content::body(body).map_err(|e| Flaw::of_line(number, e.what, e.fix))?;
    Ok(RequestSpec { method: method.to_owned(), path, body, ..RequestSpec::default() })
}

/// A URL that is not the target's in a list that was written for it.
pub(super) fn elsewhere(number: usize, url: &str, target: &Url) -> Flaw {
    let server = format!("{}://{}", target.scheme, target.authority());
    Flaw::of_line(
        number,
        format!("`{url}` is not on the target {server}"),
        "a run has one target: use a file per target, or write only paths",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Vec<(String, String, Vec<u8>)>, Flaw> {
        let parsed = parse(text.as_bytes(), &Url::parse("http://h:81/").unwrap())?;
        Ok(parsed.requests.into_iter().map(|r| (r.method, r.path, r.body)).collect())
    }

    #[test]
    fn a_line_is_a_url_or_a_method_and_a_path() {
        let row = |m: &str, p: &str, b: &str| (m.to_owned(), p.to_owned(), b.as_bytes().to_vec());
        assert_eq!(
            parsed("# c\n\nhttp://h:81/a?b\n/c\n  DELETE   /d  HTTP/1.1\nPUT http://h:81/e  some body\n")
                .unwrap(),
            [
                row("GET", "/a?b", ""),
                row("GET", "/c", ""),
                row("DELETE", "/d", ""),
                row("PUT", "/e", "some body")
            ]
        );
    }

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        for bad in ["GET", "/a /b", "GET http://other/", "http://h/", "POST / @/nonexistent/body", "GET ://"]
        {
            let flaw = parsed(&format!("/\n\n{bad}\n")).unwrap_err();
            assert_eq!(flaw.line, Some(3), "{bad}: {flaw:?}");
        }
        assert_eq!(parsed("# nothing\n").unwrap_err().line, None);
    }
}
