//! What is bounded.

use pitot_proto::ViolationKind;
use pitot_proto::smtp::{LINE_BYTES_MAX, Smtp, SmtpOptions};
use pitot_proto_harness::End;

use super::support::{answers, codes, connect, in_message, sink, storing};

#[test]
fn a_message_over_the_limit_is_refused_at_its_end_and_not_kept() {
    let server = Smtp::new(&SmtpOptions { message_bytes_max: 100, ..storing() }).unwrap();
    for (len, code) in [(100, "250"), (101, "552")] {
        let mut pump = in_message(&server);
        // Stuffed dots do not count, line ends count two.
        let text = format!("..{}\r\n.\r\n", "x".repeat(len - 3));
        for byte in text.as_bytes() {
            pump.feed(&[*byte]);
        }
        assert_eq!(codes(&mut pump, "NOOP\r\n"), format!("{code} 250"));
        assert_eq!(pump.uploads.len(), usize::from(code == "250"));
    }
    let mut pump = connect(&server);
    let said = "EHLO c\r\nMAIL FROM:<a@b> SIZE=101\r\nMAIL FROM:<a@b> SIZE=100\r\n";
    assert_eq!(codes(&mut pump, said), "250 552 250");
}

#[test]
fn recipients_over_the_limit_are_told_to_come_later() {
    let server = Smtp::new(&SmtpOptions { recipients_max: 3, errors_max: 2, ..storing() }).unwrap();
    let mut pump = connect(&server);
    assert_eq!(codes(&mut pump, "EHLO c\r\nMAIL FROM:<a@b>\r\n"), "250 250");
    let rcpt = "RCPT TO:<a@b>\r\n".repeat(6);
    assert_eq!(codes(&mut pump, rcpt), "250 250 250 452 452 452", "these are no errors of the client");
    assert_eq!(codes(&mut pump, "DATA\r\n.\r\n"), "354 250");
    assert_eq!(String::from_utf8_lossy(&pump.uploads[0]).matches("Delivered-To").count(), 3);
}

#[test]
fn a_line_over_the_limit_is_refused_once_and_skipped() {
    let longest = format!("NOOP {}\r\n", "x".repeat(LINE_BYTES_MAX - 7));
    assert_eq!(longest.len(), LINE_BYTES_MAX);
    assert_eq!(codes(&mut connect(&sink()), &longest), "250");
    for extra in [1, 10, 100_000] {
        let mut pump = connect(&sink());
        let line = format!("NOOP {}\r\nNOOP\r\n", "x".repeat(LINE_BYTES_MAX - 7 + extra));
        assert_eq!(codes(&mut pump, line), "500 250");
    }
}

#[test]
fn errors_over_the_limit_end_the_session() {
    let server = Smtp::new(&SmtpOptions { errors_max: 5, ..SmtpOptions::default() }).unwrap();
    let mut pump = connect(&server);
    assert_eq!(codes(&mut pump, "FOO\r\n".repeat(4) + "NOOP\r\n"), "500 500 500 500 250");
    assert_eq!(codes(&mut pump, "DATA\r\nNOOP\r\n"), "503 421");
    assert_eq!(pump.end, Some(End::Violation(ViolationKind::Malformed)));
    // A browser that was led here gives up soon.
    let mut pump = connect(&sink());
    let request = format!("POST / HTTP/1.1\r\n{}\r\nMAIL FROM:<a@b>\r\n", "X-Field: 1\r\n".repeat(30));
    assert!(answers(&mut pump, request).ends_with("421 4.7.0 Too many errors\r\n"));
}

#[test]
fn options_that_leave_nothing_to_serve_are_refused() {
    let default = SmtpOptions::default;
    for wrong in [
        SmtpOptions { name: "two words".into(), ..default() },
        SmtpOptions { name: String::new(), ..default() },
        SmtpOptions { message_bytes_max: 0, ..default() },
        SmtpOptions { recipients_max: 0, ..default() },
        SmtpOptions { errors_max: 0, ..default() },
    ] {
        assert!(Smtp::new(&wrong).is_err(), "{wrong:?}");
    }
}
