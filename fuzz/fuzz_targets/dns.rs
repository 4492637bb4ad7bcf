//! `pitot serve dns`: any bytes for a query, or a query with its bytes changed: an answer is a response with the query's
//! number, fits its transport, and is never itself answered.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use pitot_dns::{MailHost, Responder, Transport, ZoneOptions};

static RESPONDER: LazyLock<Responder> = LazyLock::new(|| {
    let hosts = MailHost::many(3).expect("addresses");
    let options = ZoneOptions { domains: 1000, pattern: "d{}.test".into(), without_mx: 100, hosts };
    Responder::new(&options).expect("a sound zone")
});

fuzz_target!(|query: &[u8]| {
    for (transport, len_max) in [(Transport::Udp, 1232), (Transport::Tcp, 65535)] {
        let Some(answer) = RESPONDER.answer(query, transport) else { continue };
        assert!(answer.len() >= 12 && answer.len() <= len_max);
        assert_eq!(answer[..2], query[..2]);
        assert!(answer[2] & 0x80 != 0, "an answer that is a query");
        assert_eq!(RESPONDER.answer(&answer, transport), None);
    }
});
