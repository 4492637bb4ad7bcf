//! `pitot load postgres://` against PostgreSQL.

mod cluster;

use std::process::{Command, Output};

use pitot_needs::needs;
use serde_json::Value;

use crate::support::{PITOT, Port, stderr, stdout};
use cluster::Cluster;

fn load(arguments: &[&str]) -> Output {
    Command::new(PITOT).arg("load").args(arguments).output().unwrap()
}

/// The result of so many queries, and whether the exit code is 0.
fn queries(cluster: &Cluster, url: &str, count: u64, more: &[&str]) -> (Value, bool) {
    let (socket, count) = (cluster.socket(), count.to_string());
    let common = [url, "--unix", &socket, "-n", &count, "--timeout", "60s", "--json", "-"];
    let output = load(&[&common[..], more].concat());
    let result =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
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
        ("postgres://127.0.0.1:9/?speed=1", &[], "choose from query, protocol"),
        ("postgres://127.0.0.1:9/", &["--cookies"], "no effect on postgres://"),
        ("postgres://127.0.0.1:9/?query=A", &["--body", "B"], "remove one of them"),
        ("postgresql://127.0.0.1:9/", &[], "write postgres://"),
        ("postgres://127.0.0.1:9/", &["-k"], "--insecure"),
    ] {
        let output = load(&[&[url][..], more].concat());
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{url}: {error}");
        assert!(error.contains(hint), "{url}: {error}");
    }
}

#[needs("postgres")]
#[test]
fn queries_go_over_tls_where_the_url_asks_for_it() {
    // PostgreSQL takes no port 0.
    let held = Port::new();
    let port = held.number();
    let cluster = Cluster::start_with_tls(port);
    let authority = cluster.certificate();
    let run = |sslmode: &str, more: &[&str]| {
        let url =
            format!("postgres://scram:secret@127.0.0.1:{port}/postgres?query=SELECT+1&value=1{sslmode}");
        let output = load(&[&[&url, "-n", "50", "-c", "2", "--json", "-"], more].concat());
        let result: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        (result, stderr(&output).to_owned())
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
    assert!(stderr(&output).contains("does not support TLS"), "{}", stderr(&output));
}

/// A file of that name with a script.
fn script(dir: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[needs("postgres")]
#[test]
fn a_script_is_played_in_one_connection_and_its_numbers_are_the_same_in_all_statements() {
    let cluster = Cluster::start();
    let dir = tempfile::tempdir().unwrap();
    let setup = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) i; \
                 CREATE TABLE log (pid int, xid xid8, id int, d int, seq int)";
    right(&cluster, "postgres://db/postgres", 1, &["-c", "1", "--body", setup]);
    let transfer = script(
        &dir,
        "transfer.sql",
        "\\set n 10\n\\set id random(1, :n)\n\\set d random(-3, -1)\nBEGIN;\nUPDATE t SET n = n - :d WHERE id = :id;\n\
         INSERT INTO log VALUES (pg_backend_pid(), pg_current_xact_id(), :id, :d, {seq:1});\nCOMMIT;\n",
    );
    for (protocol, engine) in [("simple", "epoll"), ("extended", "uring"), ("prepared", "epoll")] {
        let url = format!("postgres://db/postgres?protocol={protocol}");
        let (result, success) =
            queries(&cluster, &url, 100, &["-c", "2", "--engine", engine, "--requests", &transfer]);
        assert!(success, "{result}");
        assert_eq!((&result["sessions"]["completed"], &result["requests"]["ok"]), (&100.into(), &400.into()));
        // Each script in one transaction, all by two connections, and each with numbers of its own.
        let ask = |query: &str, value: &str| {
            let url = format!("postgres://db/postgres?value={value}");
            right(&cluster, &url, 1, &["-c", "1", "--body", query]);
        };
        ask("SELECT count(DISTINCT xid) FROM log", "100");
        ask("SELECT count(DISTINCT pid) FROM log", "2");
        ask("SELECT count(DISTINCT seq) FROM log WHERE seq BETWEEN 1 AND 100", "100");
        ask("SELECT count(DISTINCT id) = 10 AND count(DISTINCT d) = 3 AND min(d) = -3 FROM log", "t");
        ask("SELECT sum(n) = (SELECT -sum(d) FROM log) FROM t", "t");
        right(
            &cluster,
            "postgres://db/postgres",
            1,
            &["-c", "1", "--body", "UPDATE t SET n = 0; TRUNCATE log"],
        );
    }
    // As pgbench -C: a connection for each.
    let more = ["-c", "2", "--requests", &transfer, "--session-connection", "new"];
    queries(&cluster, "postgres://db/postgres", 20, &more);
    let url = "postgres://db/postgres?value=20";
    right(&cluster, url, 1, &["-c", "1", "--body", "SELECT count(DISTINCT pid) FROM log"]);
}

#[needs("postgres")]
#[test]
fn a_failed_statement_names_file_and_line_and_ends_its_transaction() {
    let cluster = Cluster::start();
    let dir = tempfile::tempdir().unwrap();
    let failing = script(
        &dir,
        "half.sql",
        "BEGIN;\nCREATE TEMP TABLE IF NOT EXISTS x (n int);\n\nSELECT 1 / (({seq:1} + 1) % 2);\nCOMMIT;\n",
    );
    let output = load(&[
        "postgres://db/postgres",
        "--unix",
        &cluster.socket(),
        "-n",
        "10",
        "-c",
        "1",
        "--requests",
        &failing,
        "--json",
        "-",
    ]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    // Every other one divides by zero, and those behind it are not in its transaction.
    assert_eq!(
        (&result["sessions"]["completed"], &result["sessions"]["failed"]),
        (&5.into(), &5.into()),
        "{result}"
    );
    assert_eq!(result["errors"][0]["kind"], "half.sql/line 4:sqlstate-22012", "{result}");
    assert_eq!(result["sessions"]["failed_at"][0]["step"], "half.sql/line 4", "{result}");
    assert_eq!(result["server_said"], "half.sql/line 4: division by zero", "{result}");
    assert_eq!(result["connections"]["opened"], 1, "{result}");
    // What is prepared is refused before anything is sent, by its line too.
    let unknown = script(&dir, "unknown.sql", "SELECT 1;\nSELECT * FROM nothing;\n");
    let output = load(&[
        "postgres://db/postgres?protocol=prepared",
        "--unix",
        &cluster.socket(),
        "-n",
        "5",
        "-c",
        "1",
        "--requests",
        &unknown,
    ]);
    assert!(
        stderr(&output).contains("unknown.sql/line 2: relation \"nothing\" does not exist"),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
}

#[test]
fn a_script_that_cannot_be_played_is_refused_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let url = "postgres://127.0.0.1:9/";
    for (url, content, more, said) in [
        (url, "SELECT 1;\n\\gset\n", &[][..], "line 2 of"),
        (url, "SELECT 1;\n\nBEGIN;\n", &[], "line 3 of"),
        (url, "SELECT 1;\nSELECT {rand:2..1};\n", &[], "line 2 of"),
        ("postgres://127.0.0.1:9/?param=1-2", "SELECT 1;", &[], "\\set x random(1, 100)"),
        ("redis://127.0.0.1:9/", "SELECT 1;", &[], "redis:// has none"),
        ("http://127.0.0.1:9/", "SELECT 1;", &[], "postgres://127.0.0.1/DATABASE"),
        (url, "SELECT 1;", &["--body", "SELECT 2"], "--requests"),
        (url, "SELECT 1;", &["--pipeline", "4"], "--pipeline"),
    ] {
        let file = script(&dir, "script.sql", content);
        let output = load(&[&[url, "--requests", &file][..], more].concat());
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{content}: {error}");
        assert!(error.contains(said), "{content}: {error}");
    }
    let output = load(&[url, "-f", "script.sql"]);
    assert!(stderr(&output).contains("--requests FILE (pgbench)"), "{}", stderr(&output));
    let output = load(&["postgres://127.0.0.1:9/?param=1-2", "--command", "SELECT $1, {rand:1..2}"]);
    assert!(stderr(&output).contains("remove one of them"), "{}", stderr(&output));
}

#[needs("postgres")]
#[test]
fn numbers_in_a_query_are_drawn_and_counted() {
    let cluster = Cluster::start();
    for protocol in ["simple", "extended", "prepared"] {
        let url = format!("postgres://db/postgres?protocol={protocol}&value=7");
        right(&cluster, &url, 20, &["--command", "SELECT {rand:3..3}::int + 4", "-c", "1"]);
    }
}
