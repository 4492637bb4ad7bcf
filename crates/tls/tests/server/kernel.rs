//! The kernel carries on behind the handshake: when it takes over, with which keys, and what is left to the connection.

use std::sync::Arc;

use pitot_proto::Phase;
use pitot_proto_harness::{End, Files, Pump, exchange};
use pitot_tls::server::KernelCipher;
use rustls::version::{TLS12, TLS13};
use rustls::{ConnectionTrafficSecrets, SupportedProtocolVersion};

use crate::client::{Client, VERSIONS, config, layers_with_kernel, site};

const GET: &[u8] = b"GET /disk.bin HTTP/1.1\r\nHost: h\r\n\r\n";

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// A connection whose handshake is complete, and its client, which keeps its secrets.
fn connected<'a>(
    version: &'static SupportedProtocolVersion,
    cipher: KernelCipher,
    http: &pitot_proto::http::Http,
    files: &'a Files,
) -> (Client, Pump<'a>) {
    let mut config = config(version);
    config.enable_secret_extraction = true;
    let mut client = Client::new(&Arc::new(config));
    let mut pump = Pump::with_layers(http, files, layers_with_kernel(&[cipher]), false);
    pump.has_kernel_tls = true;
    client.talk(&mut pump, usize::MAX);
    assert!(pump.kernel_keys.is_some(), "{version:?}");
    (client, pump)
}

/// What keys hold: the number of the next record, the key, and all that a nonce is made of.
fn parts(keys: &[u8], cipher: KernelCipher) -> (u64, Vec<u8>, Vec<u8>) {
    let (nonce, key, salt) = match cipher {
        KernelCipher::Aes128Gcm => (4..12, 12..28, 28..32),
        KernelCipher::Aes256Gcm => (4..12, 12..44, 44..48),
        KernelCipher::ChaCha20Poly1305 => (4..16, 16..48, 48..48),
    };
    let number = u64::from_be_bytes(*keys.last_chunk().unwrap());
    assert_eq!(keys.len(), salt.end + 8);
    (number, keys[key].to_vec(), [&keys[salt], &keys[nonce]].concat())
}

fn of_client((number, secrets): (u64, ConnectionTrafficSecrets)) -> (u64, Vec<u8>, Vec<u8>) {
    match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv }
        | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
        | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            (number, key.as_ref().to_vec(), iv.as_ref().to_vec())
        }
        _ => panic!("a cipher that no server has"),
    }
}

#[test]
#[allow(deprecated, reason = "the keys are compared, and none is updated")]
fn the_kernel_goes_on_with_the_keys_and_the_numbers_that_the_client_has() {
    let (http, files) = site();
    for version in VERSIONS {
        for cipher in KernelCipher::ALL {
            let (client, pump) = connected(version, cipher, &http, &files);
            let keys = pump.kernel_keys.clone().unwrap();
            let (send, receive) = (parts(&keys.send, cipher), parts(&keys.receive, cipher));
            let expected = client.tls.dangerous_extract_secrets().unwrap();
            let (sent, received) = (of_client(expected.rx), of_client(expected.tx));
            assert_eq!((send.0, &send.1), (sent.0, &sent.1), "{version:?} {cipher:?}");
            assert_eq!((receive.0, &receive.1), (received.0, &received.1), "{version:?} {cipher:?}");
            let is_chosen = version == &TLS12 && cipher != KernelCipher::ChaCha20Poly1305;
            // In TLS 1.2 AES-GCM has a nonce of which each record brings a part.
            let len = if is_chosen { 4 } else { 12 };
            assert_eq!((&send.2[..len], &receive.2[..len]), (&sent.2[..len], &received.2[..len]));
            let version_number: u16 = if version == &TLS12 { 0x0303 } else { 0x0304 };
            assert_eq!(keys.send[..2], version_number.to_ne_bytes());
        }
    }
}

#[test]
fn replies_pass_to_the_kernel_as_they_are_and_files_are_not_read() {
    let (http, files) = site();
    let expected = exchange(&http, &files, [GET]).sent;
    let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
    pump.kept_max = usize::MAX;
    // The harness would need a call for each byte of a file.
    pump.read_max = 1;
    let start = pump.sent.len();
    pump.feed(GET);
    assert!(pump.sent[start..] == expected[..]);
    pump.feed_record(APPLICATION_DATA, GET);
    assert!(pump.sent[start + expected.len()..] == expected[..]);
    let tally = pump.worker.tally;
    assert_eq!((tally.replies, tally.handshakes, tally.layers_in_kernel), (2, 1, 1));
    pump.feed_record(ALERT, &[1, 0]);
    assert_eq!(
        (pump.end, &pump.alerts[..]),
        (Some(End::Closed), &[[1, 0]][..]),
        "both say that nothing follows"
    );
}

#[test]
fn what_comes_with_the_handshake_is_answered_and_a_record_that_is_cut_is_awaited() {
    let (http, files) = site();
    let get: &[u8] = b"GET /small.txt HTTP/1.1\r\nHost: h\r\n\r\n";
    let expected = exchange(&http, &files, [get]).sent;
    for version in VERSIONS {
        let ends = |pump: &Pump<'_>| pump.sent.ends_with(&expected);
        for cut in [0, 1, 4, 5, 20] {
            let mut client = Client::of(version);
            let mut pump = Pump::with_layers(&http, &files, layers_with_kernel(&KernelCipher::ALL), false);
            pump.has_kernel_tls = true;
            // All but the client's last words of the handshake.
            let hello = client.records();
            pump.feed(&hello);
            client.take(&pump);
            if version == &TLS12 {
                let records = client.records();
                pump.feed(&records);
                client.take(&pump);
                assert!(pump.kernel_keys.is_some());
                continue;
            }
            client.say(get);
            let records = client.records();
            pump.feed(&records[..records.len() - cut]);
            if cut == 0 {
                assert!(pump.kernel_keys.is_some() && ends(&pump));
                continue;
            }
            assert!(pump.kernel_keys.is_none(), "in the middle of a record");
            pump.feed(&records[records.len() - cut..]);
            assert!(pump.kernel_keys.is_some() && ends(&pump));
        }
    }
}

#[test]
fn without_a_kernel_that_takes_over_the_connection_keeps_its_layer() {
    let (http, files) = site();
    let mut client = Client::of(&TLS13);
    let mut pump = Pump::with_layers(&http, &files, layers_with_kernel(&KernelCipher::ALL), false);
    pump.kept_max = usize::MAX;
    client.say(GET);
    client.talk(&mut pump, usize::MAX);
    assert!(client.got == exchange(&http, &files, [GET]).sent && pump.kernel_keys.is_none());
}

#[test]
fn a_connection_that_ends_after_its_reply_goes_to_the_kernel_too() {
    let (http, files) = site();
    let get: &[u8] = b"GET /disk.bin HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let mut client = Client::of(&TLS13);
    let mut pump = Pump::with_layers(&http, &files, layers_with_kernel(&KernelCipher::ALL), false);
    (pump.has_kernel_tls, pump.kept_max) = (true, usize::MAX);
    client.say(get);
    let hello = client.records();
    pump.feed(&hello);
    client.take(&pump);
    let rest = client.records();
    pump.feed(&rest);
    assert!(pump.kernel_keys.is_some() && pump.sent.ends_with(&exchange(&http, &files, [get]).sent));
    assert_eq!((pump.end, &pump.alerts[..]), (Some(End::Closed), &[[1, 0]][..]));
}

#[test]
fn records_that_are_no_data_end_the_connection_with_what_the_standard_has_for_it() {
    let (http, files) = site();
    type Case = (u8, &'static [u8], &'static [[u8; 2]]);
    let cases: [Case; 5] = [
        // A peer that updates its keys, one that begins a handshake, what does not exist, and an alert of no sense.
        (HANDSHAKE, &[24, 0, 0, 1, 0], &[[2, 80]]),
        (HANDSHAKE, &[1, 0, 0, 0], &[[2, 10]]),
        (99, b"x", &[[2, 10]]),
        (ALERT, b"x", &[[2, 10]]),
        // The peer has given up: there is nothing to say.
        (ALERT, &[2, 20], &[]),
    ];
    for (content_type, record, alerts) in cases {
        let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
        pump.feed_record(content_type, record);
        assert_eq!((&pump.alerts[..], pump.lingers), (alerts, true), "{content_type} {record:?}");
        pump.end_of_input();
        assert_eq!(pump.end, Some(End::Closed));
    }
    let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
    pump.feed_record(ALERT, &[1, 90]);
    assert_eq!((pump.end, pump.alerts.len()), (None, 0), "it has no consequences");
    pump.refuse_record();
    assert_eq!((&pump.alerts[..], pump.worker.tally.layer_malformed), (&[[2, 20]][..], 1));
    pump.refuse_record();
    assert_eq!(pump.end, Some(End::Closed), "it is not tried for ever");
}

#[test]
fn an_alert_waits_for_room_and_not_longer_than_a_reply() {
    let (http, files) = site();
    let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
    pump.room = 0;
    pump.dismiss();
    assert_eq!((pump.alerts.len(), pump.end, pump.phase()), (0, None, Phase::Reply));
    pump.expire();
    assert!(pump.end.is_some());
    let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
    pump.room = 0;
    pump.dismiss();
    pump.make_room(100);
    assert_eq!((&pump.alerts[..], pump.end), (&[[1, 0]][..], Some(End::Closed)));
}

#[test]
fn a_key_that_has_encrypted_enough_is_not_used_for_another_request() {
    let (http, files) = site();
    let (_, mut pump) = connected(&TLS13, KernelCipher::Aes128Gcm, &http, &files);
    pump.kept_max = 0;
    // 128 GiB are half of the records that RFC 8446 section 5.5 has for one key, if all are full.
    let mut replies = 0;
    while pump.end.is_none() && replies < 200 {
        pump.feed(b"GET /bytes/1073741824 HTTP/1.1\r\nHost: h\r\n\r\n");
        replies += 1;
    }
    assert!((32..=129).contains(&replies), "{replies} replies");
    assert_eq!((pump.end, &pump.alerts[..]), (Some(End::Closed), &[[1, 0]][..]));
}
