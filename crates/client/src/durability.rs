//! Requests with unique names, and which of these names the server has acknowledged.
//!
//! A request is built once, with a blank name in it. Each time it is sent, the connection overwrites the blank with its next
//! name. So a few ranges of numbers for each connection describe a run of any length.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use pitot_durability::{
    BLANK_NAME, NAME_PLACE, OfConnection, RequestName, Stored, add_range, connection_name,
};

use super::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use super::outgoing::Outgoing;
use super::protocol::{ClientConn, ClientProtocol, Preload};

/// The name is in the path or in the header of a mail, at most this far from the beginning.
const SEARCHED_BYTES: usize = 16 << 10;

/// A protocol whose requests have unique names.
pub struct NamedRequests {
    protocol: Box<dyn ClientProtocol>,
    connections: Arc<AtomicU32>,
}

impl NamedRequests {
    /// Names the requests of a protocol, which were built with [`BLANK_NAME`] in each.
    ///
    /// # Errors
    /// The requests are of several kinds, or a server does not store them.
    pub fn new(protocol: Box<dyn ClientProtocol>) -> Result<NamedRequests, String> {
        match protocol.stored() {
            Some((_, content)) if !content.is_empty() => {
                Ok(NamedRequests { protocol, connections: Arc::default() })
            }
            _ => Err(format!(
                "--durability needs one kind of request that the server stores: an HTTP/1.1 upload with a body and \
                 {NAME_PLACE} in its path, or mail"
            )),
        }
    }
}

impl ClientProtocol for NamedRequests {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(NamedConn {
            conn: self.protocol.connect(),
            connection: self.connections.fetch_add(1, Relaxed),
            next: 0,
            unanswered: VecDeque::new(),
            acknowledged: OfConnection::default(),
        })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        self.protocol.request_bytes_max()
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        self.protocol.preload()
    }

    fn alpn(&self) -> Option<super::exchange::Alpn> {
        self.protocol.alpn()
    }

    fn stored(&self) -> Option<(Stored, &[u8])> {
        self.protocol.stored()
    }
}

struct NamedConn {
    conn: Box<dyn ClientConn>,
    /// Its number among those of the process.
    connection: u32,
    /// The number of the next request, over all connections that replace each other.
    next: u64,
    /// The numbers of the requests under way, the oldest first.
    unanswered: VecDeque<u64>,
    acknowledged: OfConnection,
}

impl NamedConn {
    /// Writes a name over the first blank behind `from`, if there is one.
    fn stamp(&mut self, number: u64, from: usize, out: &mut Outgoing) {
        if out.payload().as_slice().len() == from {
            return;
        }
        if self.acknowledged.connection.is_empty() {
            // Only now: connections are made before the processes of a run are.
            self.acknowledged.connection = connection_name(std::process::id(), self.connection);
        }
        let written = &mut out.buffer()[from..];
        let searched = written.len().min(SEARCHED_BYTES);
        let blank = BLANK_NAME.as_bytes();
        if let Some(at) = written[..searched].windows(blank.len()).position(|window| window == blank) {
            let name = RequestName { connection: &self.acknowledged.connection, number }.to_string();
            written[at..at + blank.len()].copy_from_slice(name.as_bytes());
        }
    }

    /// The reply to the oldest request.
    fn answered(&mut self, reply: &Reply) {
        let Some(number) = self.unanswered.pop_front() else { return };
        // A redirect may be right, and nothing is stored by it. Mail has no status here: each of its commands was accepted.
        let is_success = reply.status == 0 || reply.status / 100 == 2;
        if reply.verdict != Verdict::Right || !is_success {
            return;
        }
        add_range(&mut self.acknowledged.numbers, (number, number));
    }
}

impl ClientConn for NamedConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.unanswered.clear();
        self.conn.open(out)
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let from = out.payload().as_slice().len();
        let number = self.next;
        self.next += 1;
        self.unanswered.push_back(number);
        let tag = self.conn.request(draw, out);
        self.stamp(number, from, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let from = out.payload().as_slice().len();
        let received = self.conn.receive(tag, input, out)?;
        // What is written in between belongs to the oldest request: of mail the message, once it is asked for.
        if let Some(number) = self.unanswered.front() {
            self.stamp(*number, from, out);
        }
        if let Progress::Reply(reply) = &received.progress {
            self.answered(reply);
        }
        Ok(received)
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        self.conn.end_of_input(tag).inspect(|reply| self.answered(reply))
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.conn.counts()
    }

    fn take_acknowledged(&mut self) -> Option<OfConnection> {
        let numbers = std::mem::take(&mut self.acknowledged.numbers);
        Some(OfConnection { connection: self.acknowledged.connection.clone(), numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ClientOptions;
    use crate::request::RequestSpec;
    use crate::{Url, find};

    fn protocol(url: &str, spec: RequestSpec) -> Result<NamedRequests, String> {
        let url = Url::parse(url).unwrap();
        let spec = RequestSpec { path: url.path.replace(NAME_PLACE, BLANK_NAME), ..spec };
        let options = ClientOptions { requests: vec![spec], durability: true, ..ClientOptions::default() };
        NamedRequests::new((find(&url.scheme).unwrap().build)(&url, &options).unwrap())
    }

    fn upload() -> RequestSpec {
        RequestSpec { method: "PUT".into(), body: b"content".to_vec(), ..RequestSpec::default() }
    }

    const DRAW: Draw = Draw { random: 0, index: 0 };

    fn sent(out: &mut Outgoing) -> String {
        let text = String::from_utf8(out.payload().as_slice().to_vec()).unwrap();
        out.clear();
        text
    }

    #[test]
    fn each_upload_has_a_name_and_what_is_answered_right_is_acknowledged() {
        let named = protocol("http://h/in/{request-id}.dat", upload()).unwrap();
        assert_eq!(named.stored(), Some((Stored::Uploads, &b"content"[..])));
        let mut conn = [named.connect(), named.connect()].into_iter().nth(1).unwrap();
        let mut out = Outgoing::new();
        conn.open(&mut out);
        let tags = [(); 3].map(|()| conn.request(DRAW, &mut out));
        let written = sent(&mut out);
        let process = std::process::id();
        for number in 0..3 {
            let line = format!("PUT /in/request-{process:06x}-000001-{number:010x}.dat HTTP/1.1\r\n");
            assert!(written.contains(&line), "{written}");
        }
        let mut answer = |conn: &mut Box<dyn ClientConn>, status: &str| {
            let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            conn.receive(Some(tags[0]), reply.as_bytes(), &mut out).unwrap();
        };
        answer(&mut conn, "201 Created");
        answer(&mut conn, "507 Insufficient Storage");
        answer(&mut conn, "204 No Content");
        assert_eq!(conn.take_acknowledged().unwrap().numbers, [(0, 0), (2, 2)]);
        conn.request(DRAW, &mut Outgoing::new());
        conn.receive(
            Some(tags[0]),
            b"HTTP/1.1 303 See Other\r\nContent-Length: 0\r\n\r\n",
            &mut Outgoing::new(),
        )
        .unwrap();
        // What was under way when a connection ended is not known to be there.
        conn.request(DRAW, &mut Outgoing::new());
        conn.open(&mut Outgoing::new());
        conn.request(DRAW, &mut Outgoing::new());
        conn.receive(Some(tags[0]), b"HTTP/1.1 204 No Content\r\n\r\n", &mut Outgoing::new()).unwrap();
        let since = conn.take_acknowledged().unwrap();
        assert_eq!(
            (since.numbers, since.connection),
            (vec![(5, 5)], format!("request-{process:06x}-000001"))
        );
        assert_eq!(conn.take_acknowledged().unwrap().numbers, []);
    }

    #[test]
    fn each_mail_has_an_identification_that_it_gets_when_the_message_is_asked_for() {
        let named = protocol("smtp://h/?size=200", RequestSpec::default()).unwrap();
        let mut conn = named.connect();
        let mut out = Outgoing::new();
        conn.open(&mut out);
        conn.receive(None, b"220 h\r\n", &mut out).unwrap();
        conn.receive(None, b"250 h\r\n", &mut out).unwrap();
        out.clear();
        for number in 0..2 {
            let tag = conn.request(DRAW, &mut out);
            for line in ["250 ok\r\n", "250 ok\r\n"] {
                conn.receive(Some(tag), line.as_bytes(), &mut out).unwrap();
            }
            out.clear();
            conn.receive(Some(tag), b"354 go on\r\n", &mut out).unwrap();
            let name = format!("Message-ID: <request-{:06x}-000000-{number:010x}@", std::process::id());
            let message = sent(&mut out);
            assert!(message.starts_with(&name), "{message}");
            conn.receive(Some(tag), b"250 kept\r\n", &mut out).unwrap();
        }
        assert_eq!(conn.take_acknowledged().unwrap().numbers, [(0, 1)]);
        let Some((Stored::Mail, content)) = named.stored() else { panic!("no mail") };
        assert!(content.starts_with(b"Message-ID: <request-000000-"));
    }

    #[test]
    fn requests_of_which_nothing_is_stored_are_refused() {
        assert!(protocol("http://h/{request-id}", RequestSpec::default()).is_err());
        assert!(protocol("http://h/always-the-same", upload()).is_err());
        assert!(protocol("smtp://h/?end=rset", RequestSpec::default()).is_err());
    }
}
