//! From the options about requests to the list of requests.

use std::path::Path;
use std::sync::Arc;

use pitot_client::{ClientEntry, RequestSpec, SessionSpec, Url};
use pitot_requests::httperf::{self, Translated};
use pitot_requests::{FORMATS, Format, Parsed, Positions, content, digest_of};
use pitot_results::Failure;
use serde_json::{Value, json};

use super::body::{self, Body};
use crate::choice::{self, Choice};
use crate::options::Options;
use pitot_drive::pace::Recorded;

/// The requests of a run.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) specs: Vec<RequestSpec>,
    /// Sessions, in place of requests.
    pub(crate) sessions: Vec<SessionSpec>,
    /// How many sessions or requests there are to be, where the options about them say so.
    pub(crate) count: Option<u64>,
    /// They come in turn, and are not chosen by their weights.
    pub(crate) in_turn: bool,
    /// Of a log: the request of each line, if they come in turn.
    pub(crate) order: Arc<[u32]>,
    /// The times of a log that is replayed.
    pub(crate) recorded: Option<Recorded>,
    /// Where each of them, or each step of each session, stands in its file.
    pub(crate) positions: Positions,
    /// Where they come from, for the result; null if the command line names them.
    pub(crate) from: Value,
}

/// The requests that the options ask for.
pub(crate) fn requests(options: &Options, url: &Url, client: &ClientEntry) -> Result<Requests, Failure> {
    let choice = options.choice.as_deref().map(Choice::parse).transpose()?;
    if options.speed.is_some() && options.replay.is_none() {
        return Err(Failure::misuse(
            "--speed needs a log to replay (--replay)",
            "name it with --replay FILE",
        ));
    }
    if let Some(log) = &options.replay {
        return replayed(options, log, url);
    }
    if let Some(translated) = httperf::translate(&options.sessions, url)? {
        return of_httperf(options, translated);
    }
    let (mut requests, usual) = match &options.requests_file {
        Some(file) => {
            let requests = from_file(options, file, url)?;
            // Who gives weights wants them to count; those of a log are only counts of its lines.
            let mut weights =
                requests.specs.iter().map(|s| s.weight).chain(requests.sessions.iter().map(|s| s.weight));
            let weighted = requests.order.is_empty() && weights.any(|weight| weight != 1.0);
            (requests, if weighted { Choice::Uniform } else { Choice::Turn })
        }
        None if options.requests_format.is_some() => {
            return Err(Failure::misuse(
                "--requests-format needs a file of requests (--requests)",
                "name it with --requests FILE",
            ));
        }
        None => (Requests { specs: listed(options, url, client)?, ..Requests::default() }, Choice::Uniform),
    };
    let choice = choice.unwrap_or(usual);
    if !requests.sessions.is_empty() && matches!(choice, Choice::Zipf { .. }) {
        return Err(Failure::misuse(
            "--choice zipf does not apply to sessions",
            "give each [[session]] a weight, or take them in turn",
        ));
    }
    choice.weigh(&mut requests.specs);
    requests.in_turn = choice == Choice::Turn;
    if !requests.in_turn {
        requests.order = Arc::default();
    }
    Ok(requests)
}

/// What an option of httperf asks for.
fn of_httperf(options: &Options, translated: Translated) -> Result<Requests, Failure> {
    let Translated { option, file, sha256, requests, sessions, count } = translated;
    check_alone(options, option)?;
    let refused = [
        ("--requests", options.requests_file.is_some()),
        ("--choice", options.choice.is_some()),
        ("-n", options.requests.is_some() && count.is_some()),
    ];
    if let Some((other, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(Failure::misuse(
            format!("{option} and {other} each define the whole request"),
            format!("leave {other} out"),
        ));
    }
    let parsed = Parsed { requests, sessions, ..Parsed::default() };
    let name = file.as_deref().unwrap_or(Path::new(""));
    let mut listed = listed_in(name, option, &sha256, parsed);
    if file.is_none() {
        listed.from = Value::Null;
    }
    Ok(Requests { count, ..listed })
}

/// The requests of a log and their times.
fn replayed(options: &Options, log: &Path, url: &Url) -> Result<Requests, Failure> {
    check_alone(options, "--replay")?;
    let refused = [
        ("--requests", options.requests_file.is_some()),
        ("--choice", options.choice.is_some()),
        ("--idle-trickle", options.workload.idle_trickle.is_some()),
    ];
    if let Some((option, _)) = refused.iter().find(|(_, given)| *given) {
        return Err(Failure::misuse(
            format!("--replay sends the requests of a log at their times, and {option} asks for others"),
            format!("leave {option} out, or send them at another pace with --requests"),
        ));
    }
    let speed = options.speed.unwrap_or(1.0);
    if !(speed.is_finite() && speed > 0.0) {
        return Err(Failure::misuse(
            format!("a speed of {speed}"),
            "write it like --speed 2x or --speed 0.5x",
        ));
    }
    let named = options.requests_format.as_deref().or(Some("log"));
    let (format, sha256, mut parsed) = parse(log, named, url)?;
    if parsed.seconds.is_empty() {
        return Err(Failure::misuse(
            format!("requests in the format {} have no times", format.name),
            "replay an access log, or send them with --requests and -R",
        ));
    }
    parsed
        .notes
        .push(format!("sent at the times of the log, {speed} times as fast, evenly within each second"));
    let seconds = std::mem::take(&mut parsed.seconds).into();
    Ok(Requests {
        recorded: Some(Recorded { seconds, speed }),
        ..listed_in(log, format.name, &sha256, parsed)
    })
}

/// A file names whole requests, which options cannot change.
fn check_alone(options: &Options, option: &str) -> Result<(), Failure> {
    if body::given(options).next().is_none() && options.paths.is_empty() && options.method.is_none() {
        return Ok(());
    }
    Err(Failure::misuse(
        format!("{option} defines whole requests, and cannot be combined with --method, --path or a body"),
        format!("remove them, or remove {option}"),
    ))
}

fn from_file(options: &Options, file: &Path, url: &Url) -> Result<Requests, Failure> {
    check_alone(options, "--requests")?;
    let (format, sha256, parsed) = parse(file, options.requests_format.as_deref(), url)?;
    Ok(listed_in(file, format.name, &sha256, parsed))
}

/// The requests of a file, in its order.
fn listed_in(file: &Path, format: &str, sha256: &str, parsed: Parsed) -> Requests {
    Requests {
        from: json!({
            "file": content::name(file),
            "format": format,
            "sha256": sha256,
            "requests": parsed.order.len().max(parsed.requests.len()),
            "different": parsed.requests.len(),
            "sessions": parsed.sessions.len(),
            "notes": parsed.notes,
        }),
        positions: parsed.positions,
        specs: parsed.requests,
        sessions: parsed.sessions,
        count: None,
        order: parsed.order.into(),
        in_turn: true,
        recorded: None,
    }
}

/// Reads a file of requests in the format that is named, or else in the one that it shows. Also the digest of the file.
fn parse(file: &Path, format: Option<&str>, url: &Url) -> Result<(&'static Format, String, Parsed), Failure> {
    let format = match format {
        Some(name) => Some(Format::named(name).ok_or_else(|| {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            Failure::misuse(
                format!("there is no format of requests `{name}`"),
                format!("choose one of {}", names.join(", ")),
            )
        })?),
        None => None,
    };
    let bytes = content::read_or_stdin(file)?;
    let format = format.unwrap_or_else(|| Format::of(&bytes));
    let client = pitot_client::find(&url.scheme);
    if format.holds_commands && !client.is_some_and(|client| client.has_commands && client.has_sessions) {
        return Err(Failure::misuse(
            format!("{} is a script of {}, and {}:// has none", content::name(file), format.name, url.scheme),
            "name a target such as postgres://127.0.0.1/DATABASE, or name the format of the file with --requests-format",
        ));
    }
    let mut parsed = format.parse(&bytes, url).map_err(|flaw| {
        let name = content::name(file);
        let place = flaw.line.map_or_else(|| name.clone(), |line| format!("line {line} of {name}"));
        Failure::misuse(format!("{place}, read as {}: {}", format.name, flaw.what), flaw.fix)
    })?;
    // A script is known by its file.
    for session in parsed.sessions.iter_mut().filter(|session| session.name.is_empty()) {
        session.name =
            file.file_name().map_or_else(|| "script".into(), |name| name.to_string_lossy().into_owned());
    }
    Ok((format, digest_of(&bytes).1, parsed))
}

/// The requests that the command line names, in their order.
fn listed(options: &Options, url: &Url, client: &ClientEntry) -> Result<Vec<RequestSpec>, Failure> {
    let body = body::of(options)?;
    let usual = if body.is_some() && client.has_methods { "POST" } else { "GET" };
    let method = options.method.as_deref().unwrap_or(usual);
    let Body { bytes: body, content_type } = body.unwrap_or_default();
    let given = |name: &str| {
        let names = options.headers.iter().filter_map(|text| text.split(':').next());
        names.into_iter().any(|n| n.trim().eq_ignore_ascii_case(name))
    };
    let content_type = content_type.filter(|_| !given("content-type"));
    let headers: Vec<_> = content_type.map(|kind| ("Content-Type".to_owned(), kind)).into_iter().collect();
    let bodies: Vec<Vec<u8>> = match &*options.content.commands {
        [] => vec![body],
        commands => commands.iter().map(|command| command.as_bytes().to_vec()).collect(),
    };
    let mut specs = Vec::new();
    // The requests that a range stands for share the weight.
    let mut add = |pattern: &str, weight: f64| -> Result<(), Failure> {
        let paths = choice::paths(pattern)?;
        let weight = weight / paths.len() as f64;
        for path in paths {
            specs.extend(bodies.iter().map(|body| RequestSpec {
                method: method.to_owned(),
                path: path.clone(),
                headers: headers.clone(),
                weight,
                body: body.clone(),
            }));
        }
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
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn parse(options: &Options) -> Result<(Vec<RequestSpec>, bool), Failure> {
        let url = Url::parse(&options.url).unwrap();
        let requests = requests(options, &url, pitot_client::find(&url.scheme).unwrap())?;
        Ok((requests.specs, requests.in_turn))
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
        assert!(parse(&options).unwrap_err().fix.contains("zipf:0.99"));
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
    fn a_log_is_sent_in_its_order_or_chosen_from_by_weight() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for path in ["/a", "/b", "/a"] {
            writeln!(file, "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET {path} HTTP/1.1\" 200 1").unwrap();
        }
        let mut options = Options::new("http://h/");
        options.requests_file = Some(file.path().to_owned());
        let of = |options: &Options| {
            let url = Url::parse(&options.url).unwrap();
            requests(options, &url, pitot_client::find("http").unwrap()).unwrap()
        };
        let turn = of(&options);
        assert_eq!((turn.specs.len(), &*turn.order, turn.in_turn), (2, &[0, 1, 0][..], true));
        assert_eq!((&turn.from["format"], &turn.from["requests"]), (&"log".into(), &3.into()));
        assert_eq!(turn.from["sha256"].as_str().map(str::len), Some(64));
        options.choice = Some("uniform".into());
        let chosen = of(&options);
        assert_eq!((chosen.specs[0].weight, chosen.order.len(), chosen.in_turn), (2.0, 0, false));
    }

    #[test]
    fn weights_in_a_file_count() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "[[request]]\nurl = '/a'\nweight = 3\n[[request]]\nurl = '/b'\n").unwrap();
        let mut options = Options::new("http://h/");
        options.requests_file = Some(file.path().to_owned());
        assert!(!parse(&options).unwrap().1);
        options.choice = Some("turn".into());
        assert!(parse(&options).unwrap().1);
    }

    #[test]
    fn a_format_may_be_named() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "/a").unwrap();
        let mut options = Options::new("http://h/");
        options.requests_format = Some("lines".into());
        assert!(parse(&options).unwrap_err().to_string().contains("--requests-format"));
        options.requests_file = Some(file.path().to_owned());
        assert_eq!(parse(&options).unwrap().0[0].path, "/a");
        options.requests_format = Some("log".into());
        assert!(parse(&options).unwrap_err().to_string().contains("read as log: none of its 1 line"));
        options.requests_format = Some("wget".into());
        assert!(parse(&options).unwrap_err().fix.contains("vegeta"));
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
