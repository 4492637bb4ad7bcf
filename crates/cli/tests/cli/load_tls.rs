//! `pitot load https://` against servers that others wrote.

mod certificates;
mod servers;

use std::process::{Command, Output, Stdio};

use pitot_needs::needs;
use serde_json::Value;

use crate::support::{PITOT, stderr, stdout};
use certificates::Pki;
use servers::{Server, plain_http};

const BOTH_VERSIONS: [(&str, &str); 2] = [("1.2", "TLSv1_2"), ("1.3", "TLSv1_3")];

fn load(arguments: &[&str]) -> Output {
    Command::new(PITOT).arg("load").args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Runs it for its JSON; all requests must have been answered rightly.
fn right(arguments: &[&str]) -> Value {
    let output = load(&[arguments, &["--json", "-"]].concat());
    let error = stderr(&output);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {error}"));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}{}", result["errors"]);
    assert!(result["requests"]["ok"].as_u64() > Some(0), "{result:#}");
    assert_eq!(result["errors"].as_array().map(Vec::len), Some(0), "{}", result["errors"]);
    result
}

/// Runs it against a server that it cannot talk to: the first line on standard error, the line after it, and the summary.
fn refused(arguments: &[&str]) -> (String, String, String) {
    let output = load(&[arguments, &["-n", "3", "-c", "2", "-d", "20s"]].concat());
    let (summary, error) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {summary}{error}");
    let mut lines = error.lines();
    let mut next = || lines.next().unwrap_or_default().to_owned();
    (next(), next(), summary.to_owned())
}

fn handshakes(result: &Value) -> [u64; 3] {
    ["full", "resumed", "failed"].map(|kind| result["tls"]["handshakes"][kind].as_u64().unwrap())
}

/// Keep-alive, connections for each request that resume or do not, in both versions, on both engines.
fn talks_to(server: &Server, pki: &Pki, path: &str) {
    let url = format!("https://localhost:{}{path}", server.port);
    let common = ["--tls-ca", pki.authority(), "-n", "20", "-c", "2"];
    for engine in ["epoll", "uring"] {
        for (version, name) in BOTH_VERSIONS {
            let each = [&[&*url, "--tls-version", version, "--engine", engine][..], &common].concat();
            let kept = right(&each);
            assert_eq!(kept["tls"]["sessions"][0]["version"], *name);
            assert_eq!(handshakes(&kept), [2, 0, 0], "{engine} {version}");
            assert_eq!(kept["latency_ns"]["handshake"]["count"], 2);
            let again = right(&[&each[..], &["--requests-per-connection", "1"]].concat());
            let [full, resumed, failed] = handshakes(&again);
            // The servers give a ticket with each full handshake.
            assert!(
                full == 2 && resumed >= 18 && failed == 0,
                "{engine} {version}: {full} {resumed} {failed}"
            );
            assert_eq!(again["latency_ns"]["resumption"]["count"], resumed);
            let fresh =
                right(&[&each[..], &["--requests-per-connection", "1", "--tls-resume", "off"]].concat());
            let [full, resumed, failed] = handshakes(&fresh);
            assert!(
                full >= 20 && resumed == 0 && failed == 0,
                "{engine} {version}: {full} {resumed} {failed}"
            );
        }
    }
}

/// HTTP/2, agreed on by ALPN, on both engines.
fn speaks_http2(server: &Server, pki: &Pki, path: &str) {
    let url = |path: &str| format!("https://localhost:{}{path}", server.port);
    for engine in ["epoll", "uring"] {
        let common = ["--http", "2", "--engine", engine, "--tls-ca", pki.authority(), "-n", "60", "-c", "2"];
        let run = |path: &str, more: &[&str]| right(&[&[&*url(path)], &common[..], more].concat());
        let kept = run(path, &["--streams", "5"]);
        let alpn = &kept["tls"]["sessions"][0]["alpn"];
        assert_eq!((alpn, &kept["requests"]["ok"]), (&"h2".into(), &60.into()), "{engine}");
        assert_eq!(kept["connections"]["opened"], 2, "{engine}");
        run(path, &["--streams", "5", "--method", "HEAD"]);
        run(path, &["--requests-per-connection", "1", "--tls-resume", "off"]);
        let missing = run("/none/such", &["--streams", "5", "--expect-status", "404"]);
        assert_eq!(missing["statuses"]["404"], 60, "{engine}");
    }
}

#[needs("nginx")]
#[test]
fn nginx_is_loaded_over_tls() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    talks_to(&server, &pki, "/bytes");
    let url = format!("https://localhost:{}/bytes", server.port);
    let body = server.folder().join("bytes");
    let common = ["--tls-ca", pki.authority(), "-n", "20", "--expect-body", body.to_str().unwrap()];
    for engine in ["epoll", "uring"] {
        right(&[&[&*url, "--engine", engine, "--pipeline", "4", "-c", "1"][..], &common].concat());
    }
}

#[needs("nginx")]
#[test]
fn gates_on_handshakes_tell_full_ones_from_resumed_ones() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    let url = format!("https://localhost:{}/bytes", server.port);
    let common =
        [&*url, "--tls-ca", pki.authority(), "-n", "20", "-c", "2", "--requests-per-connection", "1"];
    let gated = |gate: &str, more: &[&str]| {
        let output = load(&[&common[..], &["--fail-if", gate], more].concat());
        (output.status.code(), stderr(&output).to_owned())
    };
    assert_eq!(gated("handshake p99 > 60s, resumption p99 > 60s, connect max > 60s", &[]).0, Some(0));
    let (code, error) = gated("resumption p50 > 1ns, handshake p50 > 60s", &[]);
    assert!(
        code == Some(1) && error.contains("resumption p50 is") && !error.contains("handshake"),
        "{error}"
    );
    let (code, error) = gated("resumption p50 > 1ns", &["--tls-resume", "off"]);
    assert!(code == Some(2) && error.contains("--tls-resume off"), "{error}");
    let mut held = Command::new(PITOT)
        .args(["load", "--hold", &url, "-k", "-c", "2", "--requests-per-connection", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(held.stdin.as_mut().unwrap(), b"run 300ms\nquit\n").unwrap();
    let output = held.wait_with_output().unwrap();
    let answers = stdout(&output);
    assert!(answers.contains("\"handshakes\":{\"handshake\":\""), "{answers}");
}

#[needs("nginx")]
#[test]
fn a_held_load_and_several_processes_speak_tls() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    let url = format!("https://localhost:{}/bytes", server.port);
    let result = right(&[&url, "--tls-ca", pki.authority(), "-n", "40", "-c", "4", "--processes", "2"]);
    assert_eq!(handshakes(&result), [4, 0, 0]);
    let mut held = Command::new(PITOT)
        .args(["load", "--hold", &url, "-k", "-c", "3"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(held.stdin.as_mut().unwrap(), b"run 50ms\nquit\n").unwrap();
    let output = held.wait_with_output().unwrap();
    let answers = stdout(&output);
    assert!(answers.contains("\"connections\":3") && !answers.contains("refused"), "{answers}");
}

#[needs("nginx")]
#[test]
fn a_server_that_asks_for_a_certificate_gets_one() {
    let pki = Pki::new();
    let asks = format!("ssl_client_certificate {}; ssl_verify_client on;", pki.authority());
    let server = servers::nginx(&pki, &asks);
    let url = format!("https://localhost:{}/bytes", server.port);
    let (certificate, key) = pki.client();
    right(&[&url, "--tls-ca", pki.authority(), "--tls-cert", certificate, "--tls-key", key, "-n", "5"]);
    // nginx ends the handshake and says it in HTTP.
    let (what, _, _) = refused(&[&url, "--tls-ca", pki.authority()]);
    assert!(what.contains("status-400"), "{what}");
}

#[needs("apache2")]
#[test]
fn apache_is_loaded_over_tls() {
    let pki = Pki::new();
    let server = servers::apache(&pki);
    talks_to(&server, &pki, "/bytes");
    speaks_http2(&server, &pki, "/bytes");
}

#[needs("haproxy")]
#[test]
fn haproxy_is_loaded_over_tls() {
    let pki = Pki::new();
    talks_to(&servers::haproxy(&pki), &pki, "/");
}

#[needs("go")]
#[test]
fn the_http_server_of_go_is_loaded_over_tls() {
    let pki = Pki::new();
    let server = servers::go(&pki);
    talks_to(&server, &pki, "/");
    speaks_http2(&server, &pki, "/");
}

#[needs("caddy")]
#[test]
fn caddy_is_loaded_over_tls() {
    let pki = Pki::new();
    let server = servers::caddy(&pki);
    talks_to(&server, &pki, "/bytes");
    speaks_http2(&server, &pki, "/bytes");
}

#[needs("openssl")]
#[test]
fn openssl_is_loaded_and_what_it_refuses_is_named() {
    let pki = Pki::new();
    // It serves one connection at a time and ends each reply with its connection.
    let one = ["-c", "1", "-n", "3", "--tls-ca", pki.authority()];
    for (version, name) in [("-tls1_2", "TLSv1_2"), ("-tls1_3", "TLSv1_3")] {
        let server = servers::openssl(&pki, &["-www", version]);
        let url = format!("https://localhost:{}/", server.port);
        let result = right(&[&[&*url][..], &one].concat());
        assert_eq!(result["tls"]["sessions"][0]["version"], *name);
    }
    for version in ["-tls1_2", "-tls1_3"] {
        let server = servers::openssl(&pki, &["-www", version, "-Verify", "1", "-CAfile", pki.authority()]);
        let url = format!("https://localhost:{}/", server.port);
        let (certificate, key) = pki.client();
        right(&[&[&*url, "--tls-cert", certificate, "--tls-key", key][..], &one].concat());
        let (what, fix, _) = refused(&[&url, "--tls-ca", pki.authority()]);
        assert!(what.contains("requires a client certificate") && fix.contains("--tls-cert"), "{what}");
    }
    let server = servers::openssl(&pki, &["-www", "-tls1_2"]);
    let url = format!("https://localhost:{}/", server.port);
    let (what, fix, summary) = refused(&[&url, "-k", "--tls-version", "1.3"]);
    assert!(what.contains("no version of TLS in common") && fix.contains("--tls-version"), "{what}");
    assert!(summary.lines().nth(2).unwrap().contains("no version of TLS in common"), "{summary}");
    let server = servers::openssl(&pki, &["-www", "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"]);
    let (what, _, _) = refused(&[&format!("https://localhost:{}/", server.port), "-k"]);
    assert!(what.contains("no cipher"), "{what}");
}

#[needs("nginx")]
#[test]
fn a_certificate_that_is_not_to_be_trusted_is_named_with_the_fix() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    let url = format!("https://localhost:{}/bytes", server.port);
    // The address is none of the names of the certificate.
    let other = format!("https://127.0.0.1:{}/bytes", server.port);
    let stranger = Pki::new();
    for (arguments, said, fixed) in [
        (&[&*url, "--tls-ca", stranger.authority()][..], "not issued by a known authority", "--tls-ca"),
        (&[&*other, "--tls-ca", pki.authority()], "not for the host", "--insecure"),
    ] {
        let (what, fix, summary) = refused(arguments);
        assert!(what.contains(said) && fix.contains(fixed), "{what} {fix}");
        assert!(summary.lines().nth(2).is_some_and(|line| line.contains(said)), "{summary}");
        assert!(summary.contains("handshake "), "{summary}");
    }
    right(&[&other, "--insecure", "-n", "5"]);
    let server = servers::nginx_with(&pki.expired(), "");
    let (what, _, _) =
        refused(&[&format!("https://localhost:{}/bytes", server.port), "--tls-ca", pki.authority()]);
    assert!(what.contains("expired"), "{what}");
}

#[needs("nginx")]
#[test]
fn wrong_certificates_of_nine_kinds_are_each_named_with_their_fix() {
    let pki = Pki::new();
    let stranger = Pki::new();
    let (revoked, list) = pki.numbered(7, &[7]);
    let named = pki.changed("named", |params| {
        params.subject_alt_names = vec![rcgen::SanType::DnsName("other.example".try_into().unwrap())];
    });
    let cases = [
        (pki.expired(), "has expired", "give the server another certificate"),
        (pki.valid_in(2998..2999), "is not valid yet", "check the clocks of both machines"),
        (stranger.server(), "not issued by a known authority", "--tls-ca"),
        (pki.self_signed(), "is self-signed", "--tls-ca"),
        (named, "is not for the host", "--host"),
        (pki.for_clients(), "is not for servers", "give the server another certificate"),
        (revoked, "is revoked", "give the server another certificate"),
        (pki.forged(), "a signature", "give the server another certificate"),
        (pki.of_an_authority(), "of an authority as its own", "give the server another certificate"),
    ];
    for (identity, said, fixed) in cases {
        let server = servers::nginx_with(&identity, "");
        let url = format!("https://localhost:{}/bytes", server.port);
        let (what, fix, summary) = refused(&[&url, "--tls-ca", pki.authority(), "--tls-crl", &list]);
        assert!(what.contains(said) && fix.contains(fixed), "{what} {fix}");
        assert!(summary.lines().nth(2).is_some_and(|line| line.contains(said)), "{summary}");
    }
}

#[needs("nginx")]
#[test]
fn the_host_that_is_asked_for_is_the_name_of_the_certificate() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    let url = format!("https://127.0.0.1:{}/bytes", server.port);
    for engine in ["epoll", "uring"] {
        let common = [&*url, "--tls-ca", pki.authority(), "-n", "5", "--engine", engine];
        right(&[&common[..], &["--host", "localhost"]].concat());
    }
    let (what, fix, _) = refused(&[&url, "--tls-ca", pki.authority(), "--host", "other.example"]);
    assert!(what.contains("is not for the host") && fix.contains("--host"), "{what} {fix}");
}

#[needs("openssl")]
#[test]
fn the_host_that_is_asked_for_is_told_to_the_server() {
    let pki = Pki::new();
    let second = pki.server();
    let server = servers::openssl(
        &pki,
        &[
            "-www",
            "-servername",
            "localhost",
            "-servername_fatal",
            "-cert2",
            &second.certificate,
            "-key2",
            &second.key,
        ],
    );
    let url = format!("https://127.0.0.1:{}/", server.port);
    right(&[&url, "--tls-ca", pki.authority(), "-c", "1", "-n", "3", "--host", "localhost"]);
    let (what, fix, _) = refused(&[&url, "--insecure", "--host", "other.example"]);
    assert!(what.contains("does not know the host name") && fix.contains("--host"), "{what} {fix}");
}

#[needs("nginx")]
#[test]
fn http_to_a_port_of_tls_is_told() {
    let pki = Pki::new();
    let server = servers::nginx(&pki, "");
    let (what, fix, _) = refused(&[&format!("http://127.0.0.1:{}/bytes", server.port)]);
    assert!(what.contains("status-400") && fix.contains("does this port take https://?"), "{what} {fix}");
}

#[needs("nginx")]
#[test]
fn a_revoked_certificate_is_named_where_a_list_has_it() {
    let pki = Pki::new();
    let (identity, list) = pki.numbered(7, &[6, 7]);
    let server = servers::nginx_with(&identity, "");
    let url = format!("https://localhost:{}/bytes", server.port);
    let common = [&*url, "--tls-ca", pki.authority()];
    right(&[&common[..], &["-n", "5"]].concat());
    let (what, _, summary) = refused(&[&common[..], &["--tls-crl", &list]].concat());
    assert!(what.contains("certificate is revoked") && summary.contains("revoked"), "{what} {summary}");
    let (_, list) = pki.numbered(8, &[6, 8]);
    right(&[&common[..], &["--tls-crl", &list, "-n", "5"]].concat());
    for file in [pki.authority(), "/nonexistent"] {
        let output = load(&[&common[..], &["--tls-crl", file]].concat());
        let error = stderr(&output);
        assert!(
            output.status.code() == Some(2) && error.contains("lists of revoked certificates"),
            "{error}"
        );
    }
    let output = load(&[&url, "-k", "--tls-crl", &list]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("remove one of them"));
}

#[test]
fn a_port_without_tls_is_named() {
    let port = plain_http();
    let (what, fix, _) = refused(&[&format!("https://127.0.0.1:{port}/"), "-k"]);
    assert!(what.contains("plain HTTP") && fix.contains("http://"), "{what} {fix}");
}
