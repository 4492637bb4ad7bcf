//! A server of HTTP/2 for tests whose servers know HTTP/1.1: requests are read from it as text, and what is written to it
//! as text is the reply to the oldest one. So a test has one server and one body for both versions.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;

use httlib_hpack::{Decoder, Encoder};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The longest payload of a frame.
const PAYLOAD_MAX: usize = 16_384;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection of either version, of which the server sees HTTP/1.1.
pub enum Either {
    /// HTTP/1.1 as it is.
    Http1(TcpStream),
    /// HTTP/2, translated.
    Http2(Box<Http2>),
}

/// A connection of HTTP/2.
pub struct Http2 {
    stream: TcpStream,
    decoder: Decoder<'static>,
    /// Requests that are not all there: their streams, text, and bodies.
    partial: Vec<(u32, Vec<u8>, Vec<u8>)>,
    /// Requests as text, as far as they are not read.
    text: VecDeque<u8>,
    /// Streams whose replies are not written, the oldest first.
    awaited: VecDeque<u32>,
    /// Of replies that are not all there.
    written: Vec<u8>,
}

impl Either {
    /// The connection that a client has opened, once it has sent its first bytes, which tell the version.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn accept(stream: TcpStream) -> io::Result<Either> {
        let mut first = [0; 3];
        while matches!(stream.peek(&mut first)?, 1 | 2) {
            std::thread::yield_now();
        }
        if first != *b"PRI" {
            return Ok(Either::Http1(stream));
        }
        Http2::new(stream).map(|connection| Either::Http2(Box::new(connection)))
    }
}

impl Read for Either {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Either::Http1(stream) => stream.read(buffer),
            Either::Http2(connection) => connection.read(buffer),
        }
    }
}

impl Write for Either {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Either::Http1(stream) => stream.write(bytes),
            Either::Http2(connection) => connection.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Http2 {
    fn new(mut stream: TcpStream) -> io::Result<Http2> {
        let mut preface = [0; PREFACE.len()];
        stream.read_exact(&mut preface)?;
        if preface != PREFACE {
            return Err(broken("no preface"));
        }
        stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        Ok(Http2 {
            stream,
            decoder: Decoder::default(),
            partial: Vec::new(),
            text: VecDeque::new(),
            awaited: VecDeque::new(),
            written: Vec::new(),
        })
    }

    /// Takes the next frame; false at the end.
    fn take(&mut self) -> io::Result<bool> {
        let mut head = [0; 9];
        match self.stream.read_exact(&mut head) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        let (kind, flags) = (head[3], head[4]);
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.stream.read_exact(&mut payload)?;
        let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match kind {
            HEADERS => {
                while flags & END_HEADERS == 0 && self.continued(&mut payload)? {}
                let text = self.head(&mut payload)?;
                self.partial.push((id, text, Vec::new()));
            }
            DATA => {
                let open = self.partial.iter_mut().find(|(stream, ..)| *stream == id);
                open.ok_or_else(|| broken("a body of no request"))?.2.extend_from_slice(&payload);
                if !payload.is_empty() {
                    let more = (payload.len() as u32).to_be_bytes();
                    self.stream.write_all(&frame(WINDOW_UPDATE, 0, 0, &more))?;
                }
            }
            SETTINGS if flags & 1 == 0 => self.stream.write_all(&frame(SETTINGS, 1, 0, &[]))?,
            PING if flags & 1 == 0 => self.stream.write_all(&frame(PING, 1, 0, &payload))?,
            _ => {}
        }
        if matches!(kind, HEADERS | DATA)
            && flags & END_STREAM != 0
            && let Some(at) = self.partial.iter().position(|(stream, ..)| *stream == id)
        {
            let (_, head, body) = self.partial.remove(at);
            self.text.extend(head.into_iter().chain(body));
            self.awaited.push_back(id);
        }
        Ok(true)
    }

    /// Adds a CONTINUATION to a block; true if another one follows.
    fn continued(&mut self, block: &mut Vec<u8>) -> io::Result<bool> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        if head[3] != CONTINUATION {
            return Err(broken("a frame within a block of headers"));
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        self.stream.read_exact(&mut payload)?;
        block.extend_from_slice(&payload);
        Ok(head[4] & END_HEADERS == 0)
    }

    /// A block as a head of HTTP/1.1.
    fn head(&mut self, block: &mut Vec<u8>) -> io::Result<Vec<u8>> {
        let mut fields = Vec::new();
        self.decoder.decode(block, &mut fields).map_err(|e| broken(&format!("{e:?}")))?;
        let of = |wanted: &[u8]| {
            let field = fields.iter().find(|(name, ..)| name == wanted);
            field.map(|(_, value, _)| value.as_slice()).ok_or_else(|| broken("a field is missing"))
        };
        let mut text =
            [of(b":method")?, b" ", of(b":path")?, b" HTTP/1.1\r\nhost: ", of(b":authority")?, b"\r\n"]
                .concat();
        of(b":scheme")?;
        let first = fields.iter().position(|(name, ..)| !name.starts_with(b":")).unwrap_or(fields.len());
        for (name, value, _) in &fields[first..] {
            if name.starts_with(b":") || name.iter().any(u8::is_ascii_uppercase) {
                return Err(broken("a field that is out of place or in upper case"));
            }
            text.extend([name.as_slice(), b": ", value, b"\r\n"].concat());
        }
        text.extend_from_slice(b"\r\n");
        Ok(text)
    }

    /// The frames of as many replies as are all there. Replies that were written together come mixed: all heads, and then
    /// the bodies, the last one first.
    fn replies(&mut self) -> io::Result<Vec<u8>> {
        let (mut heads, mut bodies) = (Vec::new(), Vec::new());
        while let Some(end) = self.written.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&self.written[..end]).into_owned();
            let mut lines = text.split("\r\n");
            let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
            let mut fields = vec![(":status".to_owned(), status.to_owned())];
            fields.extend(
                lines.filter_map(|line| line.split_once(": ")).map(|(n, v)| (n.to_lowercase(), v.to_owned())),
            );
            let length = fields.iter().find(|(name, _)| name == "content-length");
            let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
            let Some(body) = self.written.get(end + 4..end + 4 + length).map(<[u8]>::to_vec) else { break };
            self.written.drain(..end + 4 + length);
            let id = self.awaited.pop_front().ok_or_else(|| broken("a reply to nothing"))?;
            if fields.iter().any(|(name, _)| name == "connection") {
                heads.extend(frame(GOAWAY, 0, 0, &[id.to_be_bytes(), [0; 4]].concat()));
            }
            let mut block = Vec::new();
            for (name, value) in fields.into_iter().filter(|(name, _)| name != "connection") {
                let field = (name.into_bytes(), value.into_bytes(), Encoder::BEST_FORMAT);
                Encoder::default().encode(field, &mut block).map_err(|e| broken(&format!("{e:?}")))?;
            }
            heads.extend(frame(HEADERS, END_HEADERS | u8::from(body.is_empty()), id, &block));
            let count = body.len().div_ceil(PAYLOAD_MAX);
            let pieces = body.chunks(PAYLOAD_MAX).enumerate();
            bodies.push(
                pieces.flat_map(|(n, p)| frame(DATA, u8::from(n + 1 == count), id, p)).collect::<Vec<u8>>(),
            );
        }
        heads.extend(bodies.into_iter().rev().flatten());
        Ok(heads)
    }
}

impl Read for Http2 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() {
            if !self.take()? {
                return Ok(0);
            }
        }
        self.text.read(buffer)
    }
}

impl Write for Http2 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        let frames = self.replies()?;
        self.stream.write_all(&frames)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
