//! `smtp` over every model and mechanism: sessions cut anywhere, and mail that is in its Maildir when the server says so.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use super::client::{connect, expect_end, read_to_end, until_read};
use super::pairs::{Cell, on_covering_pairs};
use super::server::Server;
use super::splits::{byte_by_byte, cut_everywhere};
use crate::support::until;

const TRANSACTION: &str = "MAIL FROM:<from@a.test>\r\nRCPT TO:<to@b.test>\r\nDATA\r\n";

/// Reads replies until as many lines have come as there are codes, and checks their codes.
fn expect(stream: &mut TcpStream, codes: &str) {
    let mut said = Vec::new();
    let count = codes.split(' ').count();
    while said.iter().filter(|&&byte| byte == b'\n').count() < count {
        let mut byte = [0];
        let n = stream.read(&mut byte).expect("a reply");
        assert_eq!(n, 1, "the end after {}", said.escape_ascii());
        said.push(byte[0]);
    }
    let said = String::from_utf8(said).expect("text");
    let got: Vec<&str> = said.lines().map(|line| &line[..3]).collect();
    assert_eq!(got.join(" "), codes, "{said}");
}

/// A connection that has been greeted and has said HELO.
fn greeted(addr: SocketAddr) -> TcpStream {
    let mut stream = connect(addr);
    stream.write_all(b"HELO client.test\r\n").expect("the server reads");
    expect(&mut stream, "220 250");
    stream
}

/// The files that are there, but for those that the server has moved or removed before they could be read.
fn files(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory).expect("a directory");
    let text = |path: PathBuf| match fs::read_to_string(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => None,
        text => Some(text.expect("a message")),
    };
    files.filter_map(|file| text(file.expect("an entry").path())).collect()
}

#[test]
fn a_session_may_be_cut_anywhere() {
    let input = format!("{TRANSACTION}..x\r\n\r\n.\r\nVRFY\r\nMAIL FROM:<>\r\nRSET\r\n");
    let codes = "250 250 354 250 501 250 250";
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "smtp", &["--smtp-errors-max", "1000"]);
        let check = |stream: &mut TcpStream| expect(stream, codes);
        cut_everywhere(&server, input.as_bytes(), || greeted(server.addr), |stream| stream, check);
        let mut stream = greeted(server.addr);
        byte_by_byte(&server, &stream, input.as_bytes());
        check(&mut stream);
        stream.write_all(b"QUIT\r\n").expect("the server reads");
        expect(&mut stream, "221");
        expect_end(&mut stream);
        drop(stream);
        let ended = server.stop();
        let sessions = input.len() as u64;
        assert_eq!(ended.count("/mail/messages"), sessions);
        assert_eq!(
            (ended.count("/mail/recipients"), ended.count("/mail/recipients_accepted")),
            (sessions, sessions)
        );
        ended.check_connections();
    });
}

#[test]
fn mail_is_in_its_maildir_when_it_is_acknowledged() {
    on_covering_pairs(Cell::Works, |pair| {
        let dir = tempfile::tempdir().expect("a directory");
        let maildir = dir.path().join("mail");
        let server =
            Server::start(pair, "smtp", &["--deliver", "maildir", maildir.to_str().expect("a path")]);
        let mut clients: Vec<TcpStream> = (0..4).map(|_| greeted(server.addr)).collect();
        let body = "a line of the message\r\n".repeat(4000);
        for round in 0..3 {
            for (n, client) in clients.iter_mut().enumerate() {
                let message = format!("{TRANSACTION}Subject: {n}-{round}.\r\n\r\n{body}.\r\n");
                client.write_all(message.as_bytes()).expect("the server reads");
            }
            for (n, client) in clients.iter_mut().enumerate() {
                expect(client, "250 250 354 250");
                let whole = format!("\nSubject: {n}-{round}.\n\n{}", body.replace('\r', ""));
                let messages = files(&maildir.join("new"));
                let message = messages.iter().find(|message| message.ends_with(&whole)).expect("the message");
                assert!(
                    message.contains("\nReceived: from client.test ([127.0.0.1])\n\tby "),
                    "{message:.300}"
                );
            }
        }
        // What is cut off leaves nothing.
        clients[0].write_all(format!("{TRANSACTION}{body}").as_bytes()).expect("the server reads");
        until("the message is begun", || !files(&maildir.join("tmp")).is_empty());
        drop(clients);
        until("the message is thrown away", || files(&maildir.join("tmp")).is_empty());
        let ended = server.stop();
        assert_eq!(files(&maildir.join("new")).len(), 12);
        assert_eq!((ended.count("/mail/messages"), ended.count("/errors/delivery_failed")), (12, 0));
        ended.check_connections();
    });
}

#[test]
fn a_message_in_flight_is_taken_before_the_end() {
    on_covering_pairs(Cell::Works, |pair| {
        let server = Server::start(pair, "smtp", &[]);
        let mut in_message = greeted(server.addr);
        in_message.write_all(format!("{TRANSACTION}half of it\r\n").as_bytes()).expect("the server reads");
        expect(&mut in_message, "250 250 354");
        until_read(server.addr, [&in_message]);
        let mut idle = greeted(server.addr);
        server.signal(Signal::TERM);
        // It may be closed without a word where the last word finds no room, and not otherwise.
        assert_eq!(&read_to_end(&mut idle)[..9], b"421 4.3.2");
        in_message.write_all(b"the rest\r\n.\r\n").expect("the server reads");
        expect(&mut in_message, "250 421");
        expect_end(&mut in_message);
        drop((in_message, idle));
        let ended = server.end();
        assert_eq!(ended.count("/mail/messages"), 1);
        ended.check_connections();
    });
}

#[test]
fn a_client_that_takes_too_long_gets_a_reply() {
    let limits = ["--header-timeout", "500ms", "--idle-timeout", "500ms", "--write-timeout", "500ms"];
    on_covering_pairs(Cell::Waits, |pair| {
        let server = Server::start(pair, "smtp", &limits);
        let mut idle = greeted(server.addr);
        let mut in_command = greeted(server.addr);
        in_command.write_all(b"MAIL FR").expect("the server reads");
        let mut in_message = greeted(server.addr);
        in_message.write_all(format!("{TRANSACTION}half\r\n").as_bytes()).expect("the server reads");
        expect(&mut in_message, "250 250 354");
        for late in [&mut idle, &mut in_command, &mut in_message] {
            expect(late, "421");
            expect_end(late);
        }
        drop((idle, in_command, in_message));
        let ended = server.stop();
        assert_eq!((ended.count("/errors/timed_out_idle"), ended.count("/errors/timed_out_request")), (1, 2));
        ended.check_connections();
    });
}
