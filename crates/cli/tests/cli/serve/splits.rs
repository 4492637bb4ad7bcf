//! Input cut at every byte: the answer does not depend on how it arrives.

use std::io::Write;
use std::net::TcpStream;

use super::client::{connect, expect_end, expect_pattern, read_to_end, until_read};
use super::http::Http;
use super::pairs::{Cell, on_every_pair};
use super::server::Server;
use super::site::{SMALL, Site};

/// Connections on which splits are tried at one time. Every model serves so many at once.
const AT_A_TIME: usize = 32;

/// Sends `input` in two parts, cut at every possible position, and checks each answer. The second part is sent
/// only when the server has read the first.
pub(crate) fn cut_everywhere<C>(
    server: &Server,
    input: &[u8],
    open: impl FnMut() -> C,
    stream: impl Fn(&C) -> &TcpStream,
    check: impl Fn(&mut C),
) {
    let mut clients: Vec<C> = std::iter::repeat_with(open).take(AT_A_TIME).collect();
    let write = |client: &C, bytes: &[u8]| stream(client).write_all(bytes).expect("the server reads");
    let cuts: Vec<usize> = (1..input.len()).collect();
    for cuts in cuts.chunks(AT_A_TIME) {
        let clients = &mut clients[..cuts.len()];
        clients.iter().zip(cuts).for_each(|(client, &cut)| write(client, &input[..cut]));
        until_read(server.addr, clients.iter().map(&stream));
        clients.iter().zip(cuts).for_each(|(client, &cut)| write(client, &input[cut..]));
        clients.iter_mut().for_each(&check);
    }
}

/// Sends every byte when the server has read the one before.
pub(crate) fn byte_by_byte(server: &Server, mut stream: &TcpStream, input: &[u8]) {
    for byte in input {
        stream.write_all(&[*byte]).expect("the server reads");
        until_read(server.addr, [stream]);
    }
}

#[test]
fn a_blob_request_may_be_cut_anywhere() {
    let input = b"GET 100\nGET\r\nGET\nGET 70000\n";
    let check = |mut stream: &TcpStream| {
        for size in [100, 1024, 1024, 70_000] {
            expect_pattern(&mut stream, size, 1 << 16, |_| ());
        }
    };
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "blob", &[]);
        cut_everywhere(&server, input, || connect(server.addr), |stream| stream, |stream| check(stream));
        let mut stream = connect(server.addr);
        byte_by_byte(&server, &stream, input);
        check(&stream);
        stream.shutdown(std::net::Shutdown::Write).expect("a connection");
        expect_end(&mut stream);
        drop(stream);
        let ended = server.stop();
        assert_eq!(ended.count("/requests"), 4 * (input.len() as u64 - 1) + 4);
        ended.check_connections();
    });
}

#[test]
fn an_http_request_may_be_cut_anywhere() {
    let input = b"POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n6;x=\"y\"\r\n world\r\n0\r\nA: b\r\n\r\n\
        GET /bytes/7 HTTP/1.1\r\nHost: test\r\n\r\n\
        HEAD /small.txt HTTP/1.1\r\nHost: test\r\n\r\n\
        POST /any HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\n12345\
        GET /small.txt HTTP/1.1\r\nHost: test\r\n\r\n";
    let check = |http: &mut Http| {
        let echo = http.reply();
        assert_eq!((echo.status, &echo.body[..]), (200, &b"hello world"[..]));
        let bytes = http.reply();
        assert_eq!((bytes.status, bytes.body.len()), (200, 7));
        let head = http.reply_to_head();
        assert_eq!(head.field("content-length"), Some(SMALL.len().to_string().as_str()));
        assert_eq!(http.reply().status, 200);
        let small = http.reply();
        assert_eq!((small.status, &small.body[..]), (200, SMALL));
    };
    let site = Site::new();
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "http", &["--root", &site.root()]);
        cut_everywhere(&server, input, || Http::connect(server.addr), Http::stream, check);
        let mut http = Http::connect(server.addr);
        let small = &input[input.len() - 39..];
        byte_by_byte(&server, http.stream(), small);
        assert_eq!(http.reply().body, SMALL);
        drop(http);
        let ended = server.stop();
        assert_eq!(ended.count("/requests"), 5 * (input.len() as u64 - 1) + 1);
        ended.check_connections();
    });
}

#[test]
fn busy_sends_its_line_to_every_client() {
    on_every_pair(Cell::Works, |pair| {
        let server = Server::start(pair, "busy", &[]);
        // One after the other, and all at once.
        for _ in 0..20 {
            assert_eq!(read_to_end(&mut connect(server.addr)), b"450 too busy\r\n");
        }
        let clients: Vec<_> = (0..100).map(|_| connect(server.addr)).collect();
        for mut client in clients {
            assert_eq!(read_to_end(&mut client), b"450 too busy\r\n");
        }
        let ended = server.stop();
        assert_eq!((ended.count("/requests"), ended.count("/connections/accepted")), (120, 120));
        ended.check_connections();
    });
}
