//! Options that only requests of HTTP heed: whoever gives one to another protocol expects something of it.

use pitot_proto::client::ClientEntry;
use pitot_results::Failure;

use crate::options::Options;

/// Refuses options that the protocol does not heed, and those that contradict each other.
pub(crate) fn check(options: &Options, client: &ClientEntry) -> Result<(), Failure> {
    let given = [
        ("--method", options.method.is_some()),
        ("-H", !options.headers.is_empty()),
        ("--cookies", options.visit.cookies),
        ("--follow", options.visit.follow > 0),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given && !client.has_methods) {
        return Err(Failure::misuse(
            format!("{option} is an option for http:// and has no effect on {}://", client.scheme),
            "leave it out; pitot load --help has the options of each scheme",
        ));
    }
    if options.visit.follow > 0 && options.pipeline > 1 {
        return Err(Failure::misuse(
            "--follow asks on the same connection for what a redirect names, and --pipeline has sent other requests there",
            "leave one of them out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pitot_proto::client::find;

    use super::*;

    #[test]
    fn what_only_http_heeds_is_refused_elsewhere() {
        let changes: [fn(&mut Options); 4] = [
            |o| o.method = Some("GET".into()),
            |o| o.headers = vec!["a: b".into()],
            |o| o.visit.cookies = true,
            |o| o.visit.follow = 1,
        ];
        for change in changes {
            let mut options = Options::new("");
            change(&mut options);
            assert!(check(&options, find("http").unwrap()).is_ok());
            for scheme in ["redis", "smtp", "blob"] {
                let refused = check(&options, find(scheme).unwrap()).unwrap_err();
                assert!(refused.what.contains("no effect on"), "{refused}");
            }
        }
    }

    #[test]
    fn redirects_and_pipelines_are_refused_together() {
        let mut options = Options::new("");
        (options.visit.follow, options.pipeline) = (1, 2);
        assert!(check(&options, find("http").unwrap()).unwrap_err().what.contains("--pipeline"));
    }
}
