//! `pitot load` as a user and a script meet it: options, exit codes, and everything it writes.

#[path = "../../../load/tests/load/server.rs"]
#[expect(dead_code, reason = "the tests of the library use the whole script, these do not")]
mod server;

use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pitot_meter::Histogram;
use rustix::process::Signal;
use serde_json::Value;

use server::{Act, Script, Server};

use crate::support::{PITOT, Port, Running, TIMEOUT, stderr, stdout, until};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.arg("load").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
fn load(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Runs it for its JSON, and nothing but that may be on standard output.
fn json(arguments: &[&str]) -> (Value, i32) {
    let output = load(&[arguments, &["--json", "-"]].concat());
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", stdout(&output), stderr(&output)));
    (value, output.status.code().unwrap())
}

#[test]
fn a_misuse_is_reported_in_one_line_with_a_cure_and_exit_code_2() {
    let url = "http://127.0.0.1:9/";
    let wrong: &[&[&str]] = &[
        &["127.0.0.1:80"],
        &["blobs://127.0.0.1:9/5"],
        &["https://127.0.0.1:9/", "--tls-ca", "/nonexistent.pem"],
        &["https://127.0.0.1:9/", "--tls-version", "1.1"],
        &["https://127.0.0.1:9/", "--insecure", "--tls-cert", "/nonexistent.pem"],
        &["https://127.0.0.1:9/", "--tls-key", "/nonexistent.pem"],
        &[url, "--insecure"],
        &[url, "--tls-resume", "off"],
        &["blob://127.0.0.1/10"],
        &["http://no-such-host.invalid/"],
        &[url, "-d", "10"],
        &[url, "-c", "ten"],
        &[url, "-c", "0"],
        &[url, "-R", "fast"],
        &[url, "-R", "0"],
        &[url, "--pace", "hurried"],
        &[url, "--pace", "poisson"],
        &[url, "--engine", "kqueue"],
        &[url, "--stages", "1:2"],
        &[url, "--search", "p99"],
        &[url, "--search", "p99 > 5ms"],
        &[url, "--search", "p99 < 5ms, errors >= 1%"],
        &[url, "-H", "Content-Length: 3", "--body", "hello"],
        &[url, "-H", "content-length: 3"],
        &[url, "--body", "hello", "-H", "Transfer-Encoding: chunked", "-H", "Content-Length: 5"],
        &[url, "--body", "hello", "-H", "Transfer-Encoding: chunked"],
        &["http://1.2.3/"],
        &["redis://0x7f1:6379/"],
        &[url, "--json", "-", "--csv", "-"],
        &[url, "--hlog", "-"],
        &[url, "--fail-if", "p99 > 5"],
        &[url, "--abort-on", "fun < 3"],
        &[url, "--source", "everywhere"],
        &[url, "--cpus", "4095"],
        &[url, "-H", "no header"],
        &[url, "--expect-status", "fine"],
        &[url, "--expect-body", "/nonexistent/body"],
        &[url, "--requests", "/nonexistent/requests"],
        &[url, "--json", "/nonexistent/result"],
        &[url, "--processes", "0"],
        &[url, "--storm", "--churn", "5"],
        &[url, "--think", "1s", "-R", "5"],
        &[url, "--verify"],
    ];
    for arguments in wrong {
        let output = load(arguments);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!error.contains("panicked") && error.lines().count() >= 2, "{arguments:?}: {error}");
    }
}

#[test]
fn a_dry_run_refuses_what_the_run_refuses_and_writes_nothing() {
    let url = "http://127.0.0.1:9/";
    for arguments in [
        &[url, "--json", "-", "--csv", "-"][..],
        &[url, "--json", "-", "--intervals", "1s"],
        &[url, "--hlog", "-"],
        &[url, "--json", "/nonexistent/result"],
        &[url, "--csv", "/"],
        &[url, "--hlog", "/dev/null/x"],
        &[url, "--cpus", "4095"],
        &[url, "--progress", "1500ms"],
    ] {
        for more in [&[][..], &["--dry-run"]] {
            let output = load(&[arguments, more].concat());
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {more:?}: {}", stderr(&output));
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let mut dry = command(&[url, "--json", "a", "--csv", "b", "--hlog", "c", "--dry-run"]);
    let output = dry.current_dir(&directory).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn a_habit_from_another_program_gets_the_option_that_takes_its_place() {
    let url = "http://127.0.0.1:9/";
    let cases: &[(&[&str], &str)] = &[
        (&["load", url, "--request", "POST"], "-X"),
        (&["load", url, "-u", "me:secret"], "--basic-auth"),
        (&["load", url, "-F", "a=b"], "--form"),
        (&["http://127.0.0.1:9/x", "-c", "5"], "pitot load http://127.0.0.1:9/x"),
        (&["load", "-c", "5"], "pitot load http://"),
        (&["load", url, "--no-tui"], "--progress 0s"),
        (&["load", url, "--http3"], "there is no HTTP/3"),
        (&["load", url, "--output", "json"], "--json FILE"),
        (&["load", url, "-V"], "`pitot --version`"),
        (&["load", "http://127.0.0.1/", "--port", "9"], "the port is part of the URL"),
        (&["load", url, "--vus", "5"], "is -c"),
        (&["load", url, "-o", "csv"], "--json FILE"),
        (&["load", url, "--disable-keepalive"], "--requests-per-connection 1"),
        (&["load", url, "--http2"], "--http 2"),
        (&["serve", "http", "--autoindex"], "--index"),
        (&["serve", "http", "--tls-key", "x"], "--key"),
        (&["load", url, "--data", "x"], "--body"),
        (&["load", url, "-d", "{\"a\": 1}"], "--body"),
        (&["load", url, "-d", "a=1&b=2"], "--body"),
        (&["load", url, "-d@file.json"], "--body"),
        (&["load", "127.0.0.1:9"], "write it as http://127.0.0.1:9"),
        (&["load", "http://::1:9080/"], "write it as http://[::1]:9080/"),
        (&["load", "http://127.0.0.1:9/a b"], "write it as http://127.0.0.1:9/a%20b"),
        (&["load", "memcache://:p@127.0.0.1:9/"], "remove it"),
        (&["load", "redis://p@127.0.0.1:9/"], "redis://:PASSWORD@host/"),
        (&["load", url, "--command", "GET a"], "it is for postgres:// and redis://"),
        (&["load", "http://127.0.0.1:9/", "-k"], "write https://"),
        (&["load", "http://127.0.0.1:9/", "--cacert", "ca.pem"], "--tls-ca"),
        (&["load", "blob://127.0.0.1:9/5", "-k"], "leave --insecure out"),
        (&["load", "https://127.0.0.1:9/", "-k", "--tls-ca", "ca.pem"], "remove one of them"),
        (&["load", "memcached://127.0.0.1:9/"], "write memcache://"),
        (&["load", "http://1.2.3/"], "all four numbers"),
        (&["serve", "http", "--listen", "9100"], "127.0.0.1:9100 for this machine"),
        (&["serve", "http", "--port", "9100"], "--listen 127.0.0.1:9100"),
    ];
    for (arguments, hint) in cases {
        let output = Command::new(PITOT).args(*arguments).output().unwrap();
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty() && error.contains(hint), "{arguments:?}: {error}");
    }
    let output = load(&[url, "--no-such-option"]);
    assert!(!stderr(&output).contains("as a value"), "{}", stderr(&output));
}

/// The writing end of a pipe whose reader is gone, as with `| head` that has seen enough.
fn without_reader() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn exit_codes_are_the_same_where_nobody_reads() {
    let server = Server::start(Script::default());
    let held = Port::new();
    let (url, closed) = (server.url(), format!("http://{}/", held.address));
    let cases: &[(&[&str], i32)] = &[
        (&["load", &url, "-n", "20"], 0),
        (&["load", &url, "-n", "20", "--steps", "100ms"], 0),
        (&["load", &closed, "-d", "600s"], 1),
        (&["load", &url, "-c", "0"], 2),
        (&["list", "models"], 0),
        (&["list", "pairs", "--format", "json"], 0),
        (&["list", "plan-schema"], 0),
    ];
    for (arguments, code) in cases {
        let mut command = Command::new(PITOT);
        command.args(*arguments).stdin(Stdio::null()).stdout(without_reader()).stderr(without_reader());
        assert_eq!(command.status().unwrap().code(), Some(*code), "{arguments:?}");
    }
}

#[test]
fn help_lists_the_options_of_urls() {
    let help = load(&["--help"]);
    let help = stdout(&help);
    for client in pitot_client::CLIENTS {
        assert!(help.contains(client.example), "{}", client.scheme);
        for option in client.url_options {
            assert!(
                help.contains(&format!(" {}={}", option.name, option.default)) || option.default.is_empty()
            );
            assert!(help.contains(option.name), "{} {}", client.scheme, option.name);
        }
    }
    assert!(help.contains("popularity=uniform") && help.contains("recipients=1"), "{help}");
}

#[test]
fn a_server_that_is_not_there_or_never_answers_ends_with_exit_code_1() {
    let closed = Port::new();
    let url = format!("http://{}/", closed.address);
    let output = load(&[&url, "-d", "600s"]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("ECONNREFUSED") && error.lines().count() == 2, "{error}");
    // The kernel accepts for a listener that nobody looks after.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let (result, code) = json(&[&url, "-c", "3", "-d", "600ms", "--timeout", "200ms"]);
    assert_eq!((code, &result["client"]["verdict"]), (1, &Value::from("failed")));
    assert_eq!(result["errors"][0]["phase"], "timeout");
    assert!(result["latency_ns"]["response"]["count"].as_u64() >= Some(3));
}

/// A server that answers so many requests, one connection after the other, and is gone then.
fn mortal(requests: u64) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        for _ in 0..requests {
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    };
    (url, std::thread::spawn(serve))
}

#[test]
fn a_server_that_dies_in_the_run_is_neither_slow_nor_is_the_client() {
    for pace in [&[][..], &["-R", "500"]] {
        let (url, server) = mortal(200);
        let output = load(&[&[&url, "-c", "1", "-d", "2s"][..], pace].concat());
        server.join().unwrap();
        let (summary, error) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{summary}");
        assert!(summary.contains("  nothing was answered from 0."), "{summary}");
        assert!(summary.contains("Verdict: failed: nothing was answered from 0."), "{summary}");
        assert!(
            error.contains("connect ECONNREFUSED") && !error.contains("is the server running"),
            "{error}"
        );

        let (url, server) = mortal(200);
        let (result, _) = json(&[&[&url, "-c", "1", "-d", "2s"][..], pace].concat());
        server.join().unwrap();
        assert_eq!(result["requests"]["ok"], 200);
        let since = result["unanswered_since_s"].as_f64().unwrap();
        assert!(since > 0.0 && since < 1.5, "{since}");
        let missed: Vec<u64> =
            result["series"].as_array().unwrap().iter().map(|s| s["missed"].as_u64().unwrap()).collect();
        assert_eq!(missed.len(), 2, "{result:#}");
        if !pace.is_empty() {
            // 500 were due in each second, and 200 of those of the first were answered.
            assert!((290..=300).contains(&missed[0]) && missed[1] == 500, "{missed:?}");
        }
    }
}

#[test]
fn a_server_that_hangs_in_the_run_is_found_before_a_timeout() {
    let acts = [vec![Act::Answer; 50], vec![Act::Silence; 50]].concat();
    let server = Server::start(Script { acts, ..Script::default() });
    let (result, code) = json(&[&server.url(), "-c", "2", "-d", "2s", "--timeout", "30s"]);
    assert_eq!((code, &result["client"]["verdict"]), (1, &Value::from("failed")));
    let reason = result["client"]["reason"].as_str().unwrap();
    assert!(reason.contains("nothing was answered from") && reason.contains("requests waited"), "{reason}");
    assert!(result["unanswered_since_s"].as_f64() < Some(1.0));
}

#[test]
fn errors_are_a_share_of_what_was_due_or_begun_at_any_pace() {
    let (url, server) = mortal(200);
    let (result, _) = json(&[&url, "-c", "1", "-d", "2s", "-R", "500", "--fail-if", "errors > 100%"]);
    server.join().unwrap();
    let errors: u64 = result["errors"].as_array().unwrap().iter().map(|e| e["count"].as_u64().unwrap()).sum();
    let percent = errors as f64 / 1000.0 * 100.0;
    assert_eq!(result["gates"][0]["figure"], format!("errors is {percent:.3}%"));
}

#[test]
fn replies_that_are_all_wrong_are_no_valid_run() {
    let broken = Server::start(Script { acts: vec![Act::NotFound; 40], ..Script::default() });
    let (result, code) = json(&[&broken.url(), "-c", "2", "-n", "40"]);
    assert_eq!((code, &result["client"]["verdict"]), (1, &Value::from("failed")));
    let broken = Server::start(Script { acts: vec![Act::NotFound; 40], ..Script::default() });
    let output = load(&[&broken.url(), "-c", "2", "-n", "40"]);
    let error = stderr(&output);
    assert!(error.contains("none of 40 replies was right: status-404 (40 times)"), "{error}");
    assert!(error.contains("--expect-status") && !error.contains("is the server running"), "{error}");
}

#[test]
fn help_after_a_failure_fits_what_the_server_did() {
    for (act, hint) in [
        (Act::Garbage, "does it speak http at this port?"),
        (Act::Close, "it closed the connection"),
        (Act::Truncate, "in the middle of replies: see its log"),
        (Act::Unavailable, "the server reports an error: see its log"),
        (Act::Silence, "--timeout"),
    ] {
        let server = Server::start(Script { acts: vec![act; 100_000], ..Script::default() });
        let output = load(&[&server.url(), "-c", "2", "-n", "6", "--timeout", "200ms"]);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(hint) && !error.contains("is the server running"), "{act:?}: {error}");
    }
}

#[test]
fn the_number_of_requests_leaves_out_the_warm_up() {
    let server = Server::start(Script { delay: Duration::from_millis(2), ..Script::default() });
    let (result, code) = json(&[&server.url(), "-c", "2", "-n", "30", "--warmup", "200ms"]);
    assert_eq!((code, &result["requests"]["ok"]), (0, &Value::from(30)));
    assert!(result["warmup"]["requests"].as_u64() > Some(10));
    assert_eq!(server.requests(), 30 + result["warmup"]["requests"].as_u64().unwrap());
}

#[test]
fn figures_that_are_the_same_are_shown_once_and_nouns_agree() {
    let server = Server::start(Script::default());
    let output = load(&[&server.url(), "-c", "1", "-n", "1", "-L"]);
    let summary = stdout(&output);
    assert!(summary.contains("  service        as response\n"), "{summary}");
    assert!(!summary.contains("schedule lag"), "{summary}");
    assert!(
        summary.contains("  1 thread, 1 connection, ") && summary.contains("  1 request: 1 right"),
        "{summary}"
    );
    assert!(!summary.contains("(s)"), "{summary}");
}

#[test]
fn a_body_is_posted_and_its_own_length_may_be_named() {
    let server = Server::start(Script::default());
    let output = load(&[&server.url(), "-c", "1", "-n", "1", "--body", "hello", "-H", "Content-Length: 5"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = server.seen.lines.lock().unwrap().clone();
    assert!(lines.iter().all(|line| line.starts_with("POST /")), "{lines:?}");
}

#[test]
fn a_table_for_standard_output_is_all_that_is_written_there() {
    let server = Server::start(Script::default());
    let directory = tempfile::tempdir().unwrap();
    let output =
        command(&[&server.url(), "-d", "1200ms", "--csv", "-"]).current_dir(&directory).output().unwrap();
    let lines: Vec<&str> = stdout(&output).lines().collect();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.contains(',')), "{lines:?}");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0, "no file called `-`");
}

#[test]
fn a_summary_that_cannot_be_written_is_a_failure() {
    let server = Server::start(Script::default());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command(&[&server.url(), "-n", "5"]).stdout(full).output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("standard output") && error.contains("No space left"), "{error}");
}

#[test]
fn a_full_disk_loses_no_other_output() {
    let server = Server::start(Script::default());
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("seconds.csv");
    let hlog = directory.path().join("run.hlog");
    let [url, csv_path, hlog_path] = [&server.url(), csv.to_str().unwrap(), hlog.to_str().unwrap()];
    let output = load(&[url, "-d", "1200ms", "--json", "/dev/full", "--csv", csv_path, "--hlog", hlog_path]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(stdout(&output).contains("requests"), "the summary is printed");
    assert!(std::fs::read_to_string(&csv).unwrap().lines().count() > 1, "the table is there");
    assert!(std::fs::read_to_string(&hlog).unwrap().lines().count() > 1, "the log is there");
    assert!(error.contains("the JSON result could not be written: No space left"), "{error}");
    // Each that failed is named.
    let output = load(&[url, "-n", "5", "--json", "/dev/full", "--csv", "/dev/full"]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("the JSON result could") && error.contains("the table could"), "{error}");
    // A full standard output loses no file.
    let json = directory.path().join("result.json");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(&[url, "-n", "5", "--json", json.to_str().unwrap()]);
    assert_eq!(command.stdout(full).output().unwrap().status.code(), Some(1));
    let result: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(result["requests"]["ok"], 5);
}

#[test]
fn two_outputs_in_one_file_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result");
    let file = file.to_str().unwrap();
    for more in [&[][..], &["--dry-run"]] {
        let output = load(&[&["http://127.0.0.1:9/", "--json", file, "--csv", file][..], more].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--json and --csv would both write to"), "{}", stderr(&output));
    }
}

#[test]
fn a_limit_on_the_size_of_files_loses_no_summary() {
    let server = Server::start(Script::default());
    let json = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("sh")
        .args(["-c", "ulimit -f 0; exec \"$@\"", "sh", PITOT, "load", &server.url(), "-n", "5"])
        .args(["--json", json.path().to_str().unwrap()])
        .output()
        .unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(stdout(&output).contains("5 requests: 5 right"), "{}", stdout(&output));
    assert!(error.contains("the JSON result could not be written: File too large"), "{error}");
}

#[test]
fn a_summary_fits_the_columns_of_its_terminal() {
    let server = Server::start(Script { acts: vec![Act::NotFound; 50], ..Script::default() });
    let widest = |columns: &str| {
        let output = command(&[&server.url(), "-n", "200"]).env("COLUMNS", columns).output().unwrap();
        let summary = stdout(&output).to_owned();
        (summary.lines().map(|line| line.chars().count()).max().unwrap(), summary)
    };
    let (width, summary) = widest("80");
    assert!(width <= 80 && summary.contains("p99.9") && !summary.contains("p99.99"), "{summary}");
    let (width, summary) = widest("120");
    assert!(width <= 120 && summary.contains("p99.99"), "{summary}");
    // A program that reads a pipe finds each sentence in a line.
    assert!(widest("").1.lines().last().unwrap().starts_with("Verdict: "));
}

#[test]
fn the_json_keeps_its_contract() {
    let server = Server::start(Script { acts: vec![Act::NotFound, Act::Reset], ..Script::default() });
    let (result, code) = json(&[&server.url(), "-c", "3", "-n", "200", "-t", "2", "--seed", "7"]);
    assert_eq!(code, 0);
    assert_eq!(result["schema"], "pitot-load/1");
    assert_eq!(result["target"], server.url());
    assert_eq!(result["requests"]["attempted"], 200);
    assert_eq!(result["requests"]["ok"], 198);
    assert_eq!(result["connections"]["requested"], 3);
    assert_eq!(result["statuses"], serde_json::json!({"200": 198, "404": 1}));
    let by_second = |class: &str| -> u64 {
        result["series"].as_array().unwrap().iter().map(|second| second[class].as_u64().unwrap()).sum()
    };
    assert_eq!((by_second("status_2xx"), by_second("status_4xx")), (198, 1));
    for path in [
        "/version",
        "/options/threads",
        "/started_at",
        "/duration_s",
        "/clock_ns/start",
        "/clock_ns/end",
        "/requests/completed",
        "/requests/missed",
        "/requests/cut",
        "/throughput_rps",
        "/latency_ns/schedule_lag/p99",
        "/latency_ns/connect/count",
        "/latency_ns/first_byte/max",
        "/connections/opened",
        "/connections/peak_open",
        "/connections/mean_open",
        "/connections/reopened",
        "/connections/closed_by_peer",
        "/bytes/received",
        "/bytes/sent",
        "/series/0/completed",
        "/client/cpu_user_s",
        "/client/cpu_system_s",
        "/client/cpu_utilisation",
        "/client/threads/1",
        "/client/verdict",
        "/client/reason",
    ] {
        assert!(result.pointer(path).is_some_and(|v| !v.is_null()), "{path}");
    }
    for (name, latency) in result["latency_ns"].as_object().unwrap() {
        let histogram = Histogram::decode(result["histograms"][name].as_str().unwrap()).unwrap();
        assert_eq!(latency["count"], histogram.count());
        for (figure, quantile) in
            [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)]
        {
            assert_eq!(latency[figure], histogram.at(quantile).0, "{name} {figure}");
        }
        assert_eq!(
            (&latency["min"], &latency["max"]),
            (&histogram.min().0.into(), &histogram.max().0.into())
        );
    }
    let errors: Vec<(&str, u64)> = result["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["kind"].as_str().unwrap(), e["count"].as_u64().unwrap()))
        .collect();
    assert!(errors.contains(&("status-404", 1)) && errors.contains(&("ECONNRESET", 1)), "{errors:?}");
}

/// The leaves of a JSON value that are null, zero or empty, by their JSON pointers.
fn default_leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| default_leaves(field, &format!("{at}/{name}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(i, item)| default_leaves(item, &format!("{at}/{i}"), found));
        }
        Value::Bool(true) => {}
        Value::Number(n) if n.as_f64() != Some(0.0) => {}
        Value::String(text) if !text.is_empty() => {}
        _ => found.push(at.to_owned()),
    }
}

/// Fields that a run may leave at zero or empty: it had none of it, or the kernel does not count it.
const MAY_BE_DEFAULT: &[&str] = &[
    "/options/",
    "/series/",
    "/client/threads/",
    "/client/run_queue_s",
    "/client/cpu_",
    "/connections/connect_failures",
    "/connections/retransmits",
    "/connections/trickled",
    "/connections/unanswered",
    "/ended_early",
    "/errors/0/first_at_s",
    "/errors/1/first_at_s",
    "/errors/2/first_at_s",
    "/gates/0/failed",
    "/latency_ns/connect/stdev",
    "/latency_ns/handshake/",
    "/latency_ns/resumption/",
    "/latency_ns/schedule_lag/",
    "/requests/cut",
    "/requests/started_late",
    "/smoothness/gap_ns/stdev",
    "/warmup/errors",
];

#[test]
fn the_lab_reads_every_field_that_a_load_prints() {
    // More right answers than requests are due in the warm-up, then one of each that leaves its mark on the result.
    let mut acts = vec![Act::Answer; 60];
    acts.extend([Act::Falter, Act::NotFound, Act::Reset, Act::Close]);
    let server = Server::start(Script { acts, delay: Duration::from_millis(5), ..Script::default() });
    let url = server.url();
    let overload = ["-c", "2", "-R", "2000", "-d", "1500ms", "--warmup", "20ms", "--fail-if", "p99 > 1m"];
    let storm = ["--storm", "-c", "5"];
    let search = ["-c", "1", "-d", "300ms", "-R", "20", "--search", "p99 < 10s, errors < 1%"];
    for (arguments, part) in [
        (&overload[..], "/requests/missed"),
        (&storm, "/storm/established"),
        (&search, "/search/steps/0/response_ns/count"),
    ] {
        let (printed, _) = json(&[&[url.as_str()], arguments].concat());
        let read = pitot_results::load::LoadResult::parse(&printed.to_string()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), printed, "something is lost or read as its default");
        assert!(printed.pointer(part).is_some_and(|n| n.as_u64() > Some(0)), "{part}: {printed:#}");
        if arguments == &overload[..] {
            let mut unread = Vec::new();
            default_leaves(&serde_json::to_value(&read).unwrap(), "", &mut unread);
            unread.retain(|leaf| !MAY_BE_DEFAULT.iter().any(|may| leaf.starts_with(may)));
            assert!(unread.is_empty(), "{unread:?}");
            assert!(read.asked_rps.is_some() && read.smoothness.is_some() && read.client.verdict.is_some());
            assert_eq!(read.raw, printed);
        }
    }
}

#[test]
fn the_summary_is_for_people_and_standard_error_is_quiet_without_a_terminal() {
    let server = Server::start(Script::default());
    let output = load(&[&server.url(), "-n", "100", "-L", "-R", "1000"]);
    let summary = stdout(&output);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    for word in
        ["response", "service", "schedule lag", "p99.99", "100 requests", "Verdict: ", "samples", "####"]
    {
        assert!(summary.contains(word), "{word}: {summary}");
    }
}

#[test]
fn tables_and_logs_can_be_read_by_other_programs() {
    let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (csv, hlog) = (path("run.csv"), path("run.hlog"));
    let (result, code) = json(&[&server.url(), "-d", "1200ms", "--csv", &csv, "--hlog", &hlog]);
    assert_eq!(code, 0);
    let completed = result["requests"]["completed"].as_u64().unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..2], ["t_s", "completed"]);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1..].iter().map(|row| row[1].parse::<u64>().unwrap()).sum::<u64>(), completed);
    let hlog = std::fs::read_to_string(hlog).unwrap();
    let count = |tag: &str| -> u64 {
        let lines = hlog.lines().filter_map(|line| line.strip_prefix(&format!("Tag={tag},")));
        lines.map(|line| Histogram::decode(line.rsplit(',').next().unwrap()).unwrap().count()).sum()
    };
    assert!(hlog.starts_with("#[Histogram log format version"));
    assert_eq!((count("response"), count("service")), (completed, completed));
    assert_eq!(count("connect"), 10);
}

#[test]
fn think_times_vary_as_asked_and_only_where_somebody_thinks() {
    let server = Server::start(Script::default());
    let url = server.url();
    for word in ["constant", "uniform", "exponential"] {
        let (result, code) = json(&[&url, "-n", "40", "-c", "4", "--think", "5ms", "--think-times", word]);
        assert_eq!((code, &result["requests"]["ok"]), (0, &40.into()), "{word}");
    }
    let output = load(&[&url, "-n", "1", "--think-times", "uniform"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--think"), "{}", stderr(&output));
}

#[test]
fn gates_decide_the_exit_code() {
    let server = Server::start(Script::default());
    let url = server.url();
    assert_eq!(json(&[&url, "-n", "50", "--fail-if", "p99 > 30s", "--fail-if", "errors > 0"]).1, 0);
    let (result, code) = json(&[&url, "-n", "50", "--fail-if", "p50 > 1ns"]);
    assert_eq!((code, &result["gates"][0]["failed"]), (1, &Value::Bool(true)));
    let list = "errors > 0, p95 > 1ns, max > 30s";
    let (result, code) = json(&[&url, "-n", "50", "--fail-if", list, "--fail-if", "min > 30s"]);
    let failed: Vec<bool> =
        result["gates"].as_array().unwrap().iter().map(|gate| gate["failed"] == true).collect();
    assert_eq!((code, failed), (1, vec![false, true, false, false]));
    let broken = Server::start(Script { acts: vec![Act::NotFound; 1_000_000], ..Script::default() });
    let (result, code) = json(&[&broken.url(), "-d", "50s", "--abort-on", "errors > 50%"]);
    assert_eq!(code, 1);
    assert!(result["ended_early"].as_str().unwrap().contains("errors > 50%"));
}

#[test]
fn the_run_second_by_second_is_shown_on_request() {
    let server = Server::start(Script::default());
    let output = load(&[&server.url(), "-d", "1200ms", "-R", "50", "--timeline"]);
    let summary = stdout(&output);
    let rows: Vec<&str> = summary.lines().skip_while(|line| !line.starts_with("  Second")).collect();
    assert!(rows[0].contains("p95") && rows[1].trim_start().starts_with("0 "), "{summary}");
    assert!(rows[2].trim_start().starts_with("1 ") && rows[1].ends_with('#'), "{summary}");
    assert!(summary.contains("  replies by status: 200: "), "{summary}");
    assert!(summary.contains("      min      p50      p75      p90      p95"), "{summary}");
}

#[test]
fn ctrl_c_ends_the_run_and_everything_is_still_printed() {
    for (processes, signal) in [("1", Signal::INT), ("2", Signal::INT), ("2", Signal::TERM)] {
        let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
        let arguments = [&server.url(), "-d", "600s", "-c", "4", "--processes", processes, "--json", "-"];
        let mut child = Running::start(&mut command(&arguments));
        until("no request came", || server.requests() > 100);
        child.signal(signal);
        let result: Value = serde_json::from_str(&child.printed()).unwrap();
        assert_eq!(child.ended().code(), Some(0));
        assert_eq!(result["ended_early"], "interrupted by the user");
        let completed = result["requests"]["completed"].as_u64().unwrap();
        assert!(completed >= 100 && completed <= server.requests(), "{completed}");
    }
}

#[test]
fn a_run_that_was_cut_meets_no_condition_and_is_no_step_of_a_search() {
    for asked in [["--fail-if", "errors > 50%"], ["--search", "p99 < 30s"]] {
        let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
        let url = server.url();
        let arguments = [&url, "-d", "600s", "-c", "4", "-R", "500", asked[0], asked[1], "--json", "-"];
        let mut child = Running::start(&mut command(&arguments));
        until("no request came", || server.requests() > 100);
        child.signal(Signal::TERM);
        let result: Value = serde_json::from_str(&child.printed()).unwrap();
        assert_eq!(
            (child.ended().code(), &result["ended_early"]),
            (Some(1), &"interrupted by the user".into())
        );
        if asked[0] == "--search" {
            assert_eq!(result["search"]["steps"], serde_json::json!([]));
        }
    }
}

#[test]
fn several_processes_are_one_run() {
    let server = Server::start(Script::default());
    let (result, code) =
        json(&[&server.url(), "-c", "7", "-n", "1001", "--processes", "3", "-t", "2", "--idle", "5"]);
    assert_eq!(code, 0);
    assert_eq!((server.requests(), server.connections()), (1001, 12));
    assert_eq!(result["requests"]["ok"], 1001);
    assert_eq!(result["options"]["processes"], 3);
    assert_eq!(result["connections"]["peak_open"], 12);
    assert_eq!(result["latency_ns"]["response"]["count"], 1001);
    let per_second: u64 =
        result["series"].as_array().unwrap().iter().map(|s| s["completed"].as_u64().unwrap()).sum();
    assert_eq!(per_second, 1001);
}

#[test]
fn worker_processes_die_with_their_parent() {
    let server = Server::start(Script { delay: Duration::from_millis(1), ..Script::default() });
    let arguments = [&server.url(), "-d", "600s", "-c", "4", "--processes", "2"];
    let mut child = Running::start(&mut command(&arguments));
    until("no request came", || server.requests() > 10);
    child.kill();
    assert_eq!(child.ended().code(), None);
    until("the workers go on", || server.seen.open.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_search_finds_a_rate_that_a_slow_server_sustains() {
    // One connection and 4 ms for each reply: 250 a second at the very most.
    let server = Server::start(Script { delay: Duration::from_millis(4), ..Script::default() });
    let (result, code) =
        json(&[&server.url(), "-c", "1", "-d", "300ms", "-R", "20", "--search", "p99 < 10s, errors < 1%"]);
    let found = result["search"]["found_rps"].as_f64().unwrap();
    assert_eq!(code, 0);
    assert!((20.0..=260.0).contains(&found), "{found}");
    assert!(result["search"]["steps"].as_array().unwrap().iter().any(|step| step["passed"] == false));
    assert_eq!(result["search"]["conditions"], "p99 < 10s, errors < 1%");
}

#[test]
fn a_search_that_finds_nothing_is_a_failure_with_its_reason() {
    let server = Server::start(Script { delay: Duration::from_millis(5), ..Script::default() });
    let output = load(&[&server.url(), "-c", "1", "-d", "100ms", "-R", "2", "--search", "p99 < 1us"]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("no rate that was tried meets p99 < 1us") && error.lines().count() == 3,
        "{error}"
    );
    assert!(error.starts_with("searching from 2 rps: at most 40 runs of 0.1 s, 4 s;"), "{error}");
}

#[test]
fn a_generator_whose_cpu_is_taken_away_does_not_call_itself_valid() {
    let cpu = pitot_sys::affinity::allowed().unwrap()[0];
    let server = Server::start(Script::default());
    let over = AtomicBool::new(false);
    let (result, _) = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                pitot_sys::affinity::pin(&[cpu]).unwrap();
                // Bounded, for the time when what follows fails.
                let start = Instant::now();
                while !over.load(Ordering::Relaxed) && start.elapsed() < TIMEOUT {
                    std::hint::spin_loop();
                }
            });
        }
        let result = json(&[&server.url(), "-c", "16", "-R", "2000", "-d", "1s", "--cpus", &cpu.to_string()]);
        over.store(true, Ordering::Relaxed);
        result
    });
    assert_eq!(result["client"]["verdict"], "noisy", "{}", result["client"]);
    assert!(result["latency_ns"]["schedule_lag"]["max"].as_u64() > Some(1_000_000));
}

#[test]
fn two_results_are_compared_without_an_interval() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(Script::default());
    let names = ["a.json", "b.json"].map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    for (file, connections) in names.iter().zip(["1", "2"]) {
        let output = load(&[&server.url(), "-n", "50", "-c", connections, "--json", file]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let compare = |arguments: &[&str]| Command::new(PITOT).arg("compare").args(arguments).output().unwrap();
    let [a, b] = &names;
    let output = compare(&[a, b]);
    let shown = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", stderr(&output));
    assert!(shown.contains("right replies") && shown.contains("connections: 1 → 2"), "{shown}");
    assert!(shown.contains("no interval"), "{shown}");
    let page: Value = serde_json::from_slice(&compare(&[a, b, "--format", "json"]).stdout).unwrap();
    assert_eq!((&page["schema"], &page["interval"]), (&"pitot-compare-loads/1".into(), &Value::Null));
    let page = compare(&[a, b, "--format", "html", "-o", "-"]);
    assert!(
        stdout(&page).contains("<th scope=\"row\" class=\"name\">right replies</th>"),
        "{}",
        stdout(&page)
    );
    let undecided = compare(&[a, b, "--fail-if", "throughput < -5%"]);
    assert_eq!(undecided.status.code(), Some(3), "{}", stderr(&undecided));
    let other = directory.path().join("other.json").to_str().unwrap().to_owned();
    std::fs::write(&other, "{}").unwrap();
    let run = directory.path().join("a.pitot").to_str().unwrap().to_owned();
    std::fs::write(&run, "no database").unwrap();
    for (arguments, word) in [
        (&[a.as_str()][..], "name the result of a second load"),
        (&[a, &other], "is not the result of a load"),
        (&[a, &run], "compare two results"),
        (&[a, b, "--format", "junit"], "use terminal, html, md, github or json"),
    ] {
        let output = compare(arguments);
        let error = stderr(&output);
        assert!(output.status.code() == Some(2) && error.contains(word), "{error}");
    }
}
