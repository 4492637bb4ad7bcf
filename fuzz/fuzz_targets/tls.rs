//! A server over TLS: what a client says is answered as without TLS, however its records are split; what is changed on the
//! way, or is no TLS at all, ends the connection and nothing else.
#![no_main]

use std::io::{Read as _, Write as _};
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::Http;
use pitot_proto::{Layers, ProtocolOptions};
use pitot_proto_harness::{Pump, exchange, http};
use pitot_tls::server::{Identity, SECRET_BYTES, Secret, TlsServer};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

static IDENTITY: LazyLock<Identity> =
    LazyLock::new(|| Identity::self_signed([127, 0, 0, 1].into()).expect("a certificate"));
static LAYERS: LazyLock<Arc<dyn Layers>> = LazyLock::new(|| {
    let secret = Secret::from_bytes([1; SECRET_BYTES]);
    Arc::new(TlsServer::new(&IDENTITY, &secret, &[b"http/1.1"]).expect("a server"))
});
/// Of both versions; each resumes the sessions of the inputs before.
static CLIENTS: LazyLock<[Arc<ClientConfig>; 2]> = LazyLock::new(|| {
    [&TLS12, &TLS13].map(|version| {
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(&IDENTITY.certificates).expect("a certificate");
        roots.add(certificate).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]);
        Arc::new(builder.expect("a version").with_root_certificates(roots).with_no_client_auth())
    })
});

/// What the client got, if nothing was changed.
fn talk(
    pump: &mut Pump<'_>,
    client: &mut ClientConnection,
    cut: usize,
    mut change: Option<(usize, u8)>,
) -> Vec<u8> {
    let (mut got, mut taken) = (Vec::new(), 0);
    loop {
        let mut records = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut records).expect("memory");
        }
        if let Some((at, bits)) = &mut change {
            match records.get_mut(*at) {
                Some(byte) => {
                    *byte ^= *bits;
                    change = None;
                }
                None => *at -= records.len(),
            }
        }
        for piece in records.chunks(cut) {
            pump.feed(piece);
        }
        let mut new = &pump.sent[taken..];
        taken = pump.sent.len();
        while !new.is_empty() {
            client.read_tls(&mut new).expect("memory");
            if client.process_new_packets().is_err() {
                return got;
            }
            let _ = client.reader().read_to_end(&mut got);
        }
        if !client.wants_write() || pump.end.is_some() {
            return got;
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [flags, cut, high, low, input @ ..] = data else { return };
    let options = ProtocolOptions { root: true, ..ProtocolOptions::default() };
    let (protocol, files) = (Http::new(&options).expect("sound options"), http::files());
    let mut pump = Pump::with_layers(&protocol, &files, Arc::clone(&LAYERS), false);
    let cut = usize::from(*cut) + 1;
    if flags & 1 == 1 {
        input.chunks(cut).for_each(|piece| {
            pump.feed(piece);
        });
        // Who speaks HTTP without TLS is told so, once.
        assert_eq!(pump.worker.tally.handshakes, 0);
        assert!(pump.replies() <= 1, "nobody asked anything over TLS");
        return;
    }
    let config = Arc::clone(&CLIENTS[usize::from(flags >> 1 & 1)]);
    let name = ServerName::try_from("localhost").expect("a name");
    let mut client = ClientConnection::new(config, name).expect("a client");
    client.writer().write_all(input).expect("memory");
    let change = (flags & 4 == 4).then(|| (usize::from(*high) << 8 | usize::from(*low), flags >> 3 | 1));
    let got = talk(&mut pump, &mut client, cut, change);
    let expected = exchange(&protocol, &files, [input]).sent;
    // The harness keeps so much of what is sent.
    let long = expected.len() > 200_000;
    if change.is_none() && !long {
        assert_eq!(got, expected);
    } else {
        let n = got.len().min(expected.len());
        assert!(long || n == got.len(), "what was changed on the way was answered");
        assert_eq!(got[..n], expected[..n]);
    }
});
