//! Options that only requests of HTTP respect: whoever gives one to another protocol expects something of it.

use pitot_client::{CLIENTS, ClientEntry, Url};
use pitot_results::Failure;

use crate::options::Options;

/// Refuses options that the protocol does not respect, and those that contradict each other.
pub(crate) fn check(options: &Options, url: &Url, client: &ClientEntry) -> Result<(), Failure> {
    let given = [
        ("--method", options.method.is_some()),
        ("-H", !options.headers.is_empty()),
        ("--body-file", options.content.body_file.is_some() && !client.takes_body_files),
        ("--form", !options.content.form.is_empty()),
        ("--basic-auth", options.content.basic_auth.is_some()),
        ("--user-agent", options.content.user_agent.is_some()),
        ("--cookies", options.visit.cookies),
        ("--follow", options.visit.follow > 0),
        ("--browser", options.workload.browser.is_some()),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given && !client.has_methods) {
        return Err(Failure::misuse(
            format!("{option} is an option for http:// and has no effect on {}://", client.scheme),
            "remove it; pitot load --help has the options of each scheme",
        ));
    }
    if !options.content.commands.is_empty() {
        let of_others = || CLIENTS.iter().filter(|c| c.has_commands).map(|c| format!("{}://", c.scheme));
        if !client.has_commands {
            return Err(Failure::misuse(
                format!("--command has no effect on {}://", client.scheme),
                format!("it is for {}; remove it", of_others().collect::<Vec<_>>().join(" and ")),
            ));
        }
        if options.content.commands.iter().any(|command| command.trim().is_empty()) {
            return Err(Failure::misuse("--command is empty", "write it like --command 'INCR hits'"));
        }
    }
    if let Some(method) = options.method.as_deref().filter(|m| m.bytes().all(|b| b.is_ascii_digit())) {
        return Err(Failure::misuse(
            format!("`{method}` is not a method"),
            "for -m of h2load: --http 2 --streams N, or --pipeline N over HTTP/1.1",
        ));
    }
    if url.user_info.is_some() && !client.logs_in {
        return Err(Failure::misuse(
            format!("the URL contains a user name, and {}:// has no login", client.scheme),
            "remove it",
        ));
    }
    if options.visit.follow > 0 && options.pipeline > 1 {
        return Err(Failure::misuse(
            "--follow sends the next request on the same connection, and cannot be combined with --pipeline",
            "remove one of them",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use pitot_client::find;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn what_only_http_heeds_is_refused_elsewhere() {
        let changes: [fn(&mut Options); 8] = [
            |o| o.method = Some("GET".into()),
            |o| o.headers = vec!["a: b".into()],
            |o| o.content.form = vec!["a=b".into()],
            |o| o.content.basic_auth = Some("a:b".into()),
            |o| o.content.user_agent = Some("x".into()),
            |o| o.visit.cookies = true,
            |o| o.visit.follow = 1,
            |o| o.workload.browser = Some(6),
        ];
        for change in changes {
            let mut options = Options::new("");
            change(&mut options);
            assert!(check(&options, &url("http://h:1"), find("http").unwrap()).is_ok());
            for scheme in ["redis", "memcache", "blob"] {
                let refused = check(&options, &url("http://h:1"), find(scheme).unwrap()).unwrap_err();
                assert!(refused.what.contains("no effect on"), "{refused}");
            }
        }
    }

    #[test]
    fn a_number_is_no_method() {
        let mut options = Options::new("");
        options.method = Some("10".into());
        let refused = check(&options, &url("http://h:1"), find("http").unwrap()).unwrap_err();
        assert!(refused.fix.contains("--streams"), "{refused}");
    }

    #[test]
    fn only_some_protocols_log_in() {
        let options = Options::new("");
        assert!(check(&options, &url("http://me@h"), find("http").unwrap()).is_ok());
        assert!(check(&options, &url("memcache://:p@h"), find("memcache").unwrap()).is_err());
        assert!(check(&options, &url("redis://:p@h"), find("redis").unwrap()).is_ok());
        assert!(check(&options, &url("postgres://me:p@h"), find("postgres").unwrap()).is_ok());
    }

    #[test]
    fn commands_are_for_protocols_that_have_them() {
        let mut options = Options::new("");
        options.content.commands = vec!["INCR hits".into()];
        assert!(check(&options, &url("redis://h"), find("redis").unwrap()).is_ok());
        let refused = check(&options, &url("http://h"), find("http").unwrap()).unwrap_err();
        assert!(refused.fix.contains("postgres:// and redis://"), "{refused:?}");
        options.content.commands = vec![" ".into()];
        assert!(check(&options, &url("redis://h"), find("redis").unwrap()).is_err());
        options.content = crate::ContentOptions { body_file: Some("/dev/null".into()), ..Default::default() };
        for scheme in ["smtp", "postgres", "redis", "http"] {
            assert!(check(&options, &url("http://h"), find(scheme).unwrap()).is_ok(), "{scheme}");
        }
        assert!(check(&options, &url("memcache://h"), find("memcache").unwrap()).is_err());
    }

    #[test]
    fn redirects_and_pipelines_are_refused_together() {
        let mut options = Options::new("");
        (options.visit.follow, options.pipeline) = (1, 2);
        assert!(
            check(&options, &url("http://h:1"), find("http").unwrap())
                .unwrap_err()
                .what
                .contains("--pipeline")
        );
    }
}
