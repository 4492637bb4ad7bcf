//! Which version of HTTP a run speaks, and how many streams a connection of HTTP/2 carries.

use pitot_proto::client::{ClientEntry, HttpVersion};
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
                format!("--http is given, and {}:// is not HTTP", client.scheme),
                "leave --http out",
            ));
        }
        Some("1.1") => HttpVersion::Http1,
        Some("2") => HttpVersion::Http2,
        Some(other) => {
            return Err(Failure::misuse(format!("HTTP/{other} is not spoken here"), "--http takes 1.1 or 2"));
        }
    };
    match (version, options.streams) {
        (HttpVersion::Http1, Some(_)) => Err(Failure::misuse(
            "--streams is for HTTP/2, and this run speaks another protocol",
            "add --http 2, or say --pipeline for requests that are sent before the last reply",
        )),
        (HttpVersion::Http2, _) if options.pipeline > 1 => Err(Failure::misuse(
            "--pipeline is for protocols that answer in turn, and HTTP/2 need not",
            format!("say --streams {}", options.pipeline),
        )),
        (version, _) => Ok(version),
    }
}

/// How many requests a connection carries at once.
pub(crate) fn under_way(options: &Options) -> u16 {
    options.streams.unwrap_or(options.pipeline)
}

/// The option that says so.
pub(crate) fn flag(options: &Options) -> &'static str {
    if options.streams.is_some() { "--streams" } else { "--pipeline" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn contradictions_are_refused_with_a_cure() {
        let refused = |url: &str, change: fn(&mut Options)| {
            let mut options = Options::new(url);
            change(&mut options);
            let failure = Plan::new(&options).unwrap_err();
            assert!(!failure.cure.is_empty());
            failure.to_string()
        };
        let http = "http://127.0.0.1:1/";
        assert!(refused(http, |o| o.http = Some("3".into())).contains("HTTP/3"));
        assert!(refused(http, |o| o.streams = Some(4)).contains("--streams is for HTTP/2"));
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
    fn streams_are_requests_under_way() {
        let mut options = Options::new("http://127.0.0.1:1/");
        (options.http, options.streams) = (Some("2".into()), Some(7));
        assert_eq!(Plan::new(&options).unwrap().pipeline, 7);
    }
}
