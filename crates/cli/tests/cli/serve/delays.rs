//! `/delay/TIME` and `/status/N` under every architecture: a delay lasts as long as it was asked for, and takes nobody's
//! time but that of its own connection.

use std::io::Read;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::client::{expect_end, reset, until_read};
use super::http::{Http, get};
use super::pairs::{Cell, on_every_pair};
use super::server::Server;

#[test]
fn a_reply_comes_after_its_delay_and_in_its_place() {
    on_every_pair(Cell::Waits, |pair| {
        let server = Server::start(pair, "http", &[]);
        let mut client = Http::connect(server.addr);
        assert_eq!(client.get("/status/503").status, 503);
        let asked = Instant::now();
        client.write([get("/delay/150ms"), get("/delay/20ms"), get("/bytes/3")].concat());
        for (content, least_ms) in [(&b"after 150 ms\n"[..], 150), (b"after 20 ms\n", 170)] {
            let reply = client.reply();
            assert_eq!((reply.status, &*reply.body), (200, content));
            assert!(asked.elapsed() >= Duration::from_millis(least_ms), "{:?}", asked.elapsed());
        }
        assert_eq!(client.reply().body.len(), 3);
        drop(client);
        let ended = server.stop();
        assert_eq!(ended.count("/requests"), 4);
        ended.check_connections();
    });
}

#[test]
fn a_delay_holds_up_no_other_connection_and_ends_with_the_server() {
    on_every_pair(Cell::Waits, |pair| {
        if pair.serves_one_connection_per_worker() {
            return;
        }
        let server = Server::start(pair, "http", &[]);
        let mut slow: Vec<Http> = (0..20).map(|_| Http::connect(server.addr)).collect();
        slow.iter_mut().for_each(|client| client.ask("/delay/1s"));
        let asked = Instant::now();
        let mut leaves = Http::connect(server.addr);
        leaves.ask("/delay/300ms");
        until_read(server.addr, slow.iter().map(Http::stream).chain([leaves.stream()]));
        reset(leaves.0.into_inner());
        let mut other = Http::connect(server.addr);
        for _ in 0..50 {
            assert_eq!(other.get("/bytes/5").body.len(), 5);
        }
        // If the machine stopped for seconds, nothing can be said of who was before whom.
        if asked.elapsed() < Duration::from_secs(1) {
            for client in &mut slow {
                client.stream().set_nonblocking(true).expect("the socket is open");
                let early = client.stream().read(&mut [0; 1]);
                assert!(asked.elapsed() >= Duration::from_secs(1) || early.is_err(), "{early:?}");
                client.stream().set_nonblocking(false).expect("the socket is open");
            }
        }
        server.signal(Signal::TERM);
        for mut client in slow {
            assert_eq!(client.reply().status, 200);
            expect_end(&mut client.0);
        }
        server.end();
    });
}
