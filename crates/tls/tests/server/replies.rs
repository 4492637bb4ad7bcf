//! What a protocol says arrives as it would without TLS.

use std::sync::Arc;

use pitot_proto::{FileFailure, OpenError, Tick};
use pitot_proto_harness::{End, Pump, exchange};
use proptest::collection::vec;
use proptest::prelude::*;
use rustls::ConnectionTrafficSecrets;
use rustls::version::TLS13;

use crate::client::{Client, VERSIONS, config, connected, layers, site};

const REQUESTS: &[u8] = b"GET /small.txt HTTP/1.1\r\nHost: h\r\n\r\nGET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n\
    POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n12345GET /bytes/100000 HTTP/1.1\r\nHost: h\r\n\r\n\
    GET /disk.bin HTTP/1.1\r\nHost: h\r\nRange: bytes=70000-70009\r\nConnection: close\r\n\r\n";
const GET_DISK: &[u8] = b"GET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n";

#[test]
fn replies_are_the_same_however_records_are_split() {
    let (http, files) = site();
    let mut plain = Pump::new(&http, &files);
    plain.kept_max = usize::MAX;
    plain.feed(REQUESTS);
    for version in VERSIONS {
        for at_a_time in [1, 2, 3, 5, 7, 64, 100, 1000, 16_000, usize::MAX] {
            let mut client = Client::of(version);
            let mut pump = Pump::with_layers(&http, &files, layers(), false);
            pump.kept_max = usize::MAX;
            pump.read_max = 9_000;
            client.say(REQUESTS);
            client.talk(&mut pump, at_a_time);
            assert!(client.got == plain.sent, "{version:?} {at_a_time}: {} bytes", client.got.len());
            let tally = pump.worker.tally;
            assert_eq!((tally.handshakes, tally.handshakes_resumed, tally.replies), (1, 0, 5));
            assert_eq!((pump.end, client.closed), (Some(End::Closed), true), "it says that nothing follows");
            assert_eq!(client.tls.alpn_protocol(), Some(&b"http/1.1"[..]));
        }
    }
}

proptest! {
    #[test]
    fn the_pace_of_a_client_changes_no_reply(steps in vec((1..3000_usize, 0..9000_u64, 1..5000_u64), 1..60)) {
        let (http, files) = site();
        let expected = exchange(&http, &files, [REQUESTS]).sent;
        let mut client = Client::of(&TLS13);
        let mut pump = Pump::with_layers(&http, &files, layers(), false);
        (pump.kept_max, pump.read_max) = (usize::MAX, 50_000);
        client.say(REQUESTS);
        let mut input: Vec<u8> = Vec::new();
        for (len, room, send_max) in steps {
            input.extend(client.records());
            let len = len.min(input.len());
            pump.send_max = send_max;
            pump.feed(&input[..len]);
            input.drain(..len);
            pump.make_room(room);
            client.take(&pump);
        }
        pump.make_room(u64::MAX);
        pump.feed(&input);
        client.take(&pump);
        client.talk(&mut pump, 1000);
        prop_assert!(client.got == expected);
    }
}

#[test]
fn a_slow_reader_costs_a_few_records_of_memory() {
    let (http, files) = site();
    let mut client = Client::of(&TLS13);
    let mut pump = connected(&http, &files, &mut client);
    pump.room = 0;
    client.say(b"GET /bytes/1000000000 HTTP/1.1\r\nHost: h\r\n\r\n");
    client.talk(&mut pump, usize::MAX);
    for _ in 0..100 {
        pump.make_room(10_000);
        assert!(pump.waiting() < (64 << 10) + 17_000, "{} bytes wait for the socket", pump.waiting());
    }
}

#[test]
fn a_file_that_cannot_be_read_is_answered_by_an_error_or_a_reset() {
    let (http, files) = site();
    for version in VERSIONS {
        let mut client = Client::of(version);
        let mut pump = connected(&http, &files, &mut client);
        pump.file_failure = Some(FileFailure::Unreadable(OpenError::Unavailable));
        client.say(GET_DISK);
        client.talk(&mut pump, usize::MAX);
        assert!(client.got.starts_with(b"HTTP/1.1 503"));
        assert_eq!((pump.end, client.closed), (Some(End::Closed), true));

        let mut client = Client::of(version);
        let mut pump = connected(&http, &files, &mut client);
        pump.read_max = 20_000;
        pump.room = 10_000;
        client.say(GET_DISK);
        client.talk(&mut pump, usize::MAX);
        pump.file_failure = Some(FileFailure::Truncated);
        pump.make_room(u64::MAX);
        client.take(&pump);
        assert_eq!(
            (pump.end, client.closed),
            (Some(End::Reset), false),
            "the client must not take it for all"
        );
    }
}

#[test]
fn a_client_that_ends_behind_its_request_gets_the_reply() {
    let (http, files) = site();
    for version in VERSIONS {
        let mut client = Client::of(version);
        let mut pump = connected(&http, &files, &mut client);
        client.say(GET_DISK);
        client.tls.send_close_notify();
        client.talk(&mut pump, usize::MAX);
        assert!(client.got.len() > 150_000 && client.closed);
        assert_eq!((pump.end, pump.worker.tally.ended_early), (Some(End::Closed), 0));
    }
}

#[test]
fn a_record_that_does_not_arrive_has_the_deadline_of_a_head_and_an_idle_connection_its_own() {
    let (http, files) = site();
    let mut client = Client::of(&TLS13);
    let mut pump = connected(&http, &files, &mut client);
    assert!(pump.is_idle());
    client.say(GET_DISK);
    let records = client.records();
    pump.feed(&records[..20]);
    assert!(!pump.is_idle() && pump.mid_request());
    let deadline = pump.deadline();
    pump.worker.now = Tick::START.after(std::time::Duration::from_secs(5));
    pump.feed(&records[20..30]);
    assert_eq!(pump.deadline(), deadline, "progress does not buy time");
    pump.end_of_input();
    assert_eq!((pump.end, pump.worker.tally.ended_early), (Some(End::Closed), 1));

    let mut client = Client::of(&TLS13);
    let mut pump = connected(&http, &files, &mut client);
    pump.expire();
    client.take(&pump);
    assert_eq!((pump.end, client.closed, pump.worker.tally.timed_out_idle), (Some(End::Closed), true, 1));
}

#[test]
fn a_record_that_was_changed_on_its_way_ends_the_connection_with_an_alert() {
    let (http, files) = site();
    for version in VERSIONS {
        let mut client = Client::of(version);
        let mut pump = connected(&http, &files, &mut client);
        client.say(GET_DISK);
        let mut records = client.records();
        *records.last_mut().unwrap() ^= 1;
        pump.feed(&records);
        client.take(&pump);
        assert_eq!(client.error, Some(rustls::Error::AlertReceived(rustls::AlertDescription::BadRecordMac)));
        assert_eq!((pump.end, pump.worker.tally.layer_malformed, pump.replies()), (Some(End::Closed), 1, 0));
        assert!(pump.lingers, "the alert must not be lost to a reset");
    }
}

#[test]
fn keys_are_renewed_when_the_client_asks_for_it() {
    let (http, files) = site();
    let mut client = Client::of(&TLS13);
    let mut pump = connected(&http, &files, &mut client);
    for _ in 0..5 {
        client.tls.refresh_traffic_keys().unwrap();
        client.say(GET_DISK);
        client.talk(&mut pump, usize::MAX);
    }
    assert_eq!((pump.replies(), client.error), (5, None));
}

/// A record of a handshake message, sealed as the client would.
fn sealed(secrets: ConnectionTrafficSecrets, sequence: u64, kind: u8, bytes: &[u8]) -> Vec<u8> {
    use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else { panic!("another cipher suite") };
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap());
    let mut nonce: [u8; 12] = iv.as_ref().try_into().unwrap();
    nonce[4..].iter_mut().zip(sequence.to_be_bytes()).for_each(|(byte, other)| *byte ^= other);
    let mut content = [bytes, &[kind]].concat();
    let head = [23, 3, 3, 0, (content.len() + 16) as u8];
    let nonce = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce, Aad::from(head), &mut content).unwrap();
    [&head[..], &content].concat()
}

#[test]
fn a_message_of_which_a_part_has_arrived_disturbs_no_reply() {
    let (http, files) = site();
    let mut config = config(&TLS13);
    config.enable_secret_extraction = true;
    let mut client = Client::new(&Arc::new(config));
    let mut pump = connected(&http, &files, &mut client);
    pump.room = 0;
    pump.kept_max = usize::MAX;
    client.say(b"GET /bytes/500000 HTTP/1.1\r\nHost: h\r\n\r\n");
    client.talk(&mut pump, usize::MAX);
    let (sequence, secrets) = client.tls.dangerous_extract_secrets().unwrap().tx;
    // The first two bytes of a key update, and no more.
    pump.feed(&sealed(secrets, sequence, 22, &[24, 0]));
    pump.make_room(u64::MAX);
    assert_eq!((pump.replies(), pump.worker.tally.layer_malformed), (1, 0));
    assert!(pump.sent_len > 500_000);
    pump.dismiss();
    assert_eq!(pump.end, Some(End::Closed));
}
