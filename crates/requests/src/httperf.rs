//! The sessions and lists of httperf: `--wsess`, `--wsesslog` and `--wlog`, in its own words (httperf(1)).

use std::path::{Path, PathBuf};
use std::time::Duration;

use pitot_client::{RequestSpec, SessionSpec, StepSpec, Url};
use pitot_results::Failure;

use super::content;
use super::lines::elsewhere;
use super::parsed::Flaw;
use super::target::{Place, place};
use crate::digest::digest_of;
use crate::options::SessionOptions;

/// The most steps of a session that is made of numbers.
const CALLS_MAX: u64 = 10_000;

/// The meaning of one of the options.
#[derive(Debug, Default, PartialEq)]
pub struct Translated {
    /// Its name.
    pub option: &'static str,
    /// The file that it names.
    pub file: Option<PathBuf>,
    /// The digest of the file.
    pub sha256: String,
    /// The requests of it.
    pub requests: Vec<RequestSpec>,
    /// The sessions, in place of requests.
    pub sessions: Vec<SessionSpec>,
    /// Sessions or requests of the run, where limited.
    pub count: Option<u64>,
}

/// The meaning of the options, if one is given.
pub fn translate(options: &SessionOptions, url: &Url) -> Result<Option<Translated>, Failure> {
    if options.burst_length.is_some() && options.wsess.is_none() {
        return Err(Failure::misuse(
            "--burst-length needs the sessions of --wsess",
            "add --wsess=N1,N2,X, or remove --burst-length",
        ));
    }
    match (&options.wsess, &options.wsesslog, &options.wlog) {
        (None, None, None) => Ok(None),
        (Some(text), None, None) => wsess(text, options.burst_length.unwrap_or(1), url).map(Some),
        (None, Some(text), None) => wsesslog(text, url).map(Some),
        (None, None, Some(text)) => wlog(text, url).map(Some),
        _ => Err(Failure::misuse(
            "--wsess, --wsesslog and --wlog cannot be combined: each defines all requests of a run",
            "use one of them",
        )),
    }
}

fn wsess(text: &str, burst: u64, url: &Url) -> Result<Translated, Failure> {
    let wrong = || {
        Failure::misuse(
            format!("`{text}` is not N1,N2,X"),
            format!(
                "write --wsess=100,10,0.5 for 100 sessions of 10 requests (up to {CALLS_MAX}) with half a second between bursts"
            ),
        )
    };
    let [sessions, calls, think] = text.split(',').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let number = |word: &str| word.trim().parse::<u64>().ok().filter(|&n| n > 0).ok_or_else(wrong);
    let (sessions, calls, think) = (number(sessions)?, number(calls)?, seconds(think).ok_or_else(wrong)?);
    if calls > CALLS_MAX || burst == 0 {
        return Err(wrong());
    }
    let step = |n: u64| StepSpec {
        name: (n + 1).to_string(),
        request: RequestSpec { path: path_of(url), ..RequestSpec::default() },
        burst: !n.is_multiple_of(burst),
        // There is no think time after the last burst.
        think: if (n + 1).is_multiple_of(burst) && n + 1 < calls { think } else { Duration::ZERO },
        ..StepSpec::default()
    };
    let session = SessionSpec {
        name: "wsess".into(),
        weight: 1.0,
        draws: Vec::new(),
        steps: (0..calls).map(step).collect(),
    };
    Ok(Translated {
        option: "--wsess",
        sessions: vec![session],
        count: Some(sessions),
        ..Translated::default()
    })
}

fn path_of(url: &Url) -> String {
    if url.path.is_empty() { "/".into() } else { url.path.clone() }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

fn wsesslog(text: &str, url: &Url) -> Result<Translated, Failure> {
    let wrong = || {
        Failure::misuse(
            format!("`{text}` is not N,X,F"),
            "write --wsesslog=100,2,sessions.txt for 100 sessions of the file with two seconds between bursts",
        )
    };
    let mut words = text.splitn(3, ',');
    let (Some(count), Some(think), Some(file)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong());
    };
    let count = count.trim().parse::<u64>().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
    let think = seconds(think).ok_or_else(wrong)?;
    let file = Path::new(file);
    let content = content::read(file)?;
    let sessions = parse_sessions(&content, think, url).map_err(|flaw| named(file, flaw))?;
    Ok(Translated {
        option: "--wsesslog",
        file: Some(file.to_owned()),
        sha256: digest_of(&content).1,
        sessions,
        count: Some(count),
        requests: Vec::new(),
    })
}

fn named(file: &Path, flaw: Flaw) -> Failure {
    let name = file.display();
    let place = flaw.line.map_or_else(|| name.to_string(), |line| format!("line {line} of {name}"));
    Failure::misuse(format!("{place}: {}", flaw.what), flaw.fix)
}

/// Reads sessions: a URI a line, lines that begin with white space belong to the burst before them, and empty lines
/// part sessions.
fn parse_sessions(content: &[u8], think: Duration, url: &Url) -> Result<Vec<SessionSpec>, Flaw> {
    let text = std::str::from_utf8(content)
        .map_err(|_| Flaw::of_file("it is not text", "write one URI per line"))?;
    let mut sessions: Vec<Vec<StepSpec>> = vec![Vec::new()];
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sessions.push(Vec::new());
            continue;
        }
        let Some(steps) = sessions.last_mut() else { continue };
        let burst = line.starts_with(char::is_whitespace);
        if burst && steps.is_empty() {
            return Err(Flaw::of_line(
                number,
                "an indented line continues a burst, and this session has no line before it",
                "begin the line of the first request without a space",
            ));
        }
        let (mut step, of_burst) = step(number, line.trim(), url)?;
        step.name = (steps.len() + 1).to_string();
        step.burst = burst;
        // Any line of a burst can have its think time, which follows the last line.
        let before = match steps.last_mut().filter(|_| burst) {
            Some(last) => std::mem::take(&mut last.think),
            None => think,
        };
        step.think = of_burst.unwrap_or(before);
        steps.push(step);
    }
    sessions.retain(|steps| !steps.is_empty());
    if sessions.is_empty() {
        return Err(Flaw::of_file(
            "it contains no sessions",
            "write one URI per line, and an empty line between sessions",
        ));
    }
    let session = |(n, mut steps): (usize, Vec<StepSpec>)| {
        if let Some(last) = steps.last_mut() {
            last.think = Duration::ZERO;
        }
        SessionSpec { name: (n + 1).to_string(), weight: 1.0, draws: Vec::new(), steps }
    };
    Ok(sessions.into_iter().enumerate().map(session).collect())
}

/// A line: the URI, then `method=`, `contents=` and `think=` in any order.
fn step(number: usize, line: &str, url: &Url) -> Result<(StepSpec, Option<Duration>), Flaw> {
    const CURE: &str = "write URI method=POST contents='text' think=2.0; only the URI is required";
    let wrong = |what: String| Flaw::of_line(number, what, CURE);
    let (uri, mut rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let path = match place(uri, url) {
        Place::Target(path) => path,
        Place::Elsewhere => return Err(elsewhere(number, uri, url)),
        Place::Nowhere(why) => return Err(wrong(format!("`{uri}` is not a URI: {why}"))),
    };
    let (mut request, mut think) = (RequestSpec { path, ..RequestSpec::default() }, None);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let (name, value) = rest.split_once('=').ok_or_else(|| wrong(format!("`{rest}` has no value")))?;
        let value_end;
        (value_end, rest) = match value.chars().next().filter(|c| matches!(c, '\'' | '"')) {
            Some(quote) => value[1..]
                .split_once(quote)
                .ok_or_else(|| wrong(format!("the value of `{name}` has no closing quotation mark")))?,
            None => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        match name.trim() {
            "method" => request.method = value_end.to_owned(),
            "contents" => request.body = value_end.as_bytes().to_vec(),
            "think" => {
                let time = seconds(value_end)
                    .ok_or_else(|| wrong(format!("`{value_end}` is not a time in seconds")))?;
                think = Some(time);
            }
            other => return Err(wrong(format!("unknown option `{other}=`"))),
        }
    }
    Ok((StepSpec { request, ..StepSpec::default() }, think))
}

fn wlog(text: &str, url: &Url) -> Result<Translated, Failure> {
    let (again, file) = match text.split_once(',') {
        Some(("y", file)) => (true, Path::new(file)),
        Some(("n", file)) => (false, Path::new(file)),
        _ => {
            return Err(Failure::misuse(
                format!("`{text}` is not y,F or n,F"),
                "write --wlog=y,uris to repeat the URIs of a file, or --wlog=n,uris to send each once",
            ));
        }
    };
    let content = content::read(file)?;
    let requests = parse_uris(&content, url).map_err(|flaw| named(file, flaw))?;
    Ok(Translated {
        option: "--wlog",
        file: Some(file.to_owned()),
        sha256: digest_of(&content).1,
        count: (!again).then_some(requests.len() as u64),
        requests,
        sessions: Vec::new(),
    })
}

/// Reads URIs that are separated by NUL.
fn parse_uris(content: &[u8], url: &Url) -> Result<Vec<RequestSpec>, Flaw> {
    let fix = "separate URIs by NUL: tr '\\n' '\\0' < uris.txt > uris";
    let mut requests = Vec::new();
    for (number, uri) in (1..).zip(content.split(|&b| b == 0)).filter(|(_, uri)| !uri.trim_ascii().is_empty())
    {
        let uri = String::from_utf8_lossy(uri);
        match place(uri.trim(), url) {
            Place::Target(path) if path.bytes().all(|b| b.is_ascii_graphic()) => {
                requests.push(RequestSpec { path, ..RequestSpec::default() });
            }
            _ => {
                return Err(Flaw::of_file(
                    format!("URI number {number} is not on the target: `{}`", uri.escape_debug()),
                    fix,
                ));
            }
        }
    }
    if requests.is_empty() { Err(Flaw::of_file("it contains no URIs", fix)) } else { Ok(requests) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn url() -> Url {
        Url::parse("http://h/page").unwrap()
    }

    fn shape(session: &SessionSpec) -> Vec<(&str, bool, Duration)> {
        session.steps.iter().map(|step| (&*step.request.path, step.burst, step.think)).collect()
    }

    #[test]
    fn wsess_makes_sessions_of_bursts() {
        let options = SessionOptions {
            wsess: Some("5,5,1".into()),
            burst_length: Some(2),
            ..SessionOptions::default()
        };
        let translated = translate(&options, &url()).unwrap().unwrap();
        let (none, page) = (Duration::ZERO, "/page");
        assert_eq!(
            shape(&translated.sessions[0]),
            [(page, false, none), (page, true, S), (page, false, none), (page, true, S), (page, false, none)]
        );
        assert_eq!(translated.count, Some(5));
        for bad in ["", "1,2", "0,1,1", "1,0,1", "1,1,x", "1,1,-1", "1,99999999,1", "1,1,1,1"] {
            assert!(wsess(bad, 1, &url()).is_err(), "{bad}");
        }
    }

    #[test]
    fn sessions_of_a_file_are_read_as_httperf_reads_them() {
        let text = "# a comment\n/foo.html method=POST contents='Post data' think=9\n   /pict1.gif\n\t/pict2.gif think=2.0\n\
                    /foo2.html method=PUT contents=\"it's\"\n   /pict3.gif\n\n\n# session 2\n/foo3.html\n/foo4.html\n";
        let sessions = parse_sessions(text.as_bytes(), S, &url()).unwrap();
        let none = Duration::ZERO;
        assert_eq!(
            shape(&sessions[0]),
            [
                ("/foo.html", false, none),
                ("/pict1.gif", true, none),
                ("/pict2.gif", true, 2 * S),
                ("/foo2.html", false, none),
                ("/pict3.gif", true, none)
            ]
        );
        assert_eq!(shape(&sessions[1]), [("/foo3.html", false, S), ("/foo4.html", false, none)]);
        let first = &sessions[0].steps[0].request;
        assert_eq!((&*first.method, &*first.body), ("POST", &b"Post data"[..]));
        assert_eq!(sessions[0].steps[3].request.body, b"it's");
        for (bad, line) in
            [("  /a\n", 1), ("/a\n/b think=x\n", 2), ("/a what=1\n", 1), ("/a contents='x\n", 1), ("a\n", 1)]
        {
            assert_eq!(parse_sessions(bad.as_bytes(), S, &url()).unwrap_err().line, Some(line), "{bad}");
        }
        assert!(parse_sessions(b"# nothing\n", S, &url()).is_err());
    }

    #[test]
    fn uris_are_separated_by_nul() {
        let uris = parse_uris(b"/a\0/b\0", &url()).unwrap();
        assert_eq!(uris.iter().map(|r| &*r.path).collect::<Vec<_>>(), ["/a", "/b"]);
        assert!(parse_uris(b"/a\n/b\n", &url()).is_err() && parse_uris(b"\0", &url()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in r#"[/a \n#='"thinkx0-9]{0,80}"#) {
            let _ = parse_uris(&bytes, &url());
            let _ = parse_sessions(&bytes, S, &url());
            let _ = parse_sessions(text.as_bytes(), S, &url());
        }
    }
}
