//! Handshakes: full, resumed, of wrong clients, and of none.

use std::sync::Arc;

use pitot_proto::Phase;
use pitot_proto::busy;
use pitot_proto_harness::{End, Pump};
use rustls::version::TLS13;
use rustls::{AlertDescription, Error};

use crate::client::{Client, VERSIONS, config, layers, layers_with, site};

const GET: &[u8] = b"GET /small.txt HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

#[test]
fn sessions_are_resumed_by_every_process_with_the_secret_and_by_no_other() {
    let (http, files) = site();
    for version in VERSIONS {
        let config = Arc::new(config(version));
        for (secret, resumed) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
            let mut client = Client::new(&config);
            let mut pump = Pump::with_layers(&http, &files, layers_with(secret), false);
            client.say(GET);
            client.talk(&mut pump, 100);
            assert!(client.got.ends_with(b"small"));
            let tally = pump.worker.tally;
            assert_eq!((tally.handshakes, tally.handshakes_resumed), (1, resumed), "{version:?} {secret}");
        }
    }
}

#[test]
fn a_handshake_that_ends_anywhere_is_counted_and_answered_by_nothing_but_the_handshake() {
    let (http, files) = site();
    for version in VERSIONS {
        let hello = Client::of(version).records();
        for len in 0..hello.len() {
            let mut pump = Pump::with_layers(&http, &files, layers(), false);
            pump.feed(&hello[..len]);
            assert_eq!(pump.phase(), if len == 0 { Phase::Idle } else { Phase::Head });
            assert_eq!(pump.is_idle(), len == 0);
            pump.end_of_input();
            let tally = pump.worker.tally;
            assert_eq!((pump.end, pump.sent_len), (Some(End::Closed), 0));
            assert_eq!((tally.handshake_ended, tally.ended_early), (u64::from(len > 0), 0));
        }
    }
}

#[test]
fn a_client_that_stops_in_a_handshake_has_the_time_of_a_head_and_one_that_does_not_begin_that_of_idleness() {
    let (http, files) = site();
    let mut pump = Pump::with_layers(&http, &files, layers(), false);
    pump.feed(&Client::of(&TLS13).records());
    assert_eq!(pump.phase(), Phase::Head);
    pump.expire();
    let tally = pump.worker.tally;
    assert_eq!((pump.end, tally.handshake_timed_out, tally.timed_out_request), (Some(End::Closed), 1, 0));

    let mut pump = Pump::with_layers(&http, &files, layers(), false);
    pump.expire();
    assert_eq!((pump.end, pump.sent_len, pump.worker.tally.timed_out_idle), (Some(End::Closed), 0, 1));
}

#[test]
fn plain_http_is_answered_400_and_other_garbage_by_an_alert() {
    let (http, files) = site();
    let mut pump = Pump::with_layers(&http, &files, layers(), false);
    pump.feed(GET);
    assert!(pump.sent.starts_with(b"HTTP/1.1 400 "), "{}", pump.sent.escape_ascii());
    assert_eq!((pump.end, pump.worker.tally.layer_absent), (Some(End::Closed), 1));
    for garbage in [&b"\0\0\0\0\0\0\0\0"[..], b"\x16\x03\x01\xff\xff\xff\xff", &[0x80; 99]] {
        let mut pump = Pump::with_layers(&http, &files, layers(), false);
        pump.feed(garbage);
        assert_eq!((pump.sent.first(), pump.end), (Some(&21), Some(End::Closed)), "{garbage:?}");
        assert_eq!(pump.worker.tally.layer_malformed, 1);
    }
}

#[test]
fn no_change_to_a_handshake_harms_the_server() {
    let (http, files) = site();
    for version in VERSIONS {
        let hello = Client::of(version).records();
        for i in 0..hello.len() {
            for change in [1, 0x80, 0xff] {
                let mut changed = hello.clone();
                changed[i] ^= change;
                let mut pump = Pump::with_layers(&http, &files, layers(), false);
                pump.feed(&changed);
                pump.end_of_input();
                assert_eq!(pump.end, Some(End::Closed));
                assert_eq!(pump.worker.tally.handshakes, 0);
            }
        }
    }
}

#[test]
fn a_client_with_nothing_in_common_is_told_so() {
    let (http, files) = site();
    let mut config = config(&TLS13);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let mut client = Client::new(&Arc::new(config));
    let mut pump = Pump::with_layers(&http, &files, layers(), false);
    client.talk(&mut pump, 10);
    assert_eq!(client.error, Some(Error::AlertReceived(AlertDescription::NoApplicationProtocol)));
    assert_eq!((pump.end, pump.worker.tally.layer_incompatible), (Some(End::Closed), 1));
}

#[test]
fn a_client_that_does_not_trust_the_certificate_is_counted() {
    let (http, files) = site();
    for version in VERSIONS {
        let mut config = config(version);
        let nobody = rustls::RootCertStore::empty();
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(config.crypto_provider()));
        config = builder
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(nobody)
            .with_no_client_auth();
        let mut client = Client::new(&Arc::new(config));
        let mut pump = Pump::with_layers(&http, &files, layers(), false);
        client.talk(&mut pump, usize::MAX);
        client.talk(&mut pump, usize::MAX);
        assert!(client.error.is_some());
        assert_eq!((pump.end, pump.worker.tally.layer_refused), (Some(End::Closed), 1));
    }
}

#[test]
fn a_protocol_that_speaks_at_once_is_heard_after_the_handshake() {
    let (_, files) = site();
    for version in VERSIONS {
        let mut config = config(version);
        config.alpn_protocols.clear();
        let mut client = Client::new(&Arc::new(config));
        let mut pump = Pump::with_layers(&busy::Busy, &files, layers(), false);
        client.talk(&mut pump, 10);
        assert!(client.got.starts_with(b"450 "), "{:?}", client.error);
        assert_eq!((pump.end, client.closed), (Some(End::Closed), true));
        // One that ends instead gets nothing, and sees that there was something.
        let mut pump = Pump::with_layers(&busy::Busy, &files, layers(), false);
        pump.end_of_input();
        assert_eq!((pump.end, pump.sent_len), (Some(End::Reset), 0));
    }
}
