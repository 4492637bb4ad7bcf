//! `--dry-run`: everything is checked that can be without a network, which is not touched.

use std::net::UdpSocket;
use std::process::{Command, Stdio};

use pitot_needs::needs;
use serde_json::Value;

use super::host::{Host, Script};
use super::{Files, list, recipients};
use crate::support::{stderr, stdout};

#[test]
fn a_dry_run_counts_and_names_the_largest_domains() {
    let host = Host::new(Script::default());
    let files = Files::new(&(list(95, 12) + "A@big.test\na@BIG.test\nb@big.test\na@big.test\n"));
    let big: String = (0..100).map(|n| format!("x{n}@big.test\n")).collect();
    let whole = std::fs::read_to_string(files.path("list")).unwrap() + &big;
    std::fs::write(files.path("list"), whole).unwrap();
    std::fs::write(files.path("message"), "From: me\nDate: now\nSubject: hello\n\nhi\n").unwrap();
    let output = files.mail(&["--dry-run", "--relay", &host.name()]);
    let summary = stdout(&output);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{summary}");
    for line in [
        "recipients in the list             199",
        "duplicates                           1",
        "recipients of a run                198",
        "13 domains, through the relay 127.0.0.1; at least 4 transactions of up to 50 recipients, on up to 100 ",
        "103  big.test",
        "... and 3 more domains",
    ] {
        assert!(summary.contains(line), "{line}:\n{summary}");
    }
    let (report, code) = files.json(&["--dry-run", "--really-send"]);
    assert_eq!((&report["mode"], recipients(&report, "unsettled"), code), (&"dry-run".into(), 198, 0));
    assert_eq!(report["domains"][0]["recipients"], 103);
    assert_eq!(host.seen().connections, 0);
}

#[test]
fn a_dry_run_resolves_no_name_and_asks_no_dns_server() {
    let dns = UdpSocket::bind("127.0.0.1:0").unwrap();
    dns.set_nonblocking(true).unwrap();
    let files = Files::new(&list(10, 5));
    assert_eq!(
        files.mail(&["--dry-run", "--dns", &dns.local_addr().unwrap().to_string()]).status.code(),
        Some(0)
    );
    assert!(dns.recv(&mut [0; 1]).is_err(), "nothing was asked");
    assert_eq!(files.mail(&["--dry-run", "--relay", "no-such-host.invalid"]).status.code(), Some(0));
}

#[needs("strace")]
#[test]
fn a_dry_run_opens_no_socket() {
    let files = Files::new(&list(10, 5));
    let (journal, trace) = (files.journal(), files.path("trace"));
    for more in [&["--dns", "127.0.0.1:1"][..], &["--relay", "localhost:1"], &[]] {
        let mail = files.command(&[&["--dry-run", "--journal", &journal][..], more].concat());
        let mut traced = Command::new("strace");
        traced
            .args(["-f", "-e", "trace=network", "-o"])
            .arg(&trace)
            .arg(mail.get_program())
            .args(mail.get_args());
        assert!(traced.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
        let calls = std::fs::read_to_string(&trace).unwrap();
        assert!(calls.lines().all(|line| line.contains("+++ exited")), "{calls}");
    }
    assert!(!files.path("journal").exists());
}

#[test]
fn bad_lines_are_counted_and_are_a_mistake() {
    let files = Files::new("a@x.test\nno address\nb@@x.test\n");
    std::fs::write(files.path("message"), "From: me\nDate: now\n\n").unwrap();
    let output = files.mail(&["--dry-run"]);
    let errors: Vec<&str> = stderr(&output).lines().collect();
    assert_eq!((output.status.code(), errors.len()), (Some(2), 4), "{errors:?}");
    assert!(errors[0].starts_with("pitot: line 2 of the list is not an address: "), "{errors:?}");
    assert!(errors[1].starts_with("pitot: line 3 of the list is not an address: "), "{errors:?}");
    assert!(errors[2].contains("2 lines of the list are not addresses"), "{errors:?}");
    assert!(stdout(&output).contains("recipients of a run                  1"), "{}", stdout(&output));
}

#[test]
fn what_a_run_would_refuse_a_dry_run_refuses_too() {
    let files = Files::new("a@x.test\n");
    std::fs::write(files.path("other"), "not a journal\n").unwrap();
    std::fs::write(files.path("empty"), "").unwrap();
    std::fs::write(files.path("bad-message"), "hello\n").unwrap();
    let path = |name: &str| files.path(name).display().to_string();
    for (arguments, word) in [
        (["--journal", &path("other")], "is not a journal of this message"),
        (["--journal", "/nonexistent/journal"], "cannot use the journal"),
        (["--journal", "/dev/null"], "is not a regular file"),
        (["--relay", "127.1"], "is not a full IP address"),
        (["--tls-ca", &path("empty")], "there are none"),
        (["-c", "0"], "connections is 0"),
    ] {
        let output = files.mail(&[&["--dry-run"][..], &arguments].concat());
        let error = stderr(&output);
        assert!(output.status.code() == Some(2) && error.contains(word), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty());
    }
    std::fs::write(files.path("message"), "hello\n").unwrap();
    assert!(stderr(&files.mail(&["--dry-run"])).contains("line 1 is not a header field"));
    std::fs::write(files.path("list"), "# nobody\n").unwrap();
    std::fs::write(files.path("message"), "Subject: x\n\n").unwrap();
    let output = files.mail(&["--dry-run"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("is empty"));
}

#[test]
fn a_dry_run_says_what_the_journal_settles_and_what_the_header_lacks() {
    let host = Host::new(Script::default());
    let files = Files::new(&list(10, 2));
    let journal = files.journal();
    for mode in ["--really-send", "--test-mode"] {
        let _ = std::fs::remove_file(files.path("journal"));
        assert_eq!(files.json(&[mode, "--relay", &host.name(), "--journal", &journal]).1, 0);
        std::fs::write(files.path("list"), list(12, 2)).unwrap();
        let before = std::fs::read(files.path("journal")).unwrap();
        let output = files.mail(&["--dry-run", "--journal", &journal, "--json", "-"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let counts = ["settled_before", "unsettled"].map(|name| recipients(&report, name));
        assert_eq!((counts, output.status.code()), ([10, 2], Some(0)), "{report}");
        let notes = stderr(&output);
        assert!(notes.contains("no From field") && notes.contains("no Date field"), "{notes}");
        assert_eq!(std::fs::read(files.path("journal")).unwrap(), before);
        std::fs::write(files.path("list"), list(10, 2)).unwrap();
    }
}
