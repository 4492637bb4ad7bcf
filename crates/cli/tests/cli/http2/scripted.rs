//! A server that speaks as much HTTP/2 as a test needs, and breaks it as the test says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const GOAWAY: u8 = 7;

/// Answers the `n`th request of a connection, from 0, on the stream of that number.
type Answer = dyn Fn(usize, u32) -> Vec<u8> + Send + Sync;

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A reply with status 200 and no body.
pub(crate) fn ok(stream: u32) -> Vec<u8> {
    frame(HEADERS, 0x5, stream, &[0x88])
}

pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(GOAWAY, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Whether it answers a PING.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Manner {
    Alive,
    Deaf,
}

/// Starts it; it runs until the process of the test ends.
pub(crate) fn start(
    settings: &[(u16, u32)],
    answer: impl Fn(usize, u32) -> Vec<u8> + Send + Sync + 'static,
) -> SocketAddr {
    start_in(Manner::Alive, settings, answer)
}

pub(crate) fn start_in(
    manner: Manner,
    settings: &[(u16, u32)],
    answer: impl Fn(usize, u32) -> Vec<u8> + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(id, value)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    let greeting: Arc<[u8]> = frame(SETTINGS, 0, 0, &payload).into();
    let answer: Arc<Answer> = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (greeting, answer) = (Arc::clone(&greeting), Arc::clone(&answer));
            std::thread::spawn(move || converse(stream, manner, &greeting, &*answer));
        }
    });
    address
}

/// Serves one connection until either side ends it.
fn converse(mut stream: TcpStream, manner: Manner, greeting: &[u8], answer: &Answer) -> Option<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).ok()?;
    stream.write_all(greeting).ok()?;
    let mut requests = 0;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).ok()?;
        if head[3] == PING && head[4] == 0 && manner == Manner::Alive {
            stream.write_all(&frame(PING, 1, 0, &payload)).ok()?;
        }
        if head[3] == HEADERS {
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            stream.write_all(&answer(requests, id)).ok()?;
            requests += 1;
        }
    }
}
