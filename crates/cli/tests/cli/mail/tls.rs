//! STARTTLS: taken up where it works, insisted on where that is asked for.

use pitot_needs::needs;

use super::host::{Host, Script, Tls, self_signed};
use super::{Files, list, recipients};

#[test]
fn a_host_that_offers_starttls_is_talked_to_in_private() {
    let host = Host::new(Script { tls: Some(self_signed()), ..Script::default() });
    let files = Files::new(&list(100, 10));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name(), "-c", "5"]);
    assert_eq!((recipients(&report, "sent"), code), (100, 0), "{report}");
    // A connection may still be on its way to privacy when the last recipient is done, but none has said anything.
    assert!(report["connections"]["tls"].as_u64() >= Some(1), "{report}");
    let seen = host.seen();
    assert_eq!(seen.begun_in_clear, 0);
    assert!(
        seen.private_commands >= 100 && seen.messages.iter().all(|m| m.starts_with(b"Subject: hello\r\n"))
    );
}

#[needs("ca-certificates")]
#[test]
fn a_certificate_that_nobody_signed_is_refused_where_tls_is_required() {
    let host = Host::new(Script { tls: Some(self_signed()), ..Script::default() });
    let plain = Host::new(Script::default());
    for host in [&host, &plain] {
        let files = Files::new(&list(5, 1));
        let arguments = ["--really-send", "--relay", &host.name(), "--tls", "require", "--retries", "0"];
        let output = files.mail(&[&arguments[..], &["--json", "-"]].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        let report = serde_json::from_slice(&output.stdout).expect(&error);
        assert_eq!((recipients(&report, "gave_up"), output.status.code()), (5, Some(1)), "{report}");
        assert!(host.seen().messages.is_empty());
    }
}

#[test]
fn a_host_whose_tls_is_broken_is_talked_to_without_it_unless_required() {
    let host = Host::new(Script { tls: Some(Tls::Broken), ..Script::default() });
    let files = Files::new(&list(10, 2));
    let (report, code) = files.json(&["--really-send", "--relay", &host.name()]);
    assert_eq!((recipients(&report, "sent"), code), (10, 0), "{report}");
    assert_eq!(report["connections"]["tls"], 0);
    let seen = host.seen();
    assert_eq!((seen.private_commands, seen.begun_in_clear > 0), (0, true));
}

#[test]
fn off_is_off() {
    let host = Host::new(Script { tls: Some(self_signed()), ..Script::default() });
    let files = Files::new(&list(10, 2));
    let (report, _) = files.json(&["--really-send", "--relay", &host.name(), "--tls", "off"]);
    assert_eq!((recipients(&report, "sent"), host.seen().private_commands), (10, 0), "{report}");
}
