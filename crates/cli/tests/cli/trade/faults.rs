//! What a client may send by mistake or in malice.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::client::Client;
use super::server::Server;

#[test]
fn any_bytes_are_survived() {
    let server = Server::start(&[]);
    for bytes in [
        &b"\x00\xff\r\n\r\n"[..],
        b"GET /app?action=%00%ff%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"POST /api?action=buy HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nConnection: close\r\n\r\nsymbol=\x00\xff",
        b"POST /app?action=login HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n",
        b"GET /app?action=home HTTP/1.1\r\nHost: x\r\nCookie: TRADE='; DROP TABLE account\r\nConnection: close\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(bytes).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let mut client = Client::new(&server.address);
    assert_eq!(client.act("login", "uid=uid:1'--&passwd=xxx")["ok"], false);
    assert_eq!(client.act("login", "uid=uid:1&passwd=xxx")["ok"], true);
    for form in [
        "symbol=s:1&quantity=-1",
        "symbol=s:1&quantity=99999999999999999999",
        "symbol=s:1&quantity=9223372036854775807",
    ] {
        assert_eq!(client.act("buy", form)["ok"], false);
    }
    assert_eq!(client.act("sell", "holdingID=9223372036854775807")["ok"], false);
    assert_eq!(client.audit()["holds"], true);
    server.stop();
}
