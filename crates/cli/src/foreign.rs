//! Options of other load generators and servers, which people type from habit: their equivalents here.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use pitot_results::Failure;
use strsim::osa_distance;

/// A subcommand, the options as they are typed, and the advice.
type Advice = (&'static str, &'static [&'static str], &'static str);

const PORT: &str = "the port is part of the URL: http://127.0.0.1:8080/";
const LISTEN: &str = "the address and the port are --listen, as in --listen 127.0.0.1:9100";

const ADVICE: &[Advice] = &[
    ("run", &["--json"], "the results of a run are printed by pitot report RUN.pitot --format json"),
    ("load", &["--receipts"], "it is now called --durability, and {receipt} is {request-id}"),
    ("load", &["--request"], "the method of the requests is -X"),
    ("load", &["--port", "--server"], PORT),
    (
        "load",
        &["-p"],
        "the port is part of the URL; a file with the body is --body-file (ab), and concurrent requests on a connection are --streams with --http 2, or --pipeline (oha)",
    ),
    ("load", &["--vus"], "the number of connections, or of users with --browser, is -c"),
    (
        "load",
        &["--connect-to"],
        "to connect a name to another address: --resolve HOST:PORT:ADDRESS; to send another host name: --host",
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
        "successive connections are -n N --requests-per-connection 1, and concurrent ones -c",
    ),
    ("load", &["--h2", "--http2"], "HTTP/2 is --http 2"),
    ("load", &["--http-version"], "the version of HTTP is --http 1.1 or --http 2"),
    ("load", &["--server-name"], "the host name sent to an address is --host"),
    ("load", &["--h1", "--http1.1"], "HTTP/1.1 is spoken unless --http 2 is given"),
    ("load", &["--ssl"], "TLS is part of the URL: https://127.0.0.1:8443/"),
    ("load", &["--ssl-protocol"], "the version of TLS is --tls-version"),
    (
        "load",
        &["-f"],
        "the version of TLS is --tls-version (ab), and a script of SQL is --requests FILE (pgbench)",
    ),
    ("load", &["--ssl-no-reuse"], "full handshakes only are --tls-resume off"),
    ("load", &["--insecure-skip-tls-verify"], "any certificate is accepted with --insecure"),
    ("load", &["--add-header"], "a header is -H 'Name: value'"),
    ("load", &["--session-cookies"], "cookies of replies are kept with --cookies"),
    ("load", &["--failure-status"], "statuses that count as success are --expect-status"),
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
    ("load", &["-N"], "the time to wait for a reply is --timeout"),
    (
        "load",
        &["-T"],
        "the time to wait for a reply is --timeout (h2load), the type of a body -H 'Content-Type: text/plain' (hey, ab), and the length of the run -d (pgbench)",
    ),
    (
        "load",
        &["-o", "-e", "-g", "--out", "--output", "--output-format", "--log-file", "--summary-export"],
        "results are written with --json FILE, per second with --csv FILE, and as a histogram with --hlog FILE",
    ),
    ("load", &["--summary-trend-stats"], "all percentiles are in --json FILE, and -L shows the distribution"),
    ("load", &["--data", "--data-raw", "--data-binary"], "the body of the requests is --body"),
    (
        "load",
        &["-D"],
        "the length of the run is -d (h2load), and a file with the body of the requests --body-file (hey, oha)",
    ),
    ("load", &["--data-urlencode", "-F"], "fields of a form are --form name=value, and files name=@FILE"),
    (
        "load",
        &["-A"],
        "name and password are --basic-auth USER:PASSWORD (ab), and the name of the client is --user-agent (curl)",
    ),
    (
        "load",
        &["-U"],
        "the name of the client is --user-agent (hey); times since sending are the row `service` of every result (wrk2); a user of a database is part of the URL (pgbench)",
    ),
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
    (
        "load",
        &["-u", "--user", "-a"],
        "name and password are --basic-auth USER:PASSWORD; those of Redis are part of the URL: redis://USER:PASSWORD@host/2",
    ),
    (
        "load",
        &["--select-db", "--dbnum"],
        "the database of Redis is part of the URL: redis://127.0.0.1:6379/2",
    ),
    ("load", &["--cacert"], "the authorities to trust are --tls-ca"),
    ("load", &["-E", "--cert", "--key"], "the client's certificate is --tls-cert, and its key --tls-key"),
    ("load", &["--u_latency"], "times since sending are the row `service` of every result"),
    (
        "load",
        &["--concurrency", "--clients", "--client", "--workers", "--max-workers", "--max-connections"],
        "the number of connections is -c",
    ),
    ("load", &["-j", "--jobs"], "the number of threads is -t"),
    (
        "load",
        &["-P"],
        "concurrent requests on a connection are --pipeline; the protocol is the scheme of the URL",
    ),
    ("load", &["--ratio"], "the share of reads is part of the URL: redis://127.0.0.1:6379/?get=0.9"),
    ("load", &["--data-size"], "the length of values is part of the URL: redis://127.0.0.1:6379/?value=1KiB"),
    (
        "load",
        &["--key-maximum", "--keyspacelen"],
        "the number of keys is part of the URL: redis://127.0.0.1:6379/?keys=100k",
    ),
    ("load", &["--test-time", "--time"], "the length of the run is -d"),
    ("load", &["--rate-limiting"], "the rate is -R, that of all connections together"),
    ("load", &["--authenticate"], "name and password are part of the URL, or --basic-auth USER:PASSWORD"),
    ("load", &["--tls"], "TLS is part of the URL: https://, rediss://, memcaches://"),
    (
        "load",
        &["--json-out-file", "--hdr-file-prefix", "-l"],
        "results are written with --json FILE, and as a histogram with --hlog FILE",
    ),
    (
        "load",
        &["-M"],
        "how queries are sent is part of the URL: ?protocol=simple (the default), extended or prepared",
    ),
    ("load", &["--websocket", "--ws"], "there is no WebSocket; `pitot list schemes` names the protocols"),
    ("load", &["--http3", "--h3"], "there is no HTTP/3; --http 2 is the newest version that there is"),
    ("load", &["-V", "--version"], "the version is that of `pitot --version`"),
    (
        "load",
        &["--latency-correction"],
        "times since a request was due are the row `response` of every result",
    ),
    ("load", &["--grpc"], "there is no gRPC; `pitot list schemes` names the protocols"),
    (
        "load",
        &["--compressed"],
        "compression is asked for with -H 'Accept-Encoding: gzip', and replies are counted as they come",
    ),
    (
        "load",
        &["--proxy", "-x"],
        "a load does not go through a proxy, which would be measured too; a reverse proxy is the URL, with --host for the name",
    ),
    (
        "load",
        &["-v", "--verbose"],
        "there is no such option; -L shows more of the result, and --timeline the run second by second",
    ),
    (
        "load",
        &["--quiet", "--silent", "--no-tui"],
        "there is no such option; --progress 0s turns progress lines off",
    ),
    ("load", &["-s", "--script"], "different requests are --path or --requests"),
    ("serve", &["--port", "-p", "--host", "--bind", "--address", "-l"], LISTEN),
    ("serve", &["--autoindex"], "listings of directories are --index"),
    ("serve", &["--cert", "--tls-cert"], "the certificate is --tls, and its key --key"),
    ("serve", &["--tls-key"], "the key of the certificate of --tls is --key"),
    ("serve", &["--threads", "-t"], "the number of threads, processes or loops is --workers"),
];

/// Options of several letters behind one dash, as hey and vegeta write them, which would be read as several of one letter.
const ONE_DASH: &[(&[&str], &str)] = &[
    (&["-host"], "the host name sent to an address is --host"),
    (&["-h2", "-http2"], "HTTP/2 is --http 2"),
    (&["-cpus"], "the number of threads is -t"),
    (&["-connections", "-workers", "-max-workers", "-max-connections"], "the number of connections is -c"),
    (&["-duration"], "the length of the run is -d"),
    (&["-rate"], "the rate is -R"),
    (&["-timeout"], "the time to wait for a reply is --timeout"),
    (&["-header"], "a header is -H 'Name: value'"),
    (&["-body"], "a file with the body of the requests is --body-file"),
    (&["-targets", "-format"], "a file of targets is --requests FILE"),
    (
        &["-keepalive", "-disable-keepalive"],
        "a new connection for each request is --requests-per-connection 1",
    ),
    (&["-disable-compression"], "no compression is asked for unless -H 'Accept-Encoding: gzip' does"),
    (&["-redirects", "-disable-redirects"], "redirects are followed only with --follow N"),
    (&["-insecure"], "any certificate is accepted with --insecure"),
    (&["-laddr"], "the local addresses are --source, as in --source 127.0.0.0/28"),
    (&["-unix-socket"], "a socket of the file system is --unix SOCKET"),
    (&["-output"], "results are written with --json FILE, per second with --csv FILE"),
];

/// The failure for an option of several letters behind one dash, if there is one among the words of `pitot load`.
pub(crate) fn one_dash(words: impl IntoIterator<Item = OsString>) -> Option<Failure> {
    let mut words = words.into_iter().skip(1);
    if words.next()? != "load" {
        return None;
    }
    words.find_map(|word| {
        let name = word.to_str()?.split('=').next()?.to_owned();
        let (_, advice) = ONE_DASH.iter().find(|(names, _)| names.contains(&&*name))?;
        Some(Failure::misuse(format!("there is no option `{name}`"), *advice))
    })
}

/// The most letters that may differ between an option that was typed and one that is meant.
const TYPO_LETTERS_MAX: usize = 2;

/// Whether one word may be the other with letters left out, added, replaced or swapped.
fn is_typo(typed: &str, meant: &str) -> bool {
    // Half of a short word is no typo.
    osa_distance(typed, meant) <= TYPO_LETTERS_MAX.min(meant.chars().count().saturating_sub(2) / 3)
}

/// Whether the option of a command is one that users are not shown.
fn is_hidden(command: &str, option: &str) -> bool {
    let pitot = crate::Pitot::command();
    let hidden = |arg: &clap::Arg| {
        arg.is_hide_set() && arg.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long))
    };
    pitot.find_subcommand(command).is_some_and(|command| command.get_arguments().any(hidden))
}

/// What -d is to curl.
const DATA: &str = "the body of the requests is --body; -d is the length of the run";

/// Adds the advice for an unknown option, or for a value that belongs to another program's option of the same name, to
/// the error that reports it.
pub(crate) fn advise(mut error: clap::Error) -> clap::Error {
    let Some(command) = std::env::args().nth(1) else { return error };
    let tip = match error.kind() {
        // As wrk and its like are called.
        ErrorKind::InvalidSubcommand if command.contains("://") => {
            Some(format!("to load a URL: pitot load {command}"))
        }
        ErrorKind::MissingRequiredArgument if command == "load" => {
            Some("name the target: pitot load http://127.0.0.1:8080/".into())
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && (command.as_str(), error.kind()) == ("load", ErrorKind::ValueValidation)
        && option.starts_with("--duration")
        && is_data(value)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![DATA.into()]));
    }
    // Nobody who types an option means it as a URL or the name of a file.
    if let Some(ContextValue::StyledStrs(tips)) = error.get(ContextKind::Suggested)
        && tips.iter().any(|tip| tip.to_string().contains(" as a value, use "))
    {
        error.remove(ContextKind::Suggested);
    }
    if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && error.kind() == ErrorKind::UnknownArgument
        && let Some(advice) = find(&command, option)
    {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    } else if let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg)
        && let Some(ContextValue::String(meant)) = error.get(ContextKind::SuggestedArg)
        && (!is_typo(option, meant) || is_hidden(&command, meant))
    {
        error.remove(ContextKind::SuggestedArg);
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
        assert!(find("run", "--json").is_some_and(|advice| advice.contains("pitot report")));
    }

    #[test]
    fn only_a_typo_is_taken_for_another_option() {
        for (typed, meant) in
            [("--conections", "--connections"), ("--tiemout", "--timeout"), ("--durations", "--duration")]
        {
            assert!(is_typo(typed, meant), "{typed}");
        }
        for (typed, meant) in
            [("--max-workers", "--worker"), ("--ratio", "--rate"), ("--proxy", "--body"), ("--xyz", "--tls")]
        {
            assert!(!is_typo(typed, meant), "{typed}");
        }
        assert!(is_hidden("load", "--worker") && !is_hidden("load", "--threads"));
    }

    #[test]
    fn options_of_several_letters_behind_one_dash_are_known_as_such() {
        let of = |words: &[&str]| one_dash(words.iter().map(OsString::from));
        assert!(of(&["pitot", "load", "http://h/", "-host", "x"]).unwrap().fix.contains("--host"));
        assert!(of(&["pitot", "load", "-rate=50"]).unwrap().fix.contains("-R"));
        assert!(of(&["pitot", "load", "http://h/", "-c64", "-d10s", "--host", "x"]).is_none());
        assert!(of(&["pitot", "serve", "-host"]).is_none());
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
