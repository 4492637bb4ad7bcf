//! A relay where clients log in: over TLS, with credentials that nobody else sees.

use serde_json::Value;

use super::host::{Host, Script, certified};
use super::{Files, list, outcomes, recipients};
use crate::support::stderr;

const PLAIN: &[&str] = &["PIPELINING", "AUTH LOGIN PLAIN"];
const LOGIN: &[&str] = &["AUTH CRAM-MD5 LOGIN"];

/// The files of a run with credentials and the certificate of the host, and the paths of those.
fn prepared(credentials: &str, certificate: &str) -> (Files, String, String) {
    let files = Files::new(&list(20, 4));
    std::fs::write(files.path("credentials"), credentials).unwrap();
    std::fs::write(files.path("ca.pem"), certificate).unwrap();
    let (credentials, ca) = (files.path("credentials"), files.path("ca.pem"));
    (files, credentials.display().to_string(), ca.display().to_string())
}

#[test]
fn the_right_credentials_open_the_relay_by_starttls_and_by_implicit_tls() {
    for (offers, implicit_tls) in [(PLAIN, false), (LOGIN, false), (PLAIN, true), (LOGIN, true)] {
        let (tls, certificate) = certified("127.0.0.1");
        let host =
            Host::new(Script { tls: Some(tls), login: true, offers, implicit_tls, ..Script::default() });
        let (files, credentials, ca) = prepared("user:pencil\n", &certificate);
        let relay = format!("{}{}", if implicit_tls { "smtps://" } else { "" }, host.name());
        let arguments = ["--really-send", "--relay", &relay, "--tls-ca", &ca, "--auth-file", &credentials];
        let (report, code) = files.json(&arguments);
        assert_eq!((recipients(&report, "sent"), code), (20, 0), "{report}");
        assert!(report["connections"]["tls"].as_u64() >= Some(1), "{report}");
        let seen = host.seen();
        assert_eq!((seen.auth_in_clear, seen.begun_in_clear), (0, 0));
        assert!(seen.auth[0].starts_with(if offers == LOGIN { "AUTH LOGIN" } else { "AUTH PLAIN " }));
    }
}

#[test]
fn credentials_come_from_the_environment_too() {
    let host = Host::new(Script { login: true, offers: PLAIN, ..Script::default() });
    let files = Files::new(&list(5, 1));
    let arguments = [
        "--really-send",
        "--relay",
        &host.name(),
        "--auth-env",
        "RELAY_LOGIN",
        "--auth-insecure",
        "--json",
        "-",
    ];
    let output = files.command(&arguments).env("RELAY_LOGIN", "user:pencil").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(recipients(&report, "sent"), 5, "{report}");
    assert!(host.seen().auth_in_clear > 0);
}

#[test]
fn wrong_credentials_end_the_run_and_cost_no_recipient() {
    for offers in [PLAIN, LOGIN] {
        let (tls, certificate) = certified("127.0.0.1");
        let host = Host::new(Script { tls: Some(tls), login: true, offers, ..Script::default() });
        let (files, credentials, ca) = prepared("user:pen", &certificate);
        let (relay, journal) = (host.name(), files.journal());
        let arguments = ["--really-send", "--relay", &relay, "--tls-ca", &ca, "--auth-file", &credentials];
        let output = files.mail(&[&arguments[..], &["--journal", &journal]].concat());
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(
            error.contains("the relay refuses all mail: ") && error.contains("535 5.7.8 wrong user"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 2, "{error}");
        assert!(!error.contains("user:pen") && !error.contains("cGVu"), "{error}");
        assert_eq!((outcomes(&files.path("journal")).len(), host.seen().messages.len()), (0, 0));
    }
}

#[test]
fn a_relay_without_a_way_to_log_in_and_one_that_wants_a_login_end_the_run() {
    let none = Host::new(Script { offers: &["AUTH CRAM-MD5"], ..Script::default() });
    let (files, credentials, _) = prepared("user:pencil\n", "");
    let output = files.mail(&[
        "--really-send",
        "--relay",
        &none.name(),
        "--auth-file",
        &credentials,
        "--auth-insecure",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("does not offer AUTH PLAIN or AUTH LOGIN"), "{}", stderr(&output));

    let closed = Host::new(Script { login: true, offers: PLAIN, ..Script::default() });
    let journal = files.journal();
    let (report, code) = files.json(&["--really-send", "--relay", &closed.name(), "--journal", &journal]);
    assert_eq!(
        (recipients(&report, "refused"), recipients(&report, "unsettled"), code),
        (0, 20, 1),
        "{report}"
    );
    assert!(report["ended_early"].as_str().unwrap().contains("530 5.7.0"), "{report}");
    assert_eq!(outcomes(&files.path("journal")).len(), 0);
}

#[test]
fn credentials_are_not_sent_to_a_host_with_a_wrong_certificate_or_without_tls() {
    let (tls, _) = certified("127.0.0.1");
    let (other, other_certificate) = certified("other.test");
    let (_, stranger) = certified("127.0.0.1");
    for (tls, trusted) in [(Some(tls), &stranger), (Some(other), &other_certificate), (None, &stranger)] {
        for implicit_tls in [false, true] {
            if implicit_tls && tls.is_none() {
                continue;
            }
            let script =
                Script { tls: tls.clone(), login: true, offers: PLAIN, implicit_tls, ..Script::default() };
            let host = Host::new(script);
            let (files, credentials, ca) = prepared("user:pencil\n", trusted);
            let relay = format!("{}{}", if implicit_tls { "smtps://" } else { "" }, host.name());
            let arguments = ["--really-send", "--relay", &relay, "--tls-ca", &ca, "--retries", "0"];
            let (report, code) = files.json(&[&arguments[..], &["--auth-file", &credentials]].concat());
            assert_eq!((recipients(&report, "gave_up"), code), (20, 1), "{report}");
            let example = report["outcomes"][0]["example"].as_str().unwrap();
            let word = if tls.is_some() { "invalid peer certificate" } else { "does not offer STARTTLS" };
            assert!(example.contains(word), "{example}");
            assert!(host.seen().auth.is_empty());
        }
    }
}

#[test]
fn options_of_tls_and_credentials_that_contradict_each_other_are_refused() {
    let (files, credentials, ca) = prepared("user:pencil\n", "");
    let pem = certified("127.0.0.1").1;
    std::fs::write(files.path("good.pem"), pem).unwrap();
    std::fs::write(files.path("secret"), "onlyasecret\n").unwrap();
    let (good, secret) =
        (files.path("good.pem").display().to_string(), files.path("secret").display().to_string());
    let relay = ["--test-mode", "--relay", "127.0.0.1:1"];
    for (more, word) in [
        (&["--auth-file", &credentials, "--tls", "off"][..], "need TLS and a checked certificate"),
        (&["--auth-file", &credentials, "--tls", "auto"], "need TLS and a checked certificate"),
        (&["--auth-file", &credentials, "--auth-env", "HOME"], "cannot be combined"),
        (&["--auth-file", "/nonexistent"], "cannot be read"),
        (&["--auth-file", &secret], "has no colon"),
        (&["--auth-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE"),
        (&["--auth-insecure"], "needs credentials"),
        (&["--tls-ca", &ca], "there are none"),
        (&["--tls-ca", "/nonexistent"], "/nonexistent"),
        (&["--tls-ca", &good, "--tls", "auto"], "no effect without --tls require"),
    ] {
        let output = files.mail(&[&relay[..], more].concat());
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{more:?}: {error}");
        assert!(error.contains(word) && !error.contains("onlyasecret"), "{more:?}: {error}");
    }
    for (relay, word) in [("smtps://127.0.0.1", "--tls off forbids"), ("http://127.0.0.1", "`http://`")] {
        let output = files.mail(&["--test-mode", "--relay", relay, "--tls", "off"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(word), "{}", stderr(&output));
    }
    let output = files.mail(&["--test-mode", "--dns", "127.0.0.1:1", "--auth-file", &credentials]);
    assert!(stderr(&output).contains("credentials need a relay"), "{}", stderr(&output));
}
