//! From what the user wrote about requests to the list of them.

use std::fs;
use std::path::Path;

use pitot_proto::client::{RequestSpec, Url};

use crate::options::Options;
use crate::plan::Misuse;

/// The requests of a run, and whether they come in turn.
pub(crate) fn specs(options: &Options, url: &Url) -> Result<(Vec<RequestSpec>, bool), Misuse> {
    let body = match &options.body {
        Some(text) => content(text)?,
        None => Vec::new(),
    };
    if let Some(file) = &options.requests_file {
        if options.body.is_some() || !options.paths.is_empty() || options.method != "GET" {
            return Err(Misuse::new(
                "--requests names whole requests, so that --method, --path and --body have no meaning beside it",
                "leave them out, or leave --requests out",
            ));
        }
        return Ok((from_file(file)?, true));
    }
    let spec = |path: &str, weight| RequestSpec {
        method: options.method.clone(),
        path: path.to_owned(),
        weight,
        body: body.clone(),
    };
    if options.paths.is_empty() {
        return Ok((vec![spec(&url.path, 1.0)], false));
    }
    let weighted = |word: &String| match word.rsplit_once('=') {
        // A path may hold an equals sign of its own, so that only a number behind the last one is a weight.
        Some((path, weight)) if weight.parse::<f64>().is_ok() => {
            spec(path, weight.parse().unwrap_or_default())
        }
        _ => spec(word, 1.0),
    };
    Ok((options.paths.iter().map(weighted).collect(), false))
}

/// A body: the text itself, or what is in the file behind an at sign.
fn content(text: &str) -> Result<Vec<u8>, Misuse> {
    match text.strip_prefix('@') {
        Some(file) => read(Path::new(file)),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// A file that an option names.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Misuse> {
    fs::read(file).map_err(|e| {
        Misuse::new(
            format!("the file {} cannot be read: {e}", file.display()),
            "check its name and its permissions",
        )
    })
}

fn from_file(file: &Path) -> Result<Vec<RequestSpec>, Misuse> {
    let bytes = read(file)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Misuse::new(format!("the file {} is not text", file.display()), "write one request a line: GET /path")
    })?;
    let mut specs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.splitn(3, char::is_whitespace);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(Misuse::new(
                format!("line {} of {} is not a request: `{line}`", number + 1, file.display()),
                "write METHOD PATH, and behind it a body or @file where there is one",
            ));
        };
        let body = words.next().map(|text| content(text.trim_start())).transpose()?.unwrap_or_default();
        specs.push(RequestSpec { method: method.to_owned(), path: path.to_owned(), weight: 1.0, body });
    }
    if specs.is_empty() {
        return Err(Misuse::new(
            format!("the file {} holds no request", file.display()),
            "write one request a line: GET /path",
        ));
    }
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn parse(options: &Options) -> Result<(Vec<RequestSpec>, bool), Misuse> {
        specs(options, &Url::parse(&options.url).unwrap())
    }

    #[test]
    fn paths_may_have_weights_and_equals_signs() {
        let mut options = Options::new("http://h/from-url");
        assert_eq!(parse(&options).unwrap().0[0].path, "/from-url");
        options.paths = vec!["/a=3".into(), "/b?x=y".into(), "/c?x=y=0.5".into()];
        let (specs, in_turn) = parse(&options).unwrap();
        let seen: Vec<(&str, f64)> = specs.iter().map(|s| (&*s.path, s.weight)).collect();
        assert_eq!(seen, [("/a", 3.0), ("/b?x=y", 1.0), ("/c?x=y", 0.5)]);
        assert!(!in_turn);
    }

    #[test]
    fn a_file_of_requests_keeps_its_order() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "# a comment\nGET /1\n\nPOST /2 some body\n").unwrap();
        let mut options = Options::new("http://h/");
        options.requests_file = Some(file.path().to_owned());
        let (specs, in_turn) = parse(&options).unwrap();
        assert!(in_turn);
        assert_eq!((&*specs[1].method, &*specs[1].path, &*specs[1].body), ("POST", "/2", &b"some body"[..]));
        options.paths = vec!["/x".into()];
        assert!(parse(&options).is_err());
    }

    #[test]
    fn a_bad_file_is_named() {
        let mut options = Options::new("http://h/");
        options.requests_file = Some("/nonexistent/requests".into());
        assert!(parse(&options).unwrap_err().to_string().contains("/nonexistent/requests"));
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "GET").unwrap();
        options.requests_file = Some(file.path().to_owned());
        assert!(parse(&options).unwrap_err().to_string().contains("line 1"));
    }
}
