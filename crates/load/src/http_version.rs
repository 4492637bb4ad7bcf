//! Which version of HTTP a run speaks, and how many streams a connection of HTTP/2 carries.

use pitot_client::{ClientEntry, HttpVersion};
use pitot_results::Failure;

use crate::options::Options;

/// The version that the options name; 1.1 if they name none.
///
/// # Errors
/// [`Failure`], for a version that is not spoken here, for a scheme that has none, and for streams without HTTP/2.
pub(crate) fn of(options: &Options, client: &ClientEntry) -> Result<HttpVersion, Failure> {
    let version = match options.http.as_deref() {
        None => HttpVersion::Http1,
        Some(_) if !client.has_methods => {
            return Err(Failure::misuse(
                format!("--http does not apply to {}://", client.scheme),
                "leave --http out",
            ));
        }
        Some("1.1") => HttpVersion::Http1,
        Some("2") => HttpVersion::Http2,
        Some(other) => {
            return Err(Failure::misuse(format!("HTTP/{other} is not supported"), "--http takes 1.1 or 2"));
        }
    };
    match (version, options.streams) {
        (HttpVersion::Http1, Some(_)) => {
            Err(Failure::misuse("--streams needs HTTP/2", "add --http 2, or use --pipeline over HTTP/1.1"))
        }
        (HttpVersion::Http2, _) if options.pipeline > 1 => Err(Failure::misuse(
            "--pipeline does not apply to HTTP/2",
            format!("say --streams {}", options.pipeline),
        )),
        (version, _) => Ok(version),
    }
}

/// Streams that a browser has at once unless it is told otherwise: as many as browsers use before a server says how many
/// it allows, and as RFC 9113 section 6.5.2 recommends to allow at least.
const BROWSER_STREAMS: u16 = 100;
/// Connections of a browser over HTTP/1.1 that is not told how many, which over HTTP/2 says nothing.
const BROWSER_CONNECTIONS: u64 = 6;

/// How many requests a connection carries at once.
pub(crate) fn under_way(options: &Options) -> u16 {
    let usual = if is_2(options) && options.workload.browser.is_some() {
        let max = options.workload.requests_per_connection.unwrap_or(u64::MAX).max(1);
        u64::from(BROWSER_STREAMS).min(max) as u16
    } else {
        options.pipeline
    };
    options.streams.unwrap_or(usual)
}

/// The connections of each browser of the run.
///
/// # Errors
/// [`Failure`], if there are to be several and HTTP/2 has streams.
pub(crate) fn browser_connections(options: &Options) -> Result<Option<u64>, Failure> {
    match options.workload.browser {
        Some(1 | BROWSER_CONNECTIONS) if is_2(options) => Ok(Some(1)),
        Some(n) if is_2(options) => Err(Failure::misuse(
            format!("--browser={n} sets {n} connections, and over HTTP/2 a browser opens one per host"),
            format!("leave the number out, or say --streams {n} for {n} requests at once"),
        )),
        connections => Ok(connections),
    }
}

fn is_2(options: &Options) -> bool {
    options.http.as_deref() == Some("2")
}

/// The option that says so.
pub(crate) fn flag(options: &Options) -> &'static str {
    if options.streams.is_some() { "--streams" } else { "--pipeline" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LoadPlan;

    #[test]
    fn contradictions_are_refused_with_a_fix() {
        let refused = |url: &str, change: fn(&mut Options)| {
            let mut options = Options::new(url);
            change(&mut options);
            let failure = LoadPlan::new(&options).unwrap_err();
            assert!(!failure.fix.is_empty());
            failure.to_string()
        };
        let http = "http://127.0.0.1:1/";
        assert!(refused(http, |o| o.http = Some("3".into())).contains("HTTP/3"));
        assert!(refused(http, |o| o.streams = Some(4)).contains("--streams needs HTTP/2"));
        let two = |o: &mut Options| o.http = Some("2".into());
        assert!(refused("echo://127.0.0.1:1", two).contains("echo://"));
        assert!(refused(http, |o| (o.http, o.pipeline) = (Some("2".into()), 4)).contains("--pipeline"));
        assert!(refused(http, |o| (o.http, o.streams) = (Some("2".into()), Some(0))).contains("streams"));
        assert!(
            refused(http, |o| {
                o.http = Some("2".into());
                o.headers = vec!["Connection: close".into()];
            })
            .contains("connection")
        );
    }

    #[test]
    fn a_browser_has_one_connection_and_many_streams() {
        let mut options = Options::new("http://127.0.0.1:1/");
        (options.http, options.workload.browser) = (Some("2".into()), Some(6));
        let plan = LoadPlan::new(&options).unwrap();
        assert_eq!((plan.connections(), plan.pipeline), (options.workload.connections, BROWSER_STREAMS));
        options.workload.requests_per_connection = Some(7);
        assert_eq!(LoadPlan::new(&options).unwrap().pipeline, 7);
        options.streams = Some(4);
        assert_eq!(LoadPlan::new(&options).unwrap().pipeline, 4);
        options.workload.browser = Some(3);
        assert!(LoadPlan::new(&options).unwrap_err().fix.contains("--streams 3"));
    }

    #[test]
    fn streams_are_requests_under_way() {
        let mut options = Options::new("http://127.0.0.1:1/");
        (options.http, options.streams) = (Some("2".into()), Some(7));
        assert_eq!(LoadPlan::new(&options).unwrap().pipeline, 7);
    }
}
