//! The layer in memory, against the library's own server.

mod certificates;
mod peer;

use crate::{
    ClientOptions, ClientProtocol, Draw, Fault, Handshake, Opening, Outgoing, Progress, RequestSpec, Tag,
    Url, Verdict, find,
};
use rustls::version::{TLS12, TLS13};

use super::{TlsOptions, TlsProtocol, TlsVersion, explain};
use certificates::{Authority, Flaw, server_certificate};
use peer::{Client, Peer, PeerSettings};

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it";
const REQUEST: &str = "GET / HTTP/1.1\r\n";

fn http(body: usize) -> Box<dyn ClientProtocol> {
    let url = Url::parse("https://localhost/").unwrap();
    let request = RequestSpec { path: "/".into(), body: vec![b'x'; body], ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
    (crate::find("http").unwrap().build)(&url, &options).unwrap()
}

fn protocol(authority: &Authority, change: impl FnOnce(&mut TlsOptions)) -> TlsProtocol {
    let mut options = TlsOptions { authorities: Some(authority.file().to_owned()), ..TlsOptions::default() };
    change(&mut options);
    TlsProtocol::new(http(0), &options, "localhost").unwrap()
}

fn client(authority: &Authority) -> Client {
    Client::new(protocol(authority, |_| ()).connect())
}

fn is_right(progress: &Progress) -> bool {
    matches!(progress, Progress::Reply(reply) if reply.verdict == Verdict::Right)
}

fn handshake(seen: &[Progress]) -> Handshake {
    let found = seen.iter().find_map(|progress| match progress {
        Progress::Secured(handshake) => Some(*handshake),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no handshake: {seen:?}"))
}

#[test]
fn replies_arrive_however_records_are_cut_in_both_versions() {
    let authority = Authority::new();
    for (version, number) in [(&TLS12, 0x0303), (&TLS13, 0x0304)] {
        for piece in [1, 2, 3, 5, 7, 11, 64, 1000, usize::MAX] {
            let mut client = client(&authority);
            let mut peer = Peer::new(&PeerSettings { versions: vec![version], ..authority.settings() });
            let seen = client.open(&mut peer, piece).unwrap();
            assert_eq!(seen.last(), Some(&Progress::Ready), "{piece}");
            let agreed = handshake(&seen);
            assert_eq!((agreed.version, agreed.alpn, agreed.resumed), (number, Some("http/1.1"), false));
            for _ in 0..3 {
                client.request();
                let seen = client.exchange(&mut peer, piece, &[REPLY]).unwrap();
                assert!(peer.asked().starts_with(REQUEST));
                assert_eq!(seen[0], Progress::Began(0), "{piece}");
                assert!(seen.len() == 2 && is_right(&seen[1]), "{piece}: {seen:?}");
            }
        }
    }
}

#[test]
fn a_reply_may_take_several_records_and_a_record_may_hold_several_replies() {
    let authority = Authority::new();
    let mut peer = Peer::new(&authority.settings());
    let mut client = client(&authority);
    client.open(&mut peer, usize::MAX).unwrap();
    client.request();
    let parts: Vec<&[u8]> = REPLY.chunks(3).collect();
    let seen = client.exchange(&mut peer, usize::MAX, &parts).unwrap();
    assert!(seen.len() == 2 && seen[0] == Progress::Began(0) && is_right(&seen[1]), "{seen:?}");
    for _ in 0..3 {
        client.request();
    }
    let seen = client.exchange(&mut peer, 9, &[&[REPLY, REPLY, REPLY].concat()]).unwrap();
    assert_eq!(seen.iter().filter(|progress| is_right(progress)).count(), 3, "{seen:?}");
    assert_eq!(seen.iter().filter(|progress| **progress == Progress::Began(0)).count(), 3, "{seen:?}");
}

#[test]
fn bodies_longer_than_a_record_go_both_ways() {
    let authority = Authority::new();
    let options = TlsOptions { authorities: Some(authority.file().to_owned()), ..TlsOptions::default() };
    let protocol = TlsProtocol::new(http(100_000), &options, "localhost").unwrap();
    let mut client = Client::new(protocol.connect());
    let mut peer = Peer::new(&authority.settings());
    client.open(&mut peer, usize::MAX).unwrap();
    client.request();
    let mut reply = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec();
    reply.resize(reply.len() + 100_000, b'y');
    let seen = client.exchange(&mut peer, 4096, &[&reply]).unwrap();
    assert!(peer.asked().len() > 100_000);
    assert!(is_right(seen.last().unwrap()), "{seen:?}");
}

#[test]
fn a_connection_resumes_its_own_session_and_no_other_and_none_if_told_so() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let settings = PeerSettings { versions: vec![version], ..authority.settings() };
        let resumed = |client: &mut Client| {
            let mut peer = Peer::new(&settings);
            let seen = client.open(&mut peer, usize::MAX).unwrap();
            client.request();
            assert!(is_right(client.exchange(&mut peer, usize::MAX, &[REPLY]).unwrap().last().unwrap()));
            handshake(&seen).resumed
        };
        let protocol = protocol(&authority, |_| ());
        let mut first = Client::new(protocol.connect());
        assert_eq!([resumed(&mut first), resumed(&mut first), resumed(&mut first)], [false, true, true]);
        assert!(!resumed(&mut Client::new(protocol.connect())));
        let without = self::protocol(&authority, |o| o.resume = Some(false));
        let mut fresh = Client::new(without.connect());
        assert_eq!([resumed(&mut fresh), resumed(&mut fresh)], [false, false]);
    }
}

#[test]
fn wrong_certificates_are_named_each_by_its_flaw() {
    let authority = Authority::new();
    for flaw in Flaw::ALL {
        let settings = server_certificate(&authority, flaw);
        let fault = client(&authority).open(&mut Peer::new(&settings), usize::MAX).unwrap_err();
        assert_eq!(fault, Fault::Handshake(flaw.word()), "{flaw:?}");
        assert!(explain(flaw.word()).is_some_and(|e| !e.fix.is_empty()), "{flaw:?}");
        // Whoever takes any certificate takes these, but for one whose key is not the server's.
        let mut insecure =
            Client::new(protocol(&authority, |o| (o.authorities, o.insecure) = (None, true)).connect());
        assert!(insecure.open(&mut Peer::new(&settings), usize::MAX).is_ok(), "{flaw:?}");
    }
}

#[test]
fn a_certificate_that_the_user_names_may_be_the_servers_own() {
    let authority = Authority::new();
    for flaw in [Flaw::SelfSigned, Flaw::SelfSignedAuthority] {
        let settings = server_certificate(&authority, flaw);
        let file = settings.chain_file();
        let trusting = TlsOptions { authorities: Some(file.path().to_owned()), ..TlsOptions::default() };
        let open = |host: &str| {
            let protocol = TlsProtocol::new(http(0), &trusting, host).unwrap();
            Client::new(protocol.connect()).open(&mut Peer::new(&settings), usize::MAX)
        };
        assert!(open("localhost").is_ok(), "{flaw:?}");
        assert_eq!(open("elsewhere").unwrap_err(), Fault::Handshake("wrong-name"), "{flaw:?}");
    }
}

#[test]
fn what_a_server_refuses_is_named() {
    let authority = Authority::new();
    let only_12 = protocol(&authority, |o| o.version = Some(TlsVersion::V1_2));
    let mut peer = Peer::new(&PeerSettings { versions: vec![&TLS13], ..authority.settings() });
    let fault = Client::new(only_12.connect()).open(&mut peer, usize::MAX).unwrap_err();
    assert_eq!(fault, Fault::Handshake("version"));

    let mut peer = Peer::new(&PeerSettings { alpn: vec!["h2"], ..authority.settings() });
    let fault = client(&authority).open(&mut peer, usize::MAX).unwrap_err();
    assert_eq!(fault, Fault::Handshake("alert-no-application-protocol"));

    for version in [&TLS12, &TLS13] {
        let settings =
            PeerSettings { versions: vec![version], wants_certificate: true, ..authority.settings() };
        let mut stranger = client(&authority);
        let mut peer = Peer::new(&settings);
        // In TLS 1.3 the server says so after the client's end of the handshake.
        let fault = stranger.open(&mut peer, usize::MAX).and_then(|_| {
            stranger.request();
            stranger.exchange(&mut peer, usize::MAX, &[])
        });
        assert_eq!(fault.unwrap_err(), Fault::Handshake("client-certificate"));
        let (certificate, key) = authority.client_files();
        let known = protocol(&authority, |o| {
            (o.certificate, o.key) = (Some(certificate.path().to_owned()), Some(key.path().to_owned()));
        });
        let mut known = Client::new(known.connect());
        let mut peer = Peer::new(&settings);
        known.open(&mut peer, usize::MAX).unwrap();
        known.request();
        assert!(is_right(known.exchange(&mut peer, usize::MAX, &[REPLY]).unwrap().last().unwrap()));
    }
}

#[test]
fn an_answer_that_is_no_tls_is_named() {
    let authority = Authority::new();
    for (answer, word) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "plain-http"),
        (b"220 ready\r\n", "not-tls"),
        (b"-ERR\r\n", "not-tls"),
    ] {
        assert_eq!(client(&authority).answered(answer).unwrap_err(), Fault::Handshake(word));
    }
    // An alert without a handshake: handshake_failure.
    let alert = [21, 3, 3, 0, 2, 2, 40];
    assert_eq!(client(&authority).answered(&alert).unwrap_err(), Fault::Handshake("no-common-cipher"));
    let alert = [21, 3, 3, 0, 2, 2, 80];
    assert_eq!(client(&authority).answered(&alert).unwrap_err(), Fault::Handshake("alert-internal-error"));
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_only_after_a_word_of_the_server() {
    let authority = Authority::new();
    for closes in [true, false] {
        let mut peer = Peer::new(&authority.settings());
        let mut client = client(&authority);
        client.open(&mut peer, usize::MAX).unwrap();
        client.request();
        let mut seen = client.exchange(&mut peer, usize::MAX, &[UNTIL_CLOSE]).unwrap();
        assert_eq!(seen, [Progress::Began(0)]);
        if closes {
            peer.close();
            seen = client.exchange(&mut peer, usize::MAX, &[]).unwrap();
            assert!(matches!(seen.as_slice(), [Progress::Reply(reply)] if !reply.persists), "{seen:?}");
        }
        assert_eq!(client.conn.end_of_input(Some(Tag(0))), None);
    }
}

#[test]
fn bytes_that_nobody_asked_for_are_a_fault() {
    let authority = Authority::new();
    let mut peer = Peer::new(&authority.settings());
    let mut client = client(&authority);
    client.open(&mut peer, usize::MAX).unwrap();
    assert_eq!(client.exchange(&mut peer, usize::MAX, &[REPLY]).unwrap_err(), Fault::Unasked);
}

#[test]
fn a_broken_record_is_a_fault_and_nothing_panics() {
    let authority = Authority::new();
    for at in [0, 3, 4, 5, 20] {
        let mut peer = Peer::new(&authority.settings());
        let mut client = client(&authority);
        client.open(&mut peer, usize::MAX).unwrap();
        client.request();
        client.exchange(&mut peer, usize::MAX, &[REPLY]).unwrap();
        client.request();
        peer.take(&client.take_out());
        let mut bytes = peer.say(&[REPLY]);
        bytes[at] ^= 0x40;
        let heard = client.feed(&bytes, usize::MAX);
        assert!(
            matches!(heard, Err(Fault::Named(_))) || heard.as_ref().is_ok_and(Vec::is_empty),
            "{at}: {heard:?}"
        );
    }
}

#[test]
fn the_server_may_change_its_keys() {
    let authority = Authority::new();
    let mut peer = Peer::new(&PeerSettings { versions: vec![&TLS13], ..authority.settings() });
    let mut client = client(&authority);
    client.open(&mut peer, usize::MAX).unwrap();
    for _ in 0..3 {
        peer.change_keys();
        client.request();
        let seen = client.exchange(&mut peer, 13, &[REPLY]).unwrap();
        assert!(is_right(seen.last().unwrap()), "{seen:?}");
    }
}

#[test]
fn a_connection_starts_afresh_when_it_is_opened_again() {
    let authority = Authority::new();
    let mut client = client(&authority);
    for cut in [10, 200, 2000] {
        let mut peer = Peer::new(&authority.settings());
        client.open_only();
        peer.take(&client.take_out());
        let flight = peer.say(&[]);
        client.feed(&flight[..cut.min(flight.len())], usize::MAX).unwrap();
        client.tail.clear();
    }
    let mut peer = Peer::new(&authority.settings());
    client.open(&mut peer, usize::MAX).unwrap();
    client.request();
    assert!(is_right(client.exchange(&mut peer, 100, &[REPLY]).unwrap().last().unwrap()));
}

#[test]
fn options_that_contradict_each_other_are_refused_with_a_fix() {
    let authority = Authority::new();
    let (certificate, key) = authority.client_files();
    let (certificate, key) = (Some(certificate.path().to_owned()), Some(key.path().to_owned()));
    let changes: [&dyn Fn(&mut TlsOptions); 6] = [
        &|o| o.insecure = true,
        &|o| o.certificate = certificate.clone(),
        &|o| o.key = key.clone(),
        &|o| (o.certificate, o.key) = (key.clone(), certificate.clone()),
        &|o| (o.certificate, o.key) = (Some(authority.file().to_owned()), key.clone()),
        &|o| o.authorities = Some("/nonexistent.pem".into()),
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut options =
            TlsOptions { authorities: Some(authority.file().to_owned()), ..TlsOptions::default() };
        change(&mut options);
        let failure = TlsProtocol::new(http(0), &options, "localhost").err().unwrap_or_else(|| panic!("{i}"));
        assert!(!failure.fix.is_empty() && !failure.what.contains('\n'), "{failure}");
    }
    assert!(
        TlsProtocol::new(http(0), &TlsOptions { insecure: true, ..TlsOptions::default() }, "a..b").is_err()
    );
}

/// What decides which request comes next is of no account here.
const DRAW: Draw = Draw { random: 0, index: 0 };

#[test]
fn a_protocol_that_begins_without_tls_asks_for_it_first() {
    let url = Url::parse("postgres://localhost/db").unwrap();
    let request = RequestSpec { path: "/db?sslmode=require".into(), ..RequestSpec::default() };
    let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
    let postgres = (find("postgres").unwrap().build)(&url, &options).unwrap();
    let tls = TlsOptions { insecure: true, ..TlsOptions::default() };
    let protocol = TlsProtocol::new(postgres, &tls, "localhost").unwrap();
    let (mut conn, mut out) = (protocol.connect(), Outgoing::new());
    let mut answered = |answer: &[u8]| {
        out.clear();
        assert_eq!(conn.open(&mut out), Opening::Greeting);
        assert_eq!(out.payload().as_slice(), b"\0\0\0\x08\x04\xd2\x16\x2f");
        assert!(conn.is_shaking_hands());
        out.clear();
        let received = conn.receive(None, answer, &mut out);
        (received.map(|received| (received.consumed, received.progress)), out.payload().as_slice().to_vec())
    };
    assert_eq!(answered(b""), (Ok((0, Progress::More)), Vec::new()));
    let (received, hello) = answered(b"S");
    // A record of a handshake.
    assert!(received == Ok((1, Progress::More)) && hello.starts_with(&[22, 3]), "{hello:?}");
    assert_eq!(answered(b"N").0, Err(Fault::Handshake("no-tls")));
    // What nobody has encrypted is not taken for what the server says behind the handshake.
    assert_eq!(answered(b"SE\0\0\0").0, Err(Fault::Handshake("not-tls")));
    assert_eq!(answered(b"E").0, Err(Fault::Handshake("not-tls")));
}
