//! The connection machine under every protocol: input, room, ends, time-outs, resets and failing disks in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pitot_proto::http::Http;
use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto::smtp::{Smtp, SmtpOptions};
use pitot_proto::{Protocol, ProtocolOptions, blob};
use pitot_proto_harness::http;
use pitot_proto_harness::script::{Event, play};

fuzz_target!(|data: &[u8]| {
    let [which, events_len, rest @ ..] = data else { return };
    let (events, input) = rest.split_at(rest.len().min(2 * usize::from(*events_len)));
    let make = || -> Box<dyn Protocol> {
        match which % 4 {
            0 => Box::new(
                Http::new(&ProtocolOptions { root: true, writable: true, ..ProtocolOptions::default() })
                    .expect("sound options"),
            ),
            1 => Box::new(Memcache::new(&MemcacheOptions::default()).expect("sound options")),
            2 => Box::new(
                Smtp::new(&SmtpOptions { store: true, ..SmtpOptions::default() }).expect("sound options"),
            ),
            _ => Box::new(blob::Blob),
        }
    };
    let events = events.chunks_exact(2).map(|pair| Event::from_bytes(pair[0], pair[1]));
    play(make, &http::files(), input, events);
});
