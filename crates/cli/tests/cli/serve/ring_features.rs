//! Replies and uploads with each feature of io_uring alone, with none and with all.

use pitot_serve::{RING_FEATURES, RingFeature};

use super::client::expect_pattern;
use super::http::Http;
use super::pairs::{Cell, on_these, usable};
use super::server::Server;
use super::site::{LARGE_BYTES, Site};

fn text(feature: &RingFeature) -> String {
    match feature.value {
        None => feature.name.into(),
        Some("SIZE") => format!("{}=4KiB", feature.name),
        Some("TIME") => format!("{}=20us", feature.name),
        Some(_) => format!("{}=16", feature.name),
    }
}

#[test]
fn requests_and_replies_are_whole_with_each_feature_of_the_ring() {
    let site = Site::new();
    let offered: Vec<String> =
        RING_FEATURES.iter().filter(|feature| feature.probe().is_ok()).map(text).collect();
    let sets = [vec!["none".to_owned()], offered.clone(), vec![offered.join(",")]].concat();
    let pairs = usable().iter().filter(|pair| pair.model == "loops" && pair.mechanism == "uring");
    let cells = pairs.flat_map(|pair| sets.iter().map(move |set| (format!("{pair} {set}"), (pair, set))));
    on_these(Cell::Works, cells.collect(), |(pair, set)| {
        let server = Server::start(
            pair,
            "http",
            &["--root", &site.root(), "--writable", "--workers", "2", "--ring", set],
        );
        let path = format!("/sub/{}.bin", set.replace(['=', ','], "-"));
        let large: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let mut http = Http::connect(server.addr);
        for _ in 0..2 {
            http.write(format!(
                "PUT {path} HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
                large.len()
            ));
            http.write(&large);
            assert!([201, 204].contains(&http.reply().status));
            assert_eq!(http.get(&path).body, large);
        }
        http.ask("/large.bin");
        assert_eq!(http.reply_to_head().field("content-length"), Some(&*LARGE_BYTES.to_string()));
        expect_pattern(&mut http.0, LARGE_BYTES, 1 << 16, |_| ());
        drop(http);
        server.stop().check_connections();
    });
}
