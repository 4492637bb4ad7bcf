//! From the options to the protocol with its requests.

use std::sync::Arc;

use pitot_client::{
    CLIENTS, ClientEntry, ClientOptions, ClientProtocol, NamedRequests, RequestSpec, SessionSpec, StartTls,
    TlsScheme, Url, find, find_tls,
};

use crate::asked;
use crate::headers;
use crate::http_only;
use crate::http_version;
use crate::options::Options;
use crate::requests::{self, Requests};
use pitot_client::tls::{TlsOptions, TlsProtocol};
use pitot_drive::connections::SessionPlan;
use pitot_drive::pace::Recorded;
use pitot_durability::{Acknowledged, BLANK_NAME, NAME_PLACE};
use pitot_requests::{Positions, content, statuses};
use pitot_results::Failure;
use pitot_results::secrets::mask;
use serde_json::Value;

/// The target of a run.
pub(crate) struct LoadTarget {
    pub(crate) url: Url,
    /// The protocol that the scheme names.
    pub(crate) client: &'static ClientEntry,
    /// The scheme's form over TLS, if that is what it names.
    pub(crate) tls: Option<TlsScheme>,
    /// The port of the URL, or its scheme's default.
    pub(crate) port: u16,
}

/// Takes a target apart.
pub(crate) fn target(text: &str) -> Result<LoadTarget, Failure> {
    let url = Url::parse(text)
        .map_err(|e| Failure::misuse(format!("`{}` is not a target: {e}", mask(text)), e.fix(&mask(text))))?;
    let over_tls = || find_tls(&url.scheme).map(|client| (client, client.tls));
    let (client, tls) = find(&url.scheme)
        .map(|client| (client, None))
        .or_else(over_tls)
        .ok_or_else(|| unsupported(&url.scheme))?;
    match url.port.or(tls.map_or(client.port, |tls| tls.port)) {
        Some(port) => Ok(LoadTarget { url, client, tls, port }),
        None => Err(Failure::misuse(
            format!("`{}` names no port, and {} has no default port", mask(text), client.scheme),
            format!("write it like {}", client.example),
        )),
    }
}

/// The host of a target, and its port or that of its scheme.
///
/// # Errors
/// If it is none.
pub fn host_and_port(text: &str) -> Result<(String, u16), Failure> {
    target(text).map(|target| (target.url.host, target.port))
}

/// The URL as the server is to see it: with the host of `--host`, if that is given.
fn asked_for(options: &Options, target: &LoadTarget) -> Result<Url, Failure> {
    let Some(host) = &options.reach.host else { return Ok(target.url.clone()) };
    if !target.client.has_methods && target.tls.is_none() {
        return Err(Failure::misuse(
            format!("--host has no effect on {}://, which sends no name", target.client.scheme),
            "remove it",
        ));
    }
    let is_header =
        |text: &String| text.split(':').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("host"));
    if options.headers.iter().any(is_header) {
        return Err(Failure::misuse("--host and -H Host set the same header", "remove one of them"));
    }
    let named = Url::parse(&format!("{}://{host}", target.url.scheme)).ok();
    match named.filter(|named| named.user_info.is_none() && named.path.is_empty() && !host.contains('#')) {
        Some(named) => Ok(Url { host: named.host, port: named.port, ..target.url.clone() }),
        None => Err(Failure::misuse(
            format!("`{host}` is not a host"),
            "write it like --host www.example.com or --host www.example.com:8080",
        )),
    }
}

/// An option of TLS for a target without it.
fn tls_without_tls(target: &LoadTarget, option: &str) -> Failure {
    let scheme = target.client.scheme;
    let has_sslmode = target.client.url_options.iter().any(|option| option.name == "sslmode");
    let fix = match target.client.tls {
        None if has_sslmode => {
            format!("write sslmode=require behind the ? of the URL, or leave {option} out")
        }
        Some(tls) => format!("write {}:// for TLS, or leave {option} out", tls.scheme),
        None => format!("leave {option} out"),
    };
    Failure::misuse(format!("{option} has no effect: {scheme}:// does not use TLS"), fix)
}

/// No client has that scheme.
fn unsupported(scheme: &str) -> Failure {
    let what = format!("the scheme `{scheme}://` is not supported");
    match CLIENTS.iter().map(|c| c.scheme).find(|known| scheme.starts_with(known)) {
        Some(known) => Failure::misuse(what, format!("write {known}://")),
        None => {
            let schemes =
                |c: &ClientEntry| [Some(c.scheme), c.tls.map(|tls| tls.scheme)].into_iter().flatten();
            let known: Vec<String> = CLIENTS.iter().flat_map(schemes).map(|s| format!("{s}://")).collect();
            Failure::misuse(what, format!("choose one of {}", known.join(", ")))
        }
    }
}

/// A protocol with all its requests.
pub(crate) struct Built {
    pub(crate) protocol: Box<dyn ClientProtocol>,
    /// Where the requests come from, for the result; null if the command line names them.
    pub(crate) requests_from: Value,
    /// What is asked of the server, for the result.
    pub(crate) asked: Value,
    /// What a server stores of each request, if these have names of their own.
    pub(crate) durability: Option<Acknowledged>,
    /// The times of a log that is replayed.
    pub(crate) recorded: Option<Recorded>,
    /// Its sessions, if its requests are steps of such.
    pub(crate) sessions: Option<SessionPlan>,
    /// How many sessions or requests there are to be, where the options about them say so.
    pub(crate) count: Option<u64>,
    /// The scheme, or the protocol by an option of its own, asks for TLS.
    pub(crate) is_tls: bool,
}

/// Builds the protocol with all its requests. Files that the options name are read.
pub(crate) fn build(options: &Options, target: &LoadTarget) -> Result<Built, Failure> {
    let url = &asked_for(options, target)?;
    http_only::check(options, url, target.client)?;
    let Requests { mut specs, sessions, count, in_turn, order, recorded, positions, from } =
        requests::requests(options, url, target.client)?;
    if !sessions.is_empty() && !target.client.has_sessions {
        let with = CLIENTS.iter().filter(|client| client.has_sessions);
        let with: Vec<String> = with.map(|client| format!("{}://", client.scheme)).collect();
        return Err(Failure::misuse(
            format!("sessions are for {}, and {}:// has none", with.join(" and "), target.client.scheme),
            "send requests of its own with the options in its URL; pitot load --help lists them",
        ));
    }
    if options.durability {
        specs.iter_mut().for_each(|spec| spec.path = spec.path.replace(NAME_PLACE, BLANK_NAME));
    }
    let client_options = ClientOptions {
        requests: specs,
        sessions,
        in_turn,
        order,
        headers: headers::headers(options, url, target.client)?,
        expect_status: options.expect_status.as_deref().map_or(Ok(Vec::new()), statuses)?,
        expect_body: options.expect_body.as_deref().map(content::read).transpose()?,
        verify: options.verify,
        visit: options.visit,
        http: http_version::of(options, target.client)?,
        streams: options.streams.unwrap_or_default(),
        single_request: options.workload.requests_per_connection == Some(1),
        pages: options.workload.browser.is_some(),
        durability: options.durability,
    };
    let refused = |what| Failure::misuse(what, "see pitot load --help");
    let mut protocol = (target.client.build)(url, &client_options)
        .map_err(|what| refused(with_place(what, &from, &positions, url, target.client, &client_options)))?;
    if options.durability {
        protocol = Box::new(NamedRequests::new(protocol).map_err(refused)?);
    }
    let stored = protocol.stored().filter(|_| options.durability);
    let durability = stored.map(|(of, content)| Acknowledged::nothing(of, content));
    let sessions = protocol.sessions().map(|info| SessionPlan {
        own_connection: !options.sessions.keep_connection.unwrap_or(info.keeps_connection),
        info,
    });
    let start = protocol.start_tls();
    let is_tls = target.tls.is_some() || start.is_some();
    let protocol: Box<dyn ClientProtocol> = match (is_tls, options.tls.first_set()) {
        (true, _) => Box::new(TlsProtocol::new(protocol, &tls_options(options, start)?, &url.host)?),
        (false, None) => protocol,
        (false, Some(option)) => return Err(tls_without_tls(target, option)),
    };
    let asked = asked::asked(options, &url.path, !from.is_null(), &client_options);
    Ok(Built { protocol, requests_from: from, asked, durability, recorded, sessions, count, is_tls })
}

/// The options of TLS as the protocol wants them, which may not look at the certificate by itself.
fn tls_options(options: &Options, start: Option<StartTls>) -> Result<TlsOptions, Failure> {
    let mut tls = options.tls.clone();
    match start {
        Some(StartTls { verify: true, .. }) if tls.insecure => {
            return Err(Failure::misuse(
                "sslmode=verify-full looks at the server's certificate, and --insecure takes any",
                "write sslmode=require, or leave --insecure out",
            ));
        }
        // As libpq does it: authorities that are named are not named for nothing.
        Some(StartTls { verify: false, .. }) => {
            tls.insecure |= tls.authorities.is_none() && tls.revoked.is_none();
        }
        Some(_) | None => {}
    }
    Ok(tls)
}

/// What is wrong, and which request of a file it is about: the first that cannot be built on its own.
fn with_place(
    what: String,
    from: &Value,
    positions: &Positions,
    url: &Url,
    client: &ClientEntry,
    options: &ClientOptions,
) -> String {
    let Some(file) = from["file"].as_str() else { return what };
    let is_wrong = |requests: &[RequestSpec], sessions: &[SessionSpec]| {
        let alone = ClientOptions {
            requests: requests.to_vec(),
            sessions: sessions.to_vec(),
            order: Arc::default(),
            ..options.clone()
        };
        (client.build)(url, &alone).is_err()
    };
    let wrong = match &*options.sessions {
        [] => options.requests.iter().position(|spec| is_wrong(std::slice::from_ref(spec), &[])),
        sessions => wrong_step(sessions, |session| is_wrong(&[], std::slice::from_ref(session))),
    };
    match wrong {
        Some(index) => {
            let place = positions.of(index).unwrap_or_else(|| format!("request {}", index + 1));
            format!("{place} of {file}: {what}")
        }
        None => format!("{file}: {what}"),
    }
}

/// The number of the first step, through all sessions, with which a session becomes one that cannot be built.
fn wrong_step(sessions: &[SessionSpec], is_wrong: impl Fn(&SessionSpec) -> bool) -> Option<usize> {
    let mut before = 0;
    for session in sessions {
        let up_to = |n: usize| SessionSpec { steps: session.steps[..=n].to_vec(), ..session.clone() };
        if let Some(step) = (0..session.steps.len()).find(|&n| is_wrong(&up_to(n))) {
            return Some(before + step);
        }
        before += session.steps.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_target_is_said_without_its_password() {
        for url in [
            "redis://me:s3cret@1.2.3/",
            "http://me:s3cret@h/a b",
            "redis://me:s3cret@::1:6379/",
            "blob://me:s3cret@h/",
        ] {
            let refused = target(url).err().unwrap();
            assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
        }
    }

    #[test]
    fn a_request_that_cannot_be_built_is_named_by_the_line_of_its_file() {
        let good = "\"url\":\"http://h/\",\"method\"";
        let har = |method: &str| format!("{{\"request\":{{{good}:\"{method}\"}}}}");
        let elsewhere = "{\"request\":{\"method\":\"GET\",\"url\":\"http://other/\"}}";
        for (text, place) in [
            ("# two\nGET /a\n\nG(T /b\n".to_owned(), "line 4 of"),
            (format!("{{{good}:\"GET\"}}\n{{{good}:\"G T\"}}"), "line 2 of"),
            (
                format!("{{\"log\":{{\"entries\":[{},{elsewhere},{}]}}}}", har("GET"), har("G T")),
                "line 1 (entry 3) of",
            ),
            ("[[request]]\nurl='/'\n\n[[request]]\nurl='/'\nmethod='G T'".to_owned(), "line 4 of"),
            (
                "[[session]]\n[[session.step]]\nurl='/'\n[[session.step]]\nurl='/{id}'\n".to_owned(),
                "line 4 of",
            ),
            (
                "[[request]]\nurl='/'\n[[request]]\nurl='/'\nmethod='G T'\n[[request]]\nurl='/'\nthink='1s'"
                    .to_owned(),
                "line 3 of",
            ),
        ] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
            let mut options = Options::new("http://h/");
            options.requests_file = Some(file.path().to_owned());
            let refused =
                build(&options, &target("http://h/").unwrap()).err().unwrap_or_else(|| panic!("{text}"));
            let named = format!("{place} {}: ", file.path().display());
            assert!(refused.what.starts_with(&named), "{text}: {refused}");
        }
    }

    #[test]
    fn a_query_may_ask_for_tls() {
        let of = |query: &str, change: fn(&mut Options)| {
            let url = format!("postgres://127.0.0.1/db?{query}");
            let mut options = Options::new(&url);
            change(&mut options);
            build(&options, &target(&url).unwrap())
        };
        for (query, is_tls) in [("", false), ("sslmode=disable", false), ("sslmode=require", true)] {
            assert_eq!(of(query, |_| ()).unwrap().is_tls, is_tls, "{query}");
        }
        assert!(of("sslmode=require", |o| o.tls.insecure = true).is_ok());
        let refused = of("sslmode=verify-full", |o| o.tls.insecure = true).err().unwrap();
        assert!(refused.fix.contains("sslmode=require"), "{refused:?}");
        let without = of("", |o| o.tls.insecure = true).err().unwrap();
        assert!(without.fix.contains("sslmode=require"), "{without:?}");
        let start = |verify| Some(StartTls { request: b"", yes: b'S', no: b'N', verify });
        let mut options = Options::new("");
        assert!(tls_options(&options, start(false)).unwrap().insecure);
        assert!(!tls_options(&options, start(true)).unwrap().insecure);
        options.tls.authorities = Some("ca.pem".into());
        assert!(!tls_options(&options, start(false)).unwrap().insecure);
    }

    #[test]
    fn the_host_that_is_asked_for_takes_the_place_of_the_urls() {
        let ask = |url: &str, host: &str, change: fn(&mut Options)| {
            let mut options = Options::new(url);
            options.reach.host = Some(host.into());
            change(&mut options);
            asked_for(&options, &target(url).unwrap())
        };
        let url = ask("https://127.0.0.1:8443/a", "www.example.com", |_| ()).unwrap();
        assert_eq!((url.authority().as_str(), &*url.path), ("www.example.com", "/a"));
        assert_eq!(ask("http://h/", "[::1]:81", |_| ()).unwrap().authority(), "[::1]:81");
        for host in ["", "a/b", "me@h", "a b", "h:x", "h#a", "http://h/"] {
            let refused = ask("http://h/", host, |_| ()).unwrap_err();
            assert!(refused.what.contains("is not a host"), "{host}: {refused}");
        }
        assert!(ask("redis://h/", "x", |_| ()).unwrap_err().what.contains("no effect"));
        let twice = ask("http://h/", "x", |o| o.headers = vec!["host : y".into()]).unwrap_err();
        assert!(twice.what.contains("the same header"), "{twice}");
    }
}
