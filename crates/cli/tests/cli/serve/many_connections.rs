//! Many connections at once, some of which misbehave.

use std::io::Write;

use super::client::{connect, connect_narrow, expect_pattern, reset};
use super::http::{Http, get, get_and_close};
use super::pairs::{Cell, Pair, on_every_pair};
use super::server::{Server, serve};

/// Connections of misbehaving clients, to be kept open.
pub(crate) fn misbehaving(server: &Server) -> Vec<std::net::TcpStream> {
    let inputs = [
        // Sends nothing.
        String::new(),
        // Stops in the middle of a request.
        "GET / HTTP/1.1\r\nHost: te".to_owned(),
        "POST /any HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\n123".to_owned(),
        // Never reads.
        get("/bytes/1073741824"),
        get("/bytes/100000").repeat(1000),
    ];
    let connect = |input: &String| {
        let mut stream = connect_narrow(server.addr);
        stream.write_all(input.as_bytes()).expect("the server reads");
        stream
    };
    inputs.iter().map(connect).collect()
}

#[test]
fn two_hundred_clients_are_served_while_others_misbehave() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &[]);
        let misbehaving = misbehaving(&server);
        let mut clients: Vec<Http> = (0..200).map(|_| Http::connect(server.addr)).collect();
        // Where a worker serves one connection at a time the others wait until it is closed.
        clients.iter_mut().for_each(|client| client.write(get_and_close("/bytes/10000")));
        for client in &mut clients {
            let reply = client.reply();
            assert_eq!((reply.status, reply.body.len(), reply.closes()), (200, 10_000, true));
        }
        misbehaving.into_iter().for_each(reset);
        drop(clients);
        let ended = server.stop();
        assert_eq!(ended.count("/connections/accepted"), 205);
        ended.check_connections();
    });
}

#[test]
fn clients_are_served_however_their_connections_are_steered() {
    for (model, mechanism) in [("loops", "epoll-et"), ("loops", "epoll-busy"), ("preloop", "epoll-lt")] {
        for steering in ["hash", "incoming-cpu", "bpf"] {
            let server = Server::start(&Pair::named(model, mechanism), "http", &["--steer", steering]);
            let mut clients: Vec<Http> = (0..40).map(|_| Http::connect(server.addr)).collect();
            clients.iter_mut().for_each(|client| client.write(get("/bytes/1000")));
            for client in &mut clients {
                assert_eq!(client.reply().body.len(), 1000, "{model} {mechanism} {steering}");
            }
            drop(clients);
            let ended = server.stop();
            assert_eq!(ended.count("/connections/accepted"), 40, "{model} {mechanism} {steering}");
        }
    }
}

#[test]
fn the_limit_on_connections_holds_in_all_workers_together() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "blob", &["--max-connections", "10"]);
        let mut kept: Vec<_> = (0..10)
            .map(|_| {
                let mut stream = connect(server.addr);
                stream.write_all(b"GET 5\n").expect("the server reads");
                expect_pattern(&mut stream, 5, 5, |_| ());
                stream
            })
            .collect();
        for _ in 0..5 {
            let mut refused = connect(server.addr);
            assert_eq!(super::client::read_to_end(&mut refused), b"");
        }
        for stream in &mut kept {
            stream.write_all(b"GET 5\n").expect("the server reads");
            expect_pattern(stream, 5, 5, |_| ());
        }
        drop(kept);
        let ended = server.stop();
        assert_eq!((ended.count("/connections/open_peak"), ended.count("/errors/shed")), (10, 5));
        assert_eq!(ended.count("/requests"), 20);
        ended.check_connections();
    });
}

#[test]
fn a_warning_that_nobody_reads_ends_no_server() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::run_unheard(serve(pair, "http", &["--max-connections", "1"]));
        let mut kept = Http::connect(server.addr);
        assert_eq!(kept.get("/bytes/5").status, 200);
        for _ in 0..3 {
            let mut refused = connect(server.addr);
            assert_eq!(super::client::read_to_end(&mut refused), b"");
        }
        assert_eq!(kept.get("/bytes/5").status, 200);
        drop(kept);
        assert_eq!(server.stop().count("/errors/shed"), 3);
    });
}
