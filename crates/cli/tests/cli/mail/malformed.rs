//! Messages that no host should see are refused before anything is sent.

use super::host::{Host, Script};
use super::{Files, recipients};
use crate::support::stderr;

#[test]
fn a_malformed_message_is_refused_with_its_line_before_a_connection_is_opened() {
    let host = Host::new(Script::default());
    let long = format!("Subject: hello\n\n{}\n", "x".repeat(999));
    for (message, line, word) in [
        (long.as_bytes(), 3, "999 bytes"),
        (b"Subject: hello\n\na\0b\n", 3, "NUL"),
        (b"hello\n\nworld\n", 1, "no header"),
        (b"Subject: hello\nworld\n\n", 2, "is not a header field"),
        (b"From: me\nSubject: gr\xc3\xbcn\n\n", 2, "bytes above 127"),
    ] {
        let files = Files::new("a@b.test\n");
        std::fs::write(files.path("message"), message).unwrap();
        let output = files.mail(&["--really-send", "--relay", &host.name(), "--journal", &files.journal()]);
        let error = stderr(&output);
        assert_eq!((output.status.code(), error.lines().count()), (Some(2), 2), "{error}");
        assert!(error.contains(&format!("line {line} ")) && error.contains(word), "{error}");
        assert!(!files.path("journal").exists());
    }
    assert_eq!(host.seen().connections, 0);
}

#[test]
fn a_header_in_utf8_goes_to_hosts_that_offer_smtputf8_and_to_no_others() {
    for (offers, sent) in [(&["PIPELINING", "8BITMIME", "SMTPUTF8"][..], 1), (&["8BITMIME"], 0)] {
        let host = Host::new(Script { offers, ..Script::default() });
        let files = Files::new("a@b.test\n");
        std::fs::write(files.path("message"), "Subject: gr\u{fc}n\n\nhi\n").unwrap();
        let (report, _) = files.json(&["--really-send", "--relay", &host.name(), "--smtputf8"]);
        assert_eq!(
            (recipients(&report, "sent"), recipients(&report, "refused")),
            (sent, 1 - sent),
            "{report}"
        );
        let enhanced = &report["outcomes"][0]["enhanced"];
        assert!(sent == 1 || enhanced == "5.6.7", "{report}");
    }
}
