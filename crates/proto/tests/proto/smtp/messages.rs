//! What becomes of a message.

use pitot_proto::StoreError;
use proptest::prelude::*;

use super::support::{answers, codes, connect, connect_from, in_message, store};

/// What was stored of the last message, without the fields in front of it.
fn stored(pump: &pitot_proto_harness::Pump<'_>) -> String {
    let message = String::from_utf8(pump.uploads.last().expect("a message").clone()).unwrap();
    let (_, rest) = message.split_once("+0000\n").expect("a Received field");
    rest.to_owned()
}

#[test]
fn a_stored_message_starts_with_its_envelope_and_its_trace() {
    let server = store();
    let mut pump = connect(&server);
    let said = "EHLO client.test\r\nMAIL FROM:<from@a.test>\r\nRCPT TO:<to@b.test>\r\n\
        RCPT TO:<@route.test:\"to o\"@c.test>\r\nDATA\r\nSubject: hello\r\n\r\n..dot\r\n..\r\nend\r\n.\r\n";
    assert_eq!(codes(&mut pump, said), "250 250 250 250 354 250");
    assert_eq!(
        String::from_utf8_lossy(&pump.uploads[0]),
        "Return-Path: <from@a.test>\n\
         Delivered-To: to@b.test\n\
         Delivered-To: \"to o\"@c.test\n\
         Received: from client.test\n\tby mx.test with ESMTP;\n\tSun, 06 Nov 1994 08:49:37 +0000\n\
         Subject: hello\n\n.dot\n.\nend\n"
    );
    let said = "HELO [127.0.0.1]\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\n.\r\n";
    assert_eq!(codes(&mut pump, said), "250 250 250 354 250");
    assert_eq!(
        String::from_utf8_lossy(&pump.uploads[1]),
        "Return-Path: <>\nDelivered-To: postmaster\n\
         Received: from [127.0.0.1]\n\tby mx.test with SMTP;\n\tSun, 06 Nov 1994 08:49:37 +0000\n"
    );
}

#[test]
fn the_trace_has_the_address_of_the_client_where_it_is_known() {
    let server = store();
    for (peer, told) in [
        ("192.0.2.1", "([192.0.2.1])"),
        ("::ffff:192.0.2.1", "([192.0.2.1])"),
        ("2001:db8::1", "([IPv6:2001:db8::1])"),
    ] {
        let mut pump = connect_from(&server, peer.parse().ok());
        let said = "HELO client.test\r\nMAIL FROM:<>\r\nRCPT TO:<postmaster>\r\nDATA\r\n.\r\n";
        assert_eq!(codes(&mut pump, said), "250 250 250 354 250");
        let message = String::from_utf8_lossy(&pump.uploads[0]);
        assert!(
            message.contains(&format!("Received: from client.test {told}\n\tby mx.test with")),
            "{message}"
        );
    }
}

#[test]
fn a_message_of_many_pieces_is_stored_whole() {
    let server = store();
    let mut pump = in_message(&server);
    let line = format!("{}\r\n", "x".repeat(998));
    let text = line.repeat(5_000);
    assert_eq!(codes(&mut pump, &text), "");
    assert!(pump.uploads.is_empty(), "it has not ended");
    assert_eq!(codes(&mut pump, ".\r\nQUIT\r\n"), "250 221");
    assert_eq!(stored(&pump), text.replace('\r', ""));
}

#[test]
fn odd_line_ends_neither_end_a_message_nor_get_through() {
    let smuggled = "MAIL FROM:<evil@a>\r\nRCPT TO:<victim@b>\r\nDATA\r\nEvil\r\n.\r\n";
    for odd in ["\n.\n", "\n.\r\n", "\r.\r\n", "\r\n.\n", "\r.\r", "\n..\r\n", "\r\n.\r\r\n"] {
        let server = store();
        let mut pump = in_message(&server);
        // What is smuggled is part of the message up to its real end, at which the message is refused.
        let said = answers(&mut pump, format!("Subject: x\r\n\r\nBody{odd}{smuggled}"));
        assert!(said.starts_with("554 5.6.0 "), "{}: {said}", odd.escape_debug());
        assert_eq!(said.lines().count(), 1);
        assert!(pump.uploads.is_empty());
        assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\n"), "250", "the session goes on");
    }
}

#[test]
fn a_nul_is_refused_in_commands_and_in_messages() {
    for piece in [1, 7, 1000] {
        let server = store();
        let mut pump = in_message(&server);
        for bytes in b"Subject: x\r\n\r\nBo\0dy\r\n.\r\n".chunks(piece) {
            pump.feed(bytes);
        }
        assert!(answers(&mut pump, "").starts_with("554 5.6.0 "));
        assert!(pump.uploads.is_empty());
        for command in ["NOOP \0", "MAIL FROM:<a\0@b>", "RCPT TO:<c@d>\0", "EHLO a\0b", "\0"] {
            let said = answers(&mut pump, format!("{command}\r\n"));
            assert!(said.starts_with("500 5.5.2 "), "{command:?}: {said}");
        }
        assert_eq!(codes(&mut pump, "MAIL FROM:<a@b>\r\n"), "250", "the session goes on");
    }
}

#[test]
fn a_message_that_cannot_be_stored_is_not_acknowledged() {
    for (error, code) in [(StoreError::NoSpace, "452 4.3.1"), (StoreError::Failed, "451 4.3.0")] {
        let server = store();
        let mut pump = in_message(&server);
        pump.feed(b"first\r\n");
        pump.store_error = Some(error);
        pump.feed(b"second\r\n");
        pump.store_error = None;
        // What follows finds a disk with room again, but a message with a hole in it is none.
        assert!(answers(&mut pump, "third\r\n.\r\n").starts_with(code));
        assert!(pump.uploads.is_empty());
        let again = "MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nagain\r\n.\r\n";
        assert_eq!(codes(&mut pump, again), "250 250 354 250");
        pump.store_error = Some(error);
        let said = answers(&mut pump, "MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nlast\r\n.\r\n");
        assert!(said.lines().last().unwrap().starts_with(code), "{said}");
        assert_eq!(stored(&pump), "again\n");
    }
}

proptest! {
    #[test]
    fn what_a_client_stuffs_is_stored_as_it_was(
        lines in prop::collection::vec("\\.{0,3}[ -~é]{0,30}", 0..20),
        piece in 1..200_usize,
    ) {
        let server = store();
        let mut pump = in_message(&server);
        let mut sent = String::new();
        for line in &lines {
            sent += if line.starts_with('.') { "." } else { "" };
            sent += line;
            sent += "\r\n";
        }
        sent += ".\r\n";
        for piece in sent.as_bytes().chunks(piece) {
            pump.feed(piece);
        }
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(stored(&pump), text);
        prop_assert_eq!(codes(&mut pump, ""), "250");
    }
}
