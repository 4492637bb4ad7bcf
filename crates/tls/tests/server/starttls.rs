//! STARTTLS (RFC 3207).

use std::sync::Arc;

use pitot_proto::smtp::{Smtp, SmtpOptions};
use pitot_proto_harness::{End, Pump};

use crate::client::{Client, VERSIONS, config, layers, site};

fn smtp() -> Smtp {
    Smtp::new(&SmtpOptions { starttls: true, store: true, ..SmtpOptions::default() }).unwrap()
}

fn client(version: &'static rustls::SupportedProtocolVersion) -> Client {
    let mut config = config(version);
    config.alpn_protocols.clear();
    Client::new(&Arc::new(config))
}

#[test]
fn a_session_begins_anew_after_starttls() {
    let (_, files) = site();
    for version in VERSIONS {
        for at_a_time in [1, 7, usize::MAX] {
            let smtp = smtp();
            let mut pump = Pump::with_layers(&smtp, &files, layers(), true);
            pump.feed(b"EHLO first.test\r\nMAIL FROM:<a@b>\r\nSTARTTLS\r\n");
            let said = String::from_utf8(std::mem::take(&mut pump.sent)).unwrap();
            assert!(said.contains("250-STARTTLS\r\n") && said.ends_with("220 2.0.0 Begin TLS\r\n"), "{said}");
            let mut client = client(version);
            client.say(
                b"MAIL FROM:<a@b>\r\nEHLO c\r\nSTARTTLS\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\nhi\r\n.\r\nQUIT\r\n",
            );
            client.talk(&mut pump, at_a_time);
            let said = String::from_utf8(client.got).unwrap();
            assert!(said.starts_with("503 5.5.1 Send EHLO first\r\n250-localhost\r\n"), "{said}");
            assert!(
                !said.contains("STARTTLS") && said.contains("\r\n503 5.5.1 TLS is already active"),
                "{said}"
            );
            assert!(said.ends_with("250 2.6.0 Message accepted\r\n221 2.0.0 Bye\r\n"), "{said}");
            assert_eq!((pump.end, client.closed, pump.worker.tally.handshakes), (Some(End::Closed), true, 1));
            assert!(String::from_utf8_lossy(&pump.uploads[0]).contains(" with ESMTPS;"));
        }
    }
}

/// CVE-2011-0411: commands that somebody puts behind STARTTLS in clear text must not be taken for the client's own.
#[test]
fn commands_behind_starttls_are_no_commands() {
    let (_, files) = site();
    let smtp = smtp();
    let injected: [&[&[u8]]; 2] = [
        &[b"EHLO c\r\nSTARTTLS\r\nMAIL FROM:<evil@b>\r\nRCPT TO:<c@d>\r\n"],
        &[b"EHLO c\r\nSTARTTLS\r\n", b"MAIL FROM:<evil@b>\r\n"],
    ];
    for pieces in injected {
        for room in [0, u64::MAX] {
            let mut pump = Pump::with_layers(&smtp, &files, layers(), true);
            pump.room = room;
            for piece in pieces {
                pump.feed(piece);
            }
            pump.make_room(u64::MAX);
            let said = String::from_utf8(pump.sent.clone()).unwrap();
            assert!(said.contains("220 2.0.0 Begin TLS\r\n554 5.7.0"), "{said}");
            assert_eq!((pump.end, pump.worker.tally.layer_absent), (Some(End::Closed), 1));
        }
    }
}

#[test]
fn a_handshake_that_comes_along_with_starttls_is_taken() {
    let (_, files) = site();
    let smtp = smtp();
    let mut pump = Pump::with_layers(&smtp, &files, layers(), true);
    let mut client = client(VERSIONS[1]);
    pump.sent.clear();
    let before = b"EHLO c\r\nSTARTTLS\r\n";
    pump.feed(&[&before[..], &client.records()].concat());
    let hello = pump.sent.windows(20).position(|bytes| bytes == b"220 2.0.0 Begin TLS\r").unwrap() + 21;
    pump.sent.drain(..hello);
    client.talk(&mut pump, 10);
    assert_eq!((client.error, pump.worker.tally.handshakes), (None, 1));
}

#[test]
fn starttls_is_refused_where_there_is_no_certificate() {
    let (_, files) = site();
    let smtp = Smtp::new(&SmtpOptions::default()).unwrap();
    let mut pump = Pump::new(&smtp, &files);
    pump.feed(b"EHLO c\r\nSTARTTLS\r\nSTARTTLS now\r\n");
    let said = String::from_utf8(pump.sent.clone()).unwrap();
    assert!(
        !said.contains("250-STARTTLS") && said.ends_with("502 5.5.1 Command not supported\r\n"),
        "{said}"
    );
}
