//! What is answered to which command, and when.

use pitot_proto_harness::End;

use super::support::{answers, codes, connect, sink, store};

/// Plays lines of a client and of the server, `C: ` and `S: `, the way an RFC tells them.
fn play(transcript: &str) {
    let server = sink();
    let mut pump = pitot_proto_harness::Pump::new(&server, &super::support::NO_FILES);
    let mut said = String::new();
    for line in transcript.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (who, text) = line.split_at(3);
        match who {
            "C: " | "C:" => {
                assert_eq!(said, "", "before {line}");
                said = answers(&mut pump, format!("{text}\r\n"));
            }
            "S: " => {
                said += &answers(&mut pump, "");
                let (first, rest) = said.split_once("\r\n").unwrap_or_else(|| panic!("no answer for {line}"));
                assert_eq!(first, text);
                said = rest.to_owned();
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(said, "");
}

#[test]
fn a_session_as_the_standard_tells_it() {
    play(
        "S: 220 localhost ESMTP Pitot
         C: EHLO bar.test
         S: 250-localhost
         S: 250-PIPELINING
         S: 250-SIZE 10485760
         S: 250-8BITMIME
         S: 250-SMTPUTF8
         S: 250-ENHANCEDSTATUSCODES
         S: 250 HELP
         C: MAIL FROM:<Smith@bar.test> SIZE=1000 BODY=8BITMIME
         S: 250 2.1.0 Ok
         C: RCPT TO:<Jones@foo.test>
         S: 250 2.1.5 Ok
         C: RCPT TO:<Brown@foo.test>
         S: 250 2.1.5 Ok
         C: DATA
         S: 354 End with a line that contains only a dot
         C: Blah blah blah...
         C: ...etc. etc. etc.
         C: .
         S: 250 2.6.0 Message accepted
         C: QUIT
         S: 221 2.0.0 Bye",
    );
}

#[test]
fn a_session_of_an_old_client() {
    play(
        "S: 220 localhost ESMTP Pitot
         C: HELO bar
         S: 250 localhost
         C: mail from:<>
         S: 250 2.1.0 Ok
         C: rcpt to:<Postmaster>
         S: 250 2.1.5 Ok
         C: rset
         S: 250 2.0.0 Ok
         C: noop what is said here counts for nothing
         S: 250 2.0.0 Ok
         C: vrfy Smith
         S: 252 2.5.0 Cannot verify, but mail for any recipient is accepted
         C: help
         S: 214 2.0.0 EHLO HELO MAIL RCPT DATA RSET NOOP VRFY HELP QUIT
         C: mail from:<a@b> SIZE=1
         S: 555 5.5.4 Unknown parameter
         C: quit
         S: 221 2.0.0 Bye",
    );
}

#[test]
fn commands_out_of_order_are_refused_and_change_nothing() {
    let mut pump = connect(&sink());
    assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\n"), "503 503 503");
    assert_eq!(codes(&mut pump, "RSET\r\nNOOP\r\nHELP\r\nVRFY a\r\n"), "250 250 214 252");
    assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\n"), "503", "RSET is no greeting");
    assert_eq!(codes(&mut pump, "EHLO c\r\nRCPT TO:<a@b>\r\nDATA\r\n"), "250 503 503");
    assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\nMAIL FROM:<c@d>\r\nDATA\r\n"), "250 503 503");
    assert_eq!(codes(&mut pump, "RCPT TO:<a@b>\r\nMAIL FROM:<c@d>\r\n"), "250 503");
    // A bad recipient does not take the good one away; RSET and EHLO do.
    assert_eq!(codes(&mut pump, "RCPT TO:<>\r\nDATA x\r\nRSET\r\nDATA\r\n"), "501 501 250 503");
    assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nEHLO c\r\nDATA\r\n"), "250 250 250 503");
    // After a message the next transaction starts from nothing.
    let message = "MAIL FROM:<a@b>\r\nRCPT TO:<a@b>\r\nDATA\r\n.\r\nRCPT TO:<a@b>\r\nDATA\r\n";
    assert_eq!(codes(&mut pump, message), "250 250 354 250 503 503");
    assert_eq!(codes(&mut pump, "QUIT now\r\nQUIT\r\n"), "501 221");
    assert_eq!(pump.end, Some(End::Closed));
}

#[test]
fn what_is_wrong_with_a_command_is_told_by_its_code() {
    for (command, code) in [
        ("FOO", "500 5.5.1"),
        ("", "500 5.5.1"),
        ("EHLO", "501 5.5.4"),
        ("EHLO a b", "501 5.5.4"),
        ("HELO a\u{e9}", "501 5.5.4"),
        ("VRFY", "501 5.5.4"),
        ("RSET now", "501 5.5.4"),
        ("MAIL", "501 5.5.4"),
        ("MAIL TO:<a@b>", "501 5.5.4"),
        ("MAIL FROM:a@b", "501 5.1.7"),
        ("MAIL FROM:<a@b> SIZE=x", "501 5.5.4"),
        ("MAIL FROM:<a@b> SIZE=99999999", "552 5.3.4"),
        ("MAIL FROM:<a@b> FOO", "555 5.5.4"),
        ("MAIL FROM:<\u{e9}@b>", "553 5.6.7"),
        ("EXPN list", "502 5.5.1"),
        ("STARTTLS", "502 5.5.1"),
        ("AUTH PLAIN", "502 5.5.1"),
        ("NOOP a\rb", "500 5.5.2"),
    ] {
        let mut pump = connect(&sink());
        answers(&mut pump, "EHLO c\r\n");
        let said = answers(&mut pump, format!("{command}\r\n"));
        assert!(said.starts_with(code), "{command}: {said}");
        assert_eq!(codes(&mut pump, "NOOP\r\n"), "250");
    }
    for (command, code) in
        [("RCPT TO:a@b", "501 5.1.3"), ("RCPT TO:<\u{e9}@b>", "553 5.6.7"), ("RCPT TO:<a@b> X", "555 5.5.4")]
    {
        let mut pump = connect(&sink());
        answers(&mut pump, "EHLO c\r\nMAIL FROM:<a@b>\r\n");
        assert!(answers(&mut pump, format!("{command}\r\n")).starts_with(code), "{command}");
    }
}

#[test]
fn addresses_in_utf8_need_to_be_announced() {
    let mut pump = connect(&sink());
    let said = "EHLO c\r\nMAIL FROM:<grün@straße.test> SMTPUTF8\r\nRCPT TO:<用户@例子.test>\r\n";
    assert_eq!(codes(&mut pump, said), "250 250 250");
    // The announcement is for one transaction.
    assert_eq!(codes(&mut pump, "RSET\r\nMAIL FROM:<a@b>\r\nRCPT TO:<用户@例子.test>\r\n"), "250 250 553");
    pump.feed(b"RCPT TO:<\xff@b>\r\n");
    assert!(pump.sent.starts_with(b"501 5.1.3"));
}

#[test]
fn a_whole_session_may_come_in_one_piece() {
    let server = store();
    let mut pump = connect(&server);
    let session = "EHLO c\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nOne\r\n.\r\n\
        MAIL FROM:<a@b>\r\nRCPT TO:<e@f>\r\nDATA\r\nTwo\r\n.\r\nQUIT\r\nNOOP\r\n";
    assert_eq!(codes(&mut pump, session), "250 250 250 354 250 250 250 354 250 221");
    assert_eq!((pump.uploads.len(), pump.replies(), pump.end), (2, 10, Some(End::Closed)));
}

#[test]
fn a_server_that_stops_says_so() {
    let server = store();
    let mut pump = connect(&server);
    answers(&mut pump, "EHLO c\r\n");
    pump.worker.stopping = true;
    assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\n"), "421");
    assert_eq!(pump.end, Some(End::Closed));

    let mut pump = connect(&server);
    pump.worker.stopping = true;
    assert_eq!(codes(&mut pump, "QUIT\r\n"), "221");

    // A message on its way is taken first.
    let mut pump = super::support::in_message(&server);
    pump.worker.stopping = true;
    assert_eq!(codes(&mut pump, "line\r\n"), "");
    assert_eq!(codes(&mut pump, ".\r\n"), "250 421");
    assert_eq!((pump.uploads.len(), pump.end), (1, Some(End::Closed)));

    let mut pump = connect(&server);
    pump.worker.stopping = true;
    pump.dismiss();
    assert!(answers(&mut pump, "").starts_with("421 4.3.2 "));
}

#[test]
fn a_client_that_takes_too_long_gets_a_reply() {
    let server = store();
    let mut pump = super::support::in_message(&server);
    pump.feed(b"half a message\r\n");
    pump.expire();
    assert!(answers(&mut pump, "").starts_with("421 4.4.2 "));
    assert!(pump.uploads.is_empty());
    let mut pump = connect(&server);
    pump.dismiss();
    assert!(answers(&mut pump, "").starts_with("421 4.4.2 "));
}
