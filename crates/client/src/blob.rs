//! The client's side of [`blob`](pitot_proto::blob).

use std::sync::Arc;

use crate::choice::RequestChoice;
use crate::entry::ClientEntry;
use crate::exchange::{Draw, Fault, Opening, Received, Tag};
use crate::expected::SizedReply;
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::url::Url;
use pitot_proto::blob;

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "blob",
    summary: "requests of N bytes each on persistent connections",
    doc: "The client of the 2006 comparison of select and epoll. The path is the size in bytes (default 1024). The \
          length of each reply is checked; with --verify, its content too.",
    port: None,
    tls: None,
    requests_per_connection_max: None,
    url_options: &[],
    has_statuses: false,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: false,
    has_sessions: false,
    example: "blob://127.0.0.1:8080/1024",
    build,
};

struct Blob {
    table: Arc<Table>,
}

struct Table {
    requests: Vec<(&'static [u8], u64)>,
    choice: RequestChoice,
    verify: bool,
}

fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let mut requests = Vec::new();
    for spec in &options.requests {
        let size = spec.path.trim_start_matches('/');
        let line = if size.is_empty() { "GET".to_owned() } else { format!("GET {size}") };
        let bytes = blob::parse(line.as_bytes())
            .ok_or_else(|| format!("`{size}` is not a number of bytes from 1 to {}", blob::SIZE_MAX))?;
        requests.push((&*format!("{line}\n").into_bytes().leak(), bytes));
    }
    let choice = RequestChoice::of(options)?;
    Ok(Box::new(Blob { table: Arc::new(Table { requests, choice, verify: options.verify }) }))
}

impl ClientProtocol for Blob {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(BlobConn { table: Arc::clone(&self.table), reply: SizedReply::START })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        self.table.requests.iter().map(|(line, _)| line.len()).max()
    }
}

struct BlobConn {
    table: Arc<Table>,
    reply: SizedReply,
}

impl ClientConn for BlobConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reply = SizedReply::START;
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.table.choice.next(draw);
        out.fixed(self.table.requests[tag.0 as usize].0);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let tag = tag.ok_or(Fault::Unasked)?;
        let size = self.table.requests[tag.0 as usize].1;
        Ok(self.reply.receive(size, input, self.table.verify))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Progress, Reply, Verdict};
    use crate::request::RequestSpec;
    use pitot_proto::pattern_at;

    fn protocol(path: &str) -> Result<Box<dyn ClientProtocol>, String> {
        let url = Url::parse("blob://h:1").unwrap();
        let request = RequestSpec { path: path.into(), ..RequestSpec::default() };
        build(&url, &ClientOptions { requests: vec![request], verify: true, ..ClientOptions::default() })
    }

    #[test]
    fn pipelined_replies_are_separated_wherever_the_input_is_split() {
        let input: Vec<u8> = (0..2).flat_map(|_| (0..10).map(pattern_at)).collect();
        for at in 0..=input.len() {
            let mut conn = protocol("/10").unwrap().connect();
            let mut out = Outgoing::new();
            conn.open(&mut out);
            let mut replies = 0;
            for mut piece in [&input[..at], &input[at..]] {
                while !piece.is_empty() {
                    let r = conn.receive(Some(Tag(0)), piece, &mut out).unwrap();
                    piece = &piece[r.consumed..];
                    if let Progress::Reply(reply) = r.progress {
                        assert_eq!(
                            reply,
                            Reply { verdict: Verdict::Right, status: 0, persists: true, content: 10 }
                        );
                        replies += 1;
                    }
                }
            }
            assert_eq!(replies, 2);
        }
    }

    #[test]
    fn a_wrong_byte_is_seen_and_does_not_taint_the_next_reply() {
        let mut conn = protocol("3").unwrap().connect();
        let mut out = Outgoing::new();
        let wrong = conn.receive(Some(Tag(0)), b"no!", &mut out).unwrap().progress;
        assert_eq!(
            wrong,
            Progress::Reply(Reply { verdict: Verdict::Bytes, status: 0, persists: true, content: 3 })
        );
        let right: Vec<u8> = (0..3).map(pattern_at).collect();
        let right = conn.receive(Some(Tag(0)), &right, &mut out).unwrap().progress;
        let wanted = Reply { verdict: Verdict::Right, status: 0, persists: true, content: 3 };
        assert_eq!(right, Progress::Reply(wanted));
        assert_eq!(conn.receive(None, b"x", &mut out), Err(Fault::Unasked));
    }

    #[test]
    fn a_path_is_a_size() {
        let mut out = Outgoing::new();
        protocol("").unwrap().connect().request(Draw { random: 0, index: 0 }, &mut out);
        assert_eq!(out.payload().as_slice(), b"GET\n");
        for path in ["/0", "/x", "/1/2", "/-1"] {
            assert!(protocol(path).is_err(), "{path}");
        }
    }
}
