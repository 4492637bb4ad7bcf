//! `pitot load postgres://` against PostgreSQL.

mod cluster;

use std::process::{Command, Output};

use pitot_needs::needs;
use serde_json::Value;

use cluster::Cluster;

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pitot")).arg("load").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The result of so many queries, and whether the exit code is 0.
fn queries(cluster: &Cluster, url: &str, count: u64, more: &[&str]) -> (Value, bool) {
    let (socket, count) = (cluster.socket(), count.to_string());
    let common = [url, "--unix", &socket, "-n", &count, "--timeout", "60s", "--json", "-"];
    let output = load(&[&common[..], more].concat());
    let result =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
    (result, output.status.success())
}

/// Asserts that all queries are answered right, and returns how many rows came back.
#[track_caller]
fn right(cluster: &Cluster, url: &str, count: u64, more: &[&str]) -> u64 {
    let (result, success) = queries(cluster, url, count, more);
    assert!(success, "{url}: {result}");
    assert_eq!(
        (&result["requests"]["ok"], &result["errors"]),
        (&Value::from(count), &Value::Array(vec![])),
        "{url}"
    );
    result["protocol"]["rows"].as_u64().unwrap_or_else(|| panic!("{result}"))
}

/// The errors of queries that fail, by kind.
fn errors(cluster: &Cluster, url: &str, more: &[&str]) -> Vec<(String, String)> {
    let (result, _) = queries(cluster, url, 10, more);
    let word = |error: &Value, key: &str| error[key].as_str().unwrap_or_default().to_owned();
    result["errors"].as_array().unwrap().iter().map(|e| (word(e, "phase"), word(e, "kind"))).collect()
}

#[needs("postgres")]
#[test]
fn queries_are_answered_right_by_all_protocols_engines_and_depths() {
    let cluster = Cluster::start();
    for protocol in ["simple", "extended", "prepared"] {
        for more in [["--engine", "epoll", "--pipeline", "1"], ["--engine", "uring", "--pipeline", "7"]] {
            let url = format!(
                "postgres://db/postgres?query=SELECT+$1::int-$2::int+FROM+generate_series(1,$1)&param=5&param=-3--3\
                 &rows=5&value=8&protocol={protocol}"
            );
            assert_eq!(right(&cluster, &url, 100, &[&more[..], &["-c", "3"]].concat()), 500, "{more:?}");
        }
        // Replies of 200 KB, and several queries in turn.
        let url = format!(
            "postgres://db/postgres?query=SELECT+repeat('x',1000)+FROM+generate_series(1,200)&protocol={protocol}"
        );
        assert_eq!(right(&cluster, &url, 10, &["-c", "2"]), 2000);
        let url = format!("postgres://db/postgres?protocol={protocol}");
        let paths = ["1", "2"].map(|n| format!("/postgres?query=SELECT+{n}&value={n}&protocol={protocol}"));
        assert_eq!(right(&cluster, &url, 50, &["--path", &paths[0], "--path", &paths[1]]), 50);
    }
    assert_eq!(
        right(&cluster, "postgres://db/postgres", 10, &["--body", "SELECT 1; SELECT 2; SET a.b = 1"]),
        20
    );
}

#[needs("postgres")]
#[test]
fn users_log_in_and_errors_are_named_by_their_sqlstate() {
    let cluster = Cluster::start();
    logins(&cluster);
    let named = |phase: &str, kind: &str| vec![(phase.to_owned(), kind.to_owned())];
    let content = |kind| named("content", kind);
    for (url, wanted) in [
        ("postgres://db/postgres?query=SELECT+*+FROM+nothing", content("sqlstate-42P01")),
        ("postgres://db/postgres?query=SELECT+1/0&protocol=prepared", content("sqlstate-22012")),
        ("postgres://db/postgres?query=SELECT+1/0&protocol=extended", content("sqlstate-22012")),
        ("postgres://db/postgres?query=SELECT+2&value=1", content("bytes")),
        ("postgres://db/postgres?query=SELECT+2&rows=2", content("rows")),
    ] {
        assert_eq!(errors(&cluster, url, &["--pipeline", "3"]), wanted, "{url}");
    }
    // What goes wrong before the first query ends the connection, which is opened again.
    refused(
        &cluster,
        &[
            ("postgres://db/none", "sqlstate-3D000"),
            ("postgres://nobody@db/postgres", "sqlstate-28000"),
            ("postgres://db/postgres?query=SELECT+*+FROM+nothing&protocol=prepared", "sqlstate-42P01"),
            ("postgres://db/postgres?query=COPY+pg_class+TO+STDOUT", "copy"),
        ],
    );
}

/// Asserts that no connection is of use, and why. All at the same time, since each tries until the errors are looked at.
fn refused(cluster: &Cluster, cases: &[(&str, &str)]) {
    std::thread::scope(|scope| {
        for (url, kind) in cases {
            scope.spawn(move || {
                let seen = errors(cluster, url, &["-c", "1", "--abort-on", "errors > 0"]);
                // A busy machine takes a while to end those that were refused, until there may be too many.
                assert!(seen.contains(&("protocol".into(), (*kind).into())), "{url}: {seen:?}");
            });
        }
    });
}

/// Every method, and only with the right password.
fn logins(cluster: &Cluster) {
    for user in ["postgres", "clear", "digest", "scram"] {
        right(cluster, &format!("postgres://{user}:secret@db/postgres"), 20, &["-c", "2"]);
    }
    right(cluster, "postgres://scram:secret@db/postgres", 20, &["-c", "2", "--engine", "uring"]);
    refused(
        cluster,
        &[
            ("postgres://clear:wrong@db/postgres", "sqlstate-28P01"),
            ("postgres://digest:wrong@db/postgres", "sqlstate-28P01"),
            ("postgres://scram:wrong@db/postgres", "sqlstate-28P01"),
            ("postgres://clear@db/postgres", "no-password"),
            ("postgres://digest@db/postgres", "no-password"),
            ("postgres://scram@db/postgres", "no-password"),
        ],
    );
    // The password is not shown.
    let (result, _) = queries(cluster, "postgres://scram:secret@db/postgres", 1, &[]);
    assert!(!result.to_string().contains("secret"), "{result}");
}

#[test]
fn what_is_not_supported_is_refused_in_two_lines() {
    for (url, more, hint) in [
        ("postgres://127.0.0.1:9/?sslmode=prefer", &[][..], "disable, require or verify-full"),
        ("postgres://127.0.0.1:9/?speed=1", &[], "there are query, protocol"),
        ("postgres://127.0.0.1:9/", &["--cookies"], "no effect on postgres://"),
        ("postgres://127.0.0.1:9/?query=A", &["--body", "B"], "leave one of them out"),
        ("postgresql://127.0.0.1:9/", &[], "write postgres://"),
        ("postgres://127.0.0.1:9/", &["-k"], "--insecure"),
    ] {
        let output = load(&[&[url][..], more].concat());
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{url}: {error}");
        assert!(error.contains(hint), "{url}: {error}");
    }
}

#[needs("postgres")]
#[test]
fn queries_go_over_tls_where_the_url_asks_for_it() {
    // PostgreSQL takes no port 0.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let cluster = Cluster::start_with_tls(port);
    let authority = cluster.certificate();
    let run = |sslmode: &str, more: &[&str]| {
        let url =
            format!("postgres://scram:secret@127.0.0.1:{port}/postgres?query=SELECT+1&value=1{sslmode}");
        let output = load(&[&[&url, "-n", "50", "-c", "2", "--json", "-"], more].concat());
        let result: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", text(&output.stderr)));
        (result, text(&output.stderr).to_owned())
    };
    let verified = ["--tls-ca", &authority, "--tls-version", "1.3"];
    for (sslmode, more) in
        [("&sslmode=require", &[][..]), ("&sslmode=require", &verified), ("&sslmode=verify-full", &verified)]
    {
        let (result, said) = run(sslmode, more);
        assert_eq!(result["requests"]["ok"], 50, "{sslmode}: {said}");
        assert_eq!(result["tls"]["handshakes"]["full"], 2, "{result}");
        assert_eq!(result["tls"]["sessions"][0]["version"], "TLSv1_3", "{result}");
    }
    let (result, _) = run("&sslmode=verify-full", &[]);
    assert_eq!(result["errors"][0]["phase"], "handshake", "{result}");
    let (result, said) = run("", &[]);
    assert_eq!((&result["requests"]["ok"], &result["tls"]), (&0.into(), &Value::Null));
    assert!(said.contains("no pg_hba.conf entry"), "{said}");
    // A server without TLS says so.
    let plain = Cluster::start();
    let output =
        load(&["postgres://scram:secret@h/postgres?sslmode=require", "--unix", &plain.socket(), "-n", "5"]);
    assert!(text(&output.stderr).contains("has none"), "{}", text(&output.stderr));
}
