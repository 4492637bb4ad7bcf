//! From the options about requests to the list of requests.

use std::fs;
use std::path::Path;

use pitot_proto::client::{ClientEntry, RequestSpec, Url};

use crate::choice::{self, Choice};
use crate::options::Options;
use pitot_results::Failure;

/// The requests of a run, and whether they come in turn.
pub(crate) fn specs(
    options: &Options,
    url: &Url,
    client: &ClientEntry,
) -> Result<(Vec<RequestSpec>, bool), Failure> {
    let choice = options.choice.as_deref().map(Choice::parse).transpose()?;
    let (mut specs, usual) = listed(options, url, client)?;
    let choice = choice.unwrap_or(usual);
    choice.weigh(&mut specs);
    Ok((specs, choice == Choice::Turn))
}

/// The requests in the order given, and how they are chosen by default.
fn listed(options: &Options, url: &Url, client: &ClientEntry) -> Result<(Vec<RequestSpec>, Choice), Failure> {
    let body = match &options.body {
        Some(text) => content(text)?,
        None => Vec::new(),
    };
    if let Some(file) = &options.requests_file {
        if options.body.is_some() || !options.paths.is_empty() || options.method.is_some() {
            return Err(Failure::misuse(
                "--requests names whole requests, so that --method, --path and --body cannot be combined with it",
                "leave them out, or leave --requests out",
            ));
        }
        return Ok((from_file(file)?, Choice::Turn));
    }
    let usual = if options.body.is_some() && client.has_methods { "POST" } else { "GET" };
    let method = options.method.as_deref().unwrap_or(usual);
    let mut specs = Vec::new();
    // The requests that a range stands for share the weight.
    let mut add = |pattern: &str, weight: f64| -> Result<(), Failure> {
        let paths = choice::paths(pattern)?;
        let weight = weight / paths.len() as f64;
        specs.extend(paths.into_iter().map(|path| RequestSpec {
            method: method.to_owned(),
            path,
            headers: Vec::new(),
            weight,
            body: body.clone(),
        }));
        Ok(())
    };
    if options.paths.is_empty() {
        add(&url.path, 1.0)?;
    }
    for word in &options.paths {
        match word.rsplit_once('=') {
            // A path may contain an equals sign itself, so only a number after the last one is a weight.
            Some((path, weight)) if weight.parse::<f64>().is_ok() => {
                add(path, weight.parse().unwrap_or_default())?;
            }
            _ => add(word, 1.0)?,
        }
    }
    Ok((specs, Choice::Uniform))
}

/// A body: the text itself, or what is in the file behind an at sign.
fn content(text: &str) -> Result<Vec<u8>, Failure> {
    match text.strip_prefix('@') {
        Some(file) => read(Path::new(file)),
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// A file that an option names.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(file).map_err(|e| {
        Failure::misuse(
            format!("the file {} cannot be read: {e}", file.display()),
            "check its name and its permissions",
        )
    })
}

fn from_file(file: &Path) -> Result<Vec<RequestSpec>, Failure> {
    let bytes = read(file)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::misuse(
            format!("the file {} is not text", file.display()),
            "write one request a line: GET /path",
        )
    })?;
    let mut specs = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.splitn(3, char::is_whitespace);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Err(Failure::misuse(
                format!("line {} of {} is not a request: `{line}`", number + 1, file.display()),
                "write METHOD PATH, followed by a body or @file if there is one",
            ));
        };
        let body = words.next().map(|text| content(text.trim_start())).transpose()?.unwrap_or_default();
        specs.push(RequestSpec {
            method: method.to_owned(),
            path: path.to_owned(),
            body,
            ..RequestSpec::default()
        });
    }
    if specs.is_empty() {
        return Err(Failure::misuse(
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

    fn parse(options: &Options) -> Result<(Vec<RequestSpec>, bool), Failure> {
        let url = Url::parse(&options.url).unwrap();
        specs(options, &url, pitot_proto::client::find(&url.scheme).unwrap())
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
    fn a_body_is_posted_unless_another_method_is_asked_for() {
        let method = |url: &str, method: Option<&str>, body: Option<&str>| {
            let mut options = Options::new(url);
            (options.method, options.body) = (method.map(Into::into), body.map(Into::into));
            parse(&options).unwrap().0[0].method.clone()
        };
        assert_eq!(method("http://h/", None, None), "GET");
        assert_eq!(method("http://h/", None, Some("hello")), "POST");
        assert_eq!(method("http://h/", Some("GET"), Some("hello")), "GET");
        assert_eq!(method("smtp://h/", None, Some("hello")), "GET");
    }

    #[test]
    fn a_range_in_the_url_is_a_set_that_is_chosen_from() {
        let mut options = Options::new("http://h/files/{0..9}");
        let (set, in_turn) = parse(&options).unwrap();
        assert_eq!((set.len(), &*set[9].path, set[9].weight, in_turn), (10, "/files/9", 0.1, false));
        options.choice = Some("zipf:1".into());
        let (set, _) = parse(&options).unwrap();
        assert!((set[0].weight / set[9].weight - 10.0).abs() < 1e-9);
        options.choice = Some("turn".into());
        assert!(parse(&options).unwrap().1);
        options.paths = vec!["/a=3".into(), "/{1..3}=3".into()];
        options.choice = None;
        let (set, _) = parse(&options).unwrap();
        assert_eq!(set.iter().map(|s| s.weight).collect::<Vec<_>>(), [3.0, 1.0, 1.0, 1.0]);
        options.choice = Some("sometimes".into());
        assert!(parse(&options).unwrap_err().cure.contains("zipf:0.99"));
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
        options.choice = Some("uniform".into());
        assert!(!parse(&options).unwrap().1);
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
