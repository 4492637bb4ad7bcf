//! Options of other load generators and servers, which people type from habit: what takes their place here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A subcommand, the options as they are typed, and the advice.
type Advice = (&'static str, &'static [&'static str], &'static str);

const PORT: &str = "the port is part of the URL: http://127.0.0.1:8080/";
const LISTEN: &str = "the address and the port are --listen, as in --listen 127.0.0.1:9100";

const ADVICE: &[Advice] = &[
    ("load", &["--request"], "the method of the requests is -X"),
    ("load", &["--port", "-p", "--server"], PORT),
    ("load", &["--vus"], "the number of connections, or of users with --browser, is -c"),
    (
        "load",
        &["--connect-to"],
        "where a name leads is --resolve HOST:PORT:ADDRESS, and another name for an address --host",
    ),
    ("load", &["--unix-socket", "--base-uri"], "a socket of the file system is --unix SOCKET"),
    (
        "load",
        &["--local-ips", "--myaddr", "-B"],
        "the local addresses are --source, as in --source 127.0.0.0/28",
    ),
    (
        "load",
        &["--disable-keepalive", "--no-connection-reuse"],
        "a new connection for each request is --requests-per-connection 1",
    ),
    ("load", &["--num-calls"], "the requests of each connection are --requests-per-connection"),
    ("load", &["--iterations"], "the number of requests is -n"),
    (
        "load",
        &["--num-conns"],
        "connections one after the other are -n N --requests-per-connection 1, and those at once -c",
    ),
    ("load", &["--h2", "--http2"], "HTTP/2 is --http 2"),
    ("load", &["--http-version"], "the version of HTTP is --http 1.1 or --http 2"),
    ("load", &["--server-name"], "the host that is asked for, of an address, is --host"),
    ("load", &["--h1", "--http1.1"], "HTTP/1.1 is spoken unless --http 2 is given"),
    ("load", &["--ssl"], "TLS is part of the URL: https://127.0.0.1:8443/"),
    ("load", &["--ssl-protocol", "-f"], "the version of TLS is --tls-version"),
    ("load", &["--ssl-no-reuse"], "full handshakes only are --tls-resume off"),
    ("load", &["--insecure-skip-tls-verify"], "any certificate is taken with --insecure"),
    ("load", &["--add-header"], "a header is -H 'Name: value'"),
    ("load", &["--session-cookies"], "cookies of replies are kept with --cookies"),
    ("load", &["--failure-status"], "statuses that are right are --expect-status"),
    (
        "load",
        &["--rand-regex-url", "--wset"],
        "a set of paths is a range in the URL: http://127.0.0.1:8080/files/{0..99}",
    ),
    ("load", &["--urls-from-file"], "a file of URLs is --requests FILE"),
    (
        "load",
        &["-i"],
        "a file of URLs is --requests FILE, and requests without a body in the reply are -X HEAD",
    ),
    (
        "load",
        &["--stage", "--timing-script-file"],
        "a rate in ramps is --stages 0:1000rps:30s,1000:1000rps:1m",
    ),
    ("load", &["--period"], "a rate is -R, and random gaps are --pace poisson"),
    ("load", &["--warm-up-time"], "the time before the measured part is --warmup"),
    ("load", &["-T", "-N"], "the time to wait for a reply is --timeout"),
    (
        "load",
        &["-o", "-e", "-g", "--out", "--output-format", "--log-file", "--summary-export"],
        "results are written with --json FILE, by the second with --csv FILE, and as a histogram with --hlog FILE",
    ),
    ("load", &["--summary-trend-stats"], "all percentiles are in --json FILE, and -L shows the distribution"),
    ("load", &["--data", "--data-raw", "--data-binary"], "the body of the requests is --body"),
    ("load", &["-D"], "a file with the body of the requests is --body-file"),
    ("load", &["--data-urlencode", "-F"], "fields of a form are --form name=value, and files name=@FILE"),
    ("load", &["-A", "-U"], "how the client calls itself is --user-agent"),
    (
        "load",
        &["-b", "-C", "--cookie"],
        "cookies of replies are kept with --cookies; a first one is -H 'Cookie: name=value'",
    ),
    (
        "load",
        &["--location", "--redirect", "--redirects", "--max-redirects"],
        "redirects are followed with --follow N",
    ),
    ("load", &["-q", "-r", "--qps", "--rps"], "the rate is -R"),
    ("load", &["-z"], "the length of the run is -d"),
    ("load", &["-u", "--user", "-a"], "name and password are --basic-auth USER:PASSWORD"),
    ("load", &["--cacert"], "the authorities to trust are --tls-ca"),
    ("load", &["-E", "--cert", "--key"], "the client's certificate is --tls-cert, and its key --tls-key"),
    ("load", &["-s", "--script"], "different requests are --path or --requests"),
    ("serve", &["--port", "-p", "--host", "--bind", "--address", "-l"], LISTEN),
    ("serve", &["--autoindex"], "listings of directories are --index"),
    ("serve", &["--cert", "--tls-cert"], "the certificate is --tls, and its key --key"),
    ("serve", &["--tls-key"], "the key of the certificate of --tls is --key"),
    ("serve", &["--threads", "-t"], "the number of threads, processes or loops is --workers"),
];

/// What -d is to curl.
const DATA: &str = "the body of the requests is --body; -d is the length of the run";

/// Adds the advice for an unknown option, or for a value that belongs to another program's option of the same name, to
/// the error that reports it.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    let Some(command) = std::env::args().nth(1) else { return error };
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && (command.as_str(), error.kind()) == ("load", ErrorKind::ValueValidation)
        && option.starts_with("--duration")
        && is_data(value)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![DATA.into()]));
    }
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let Some(advice) = find(&command, option)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// Whether a value is one that curl would send: JSON, a form, or the name of a file.
fn is_data(value: &str) -> bool {
    value.starts_with(['{', '[', '"', '@']) || value.contains('=')
}

fn find(command: &str, option: &str) -> Option<&'static str> {
    let name = option.split('=').next().unwrap_or_default();
    let advice = ADVICE.iter().find(|(of, options, _)| *of == command && options.contains(&name));
    advice.map(|(_, _, advice)| *advice)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn is_ours(command: &clap::Command, option: &str) -> bool {
        command.get_arguments().any(|arg| {
            arg.get_long_and_visible_aliases()
                .unwrap_or_default()
                .iter()
                .any(|long| option == format!("--{long}"))
                || arg
                    .get_short_and_visible_aliases()
                    .unwrap_or_default()
                    .iter()
                    .any(|short| option == format!("-{short}"))
        })
    }

    #[test]
    fn no_option_of_ours_is_foreign() {
        let pitot = crate::Pitot::command();
        for (command, options, _) in ADVICE {
            let command = pitot.find_subcommand(command).unwrap();
            for option in *options {
                assert!(!is_ours(command, option), "{} {option}", command.get_name());
            }
        }
        let all: Vec<(&str, &str)> =
            ADVICE.iter().flat_map(|(command, options, _)| options.iter().map(|o| (*command, *o))).collect();
        for (n, option) in all.iter().enumerate() {
            assert!(!all[..n].contains(option), "{option:?} has two tips");
        }
        assert_eq!(find("load", "--port=80"), Some(PORT));
        assert_eq!(find("load", "-c"), None);
    }

    #[test]
    fn every_flag_in_the_table_of_other_tools_is_known() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/load-from-other-tools.md");
        let docs = std::fs::read_to_string(docs).unwrap();
        let pitot = crate::Pitot::command();
        let load = pitot.find_subcommand("load").unwrap();
        let mut known = 0;
        for row in docs.lines().filter(|line| line.starts_with("| ")).skip(1) {
            let row = row.replace("\\|", "/");
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            let code = cells[1..cells.len() - 1].iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
            for word in code.flat_map(str::split_whitespace) {
                let flag = word.split('=').next().unwrap_or_default();
                // One dash and several letters are taken apart before anybody can know whose they are.
                let is_flag = flag.starts_with("--") || flag.len() == 2 && flag.starts_with('-');
                if is_flag {
                    assert!(is_ours(load, flag) || find("load", flag).is_some(), "{flag} in {row}");
                    known += 1;
                }
            }
        }
        assert!(known > 100, "{known}");
    }
}
