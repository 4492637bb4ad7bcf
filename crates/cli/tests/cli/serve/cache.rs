//! `memcache` over every model and mechanism: commands cut anywhere.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::client::{connect, expect_end};
use super::pairs::{Cell, on_covering_pairs};
use super::server::Server;
use super::splits::{byte_by_byte, cut_everywhere};

#[test]
fn commands_may_be_cut_anywhere() {
    let input = b"set a 5 0 3\r\nabc\r\nget a b\r\nms m 2 T60\r\nhi\r\nmg m v\r\nget a \nfoo\r\nset n 0 0 1 noreply\r\nx\r\n\
        get n\r\nmn\r\n";
    let output =
        b"STORED\r\nVALUE a 5 3\r\nabc\r\nEND\r\nHD\r\nVA 2\r\nhi\r\nVALUE a 5 3\r\nabc\r\nEND\r\nERROR\r\n\
        VALUE n 0 1\r\nx\r\nEND\r\nMN\r\n";
    // The connections may share a cache, but all of them store the same.
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "memcache", &[]);
        let check = |mut stream: &TcpStream| {
            let mut said = vec![0; output.len()];
            stream.read_exact(&mut said).expect("the replies");
            assert_eq!(said, output, "{}", said.escape_ascii());
        };
        cut_everywhere(&server, input, || connect(server.addr), |stream| stream, |stream| check(stream));
        let mut stream = connect(server.addr);
        byte_by_byte(&server, &stream, input);
        check(&stream);
        stream.write_all(b"quit\r\n").expect("the server reads");
        expect_end(&mut stream);
        drop(stream);
        server.stop().check_connections();
    });
}
