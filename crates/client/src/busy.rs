//! The client's side of [`busy`](pitot_proto::busy).

use crate::entry::ClientEntry;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol};
use crate::url::Url;
use pitot_proto::busy::REPLY;

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "busy",
    summary: "one connection per request, which the server answers with `450 too busy` and closes",
    doc: "The client of the 2001 comparison of task architectures. A request is a whole connection. It completes \
          when the server has sent its line and closed the connection, and is right if the line is the expected one.",
    port: None,
    tls: None,
    requests_per_connection_max: Some(1),
    url_options: &[],
    has_statuses: false,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: false,
    has_sessions: false,
    example: "busy://127.0.0.1:8080",
    build,
};

struct Busy;

fn build(url: &Url, _: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    if url.path.len() > 1 {
        return Err(format!("busy:// takes no path: remove `{}` from the URL", url.path));
    }
    Ok(Box::new(Busy))
}

impl ClientProtocol for Busy {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(BusyConn { matched: 0, verdict: Verdict::Right })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        Some(0)
    }
}

struct BusyConn {
    matched: usize,
    verdict: Verdict,
}

impl ClientConn for BusyConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        *self = BusyConn { matched: 0, verdict: Verdict::Right };
        Opening::Ready
    }

    fn request(&mut self, _: Draw, _: &mut Outgoing) -> Tag {
        Tag(0)
    }

    fn receive(&mut self, _: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let rest = &REPLY[self.matched..];
        if input.len() > rest.len() {
            return Err(Fault::Unasked);
        }
        if input != &rest[..input.len()] {
            self.verdict = Verdict::Bytes;
        }
        self.matched += input.len();
        Ok(Received { consumed: input.len(), progress: Progress::More })
    }

    fn end_of_input(&mut self, _: Option<Tag>) -> Option<Reply> {
        let verdict = match self.matched {
            0 => return None,
            n if n < REPLY.len() => Verdict::Length,
            _ => self.verdict,
        };
        Some(Reply { verdict, status: 0, persists: false, content: self.matched as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(pieces: &[&[u8]]) -> Result<Option<Verdict>, Fault> {
        let mut conn = Busy.connect();
        let mut out = Outgoing::new();
        conn.open(&mut out);
        for piece in pieces {
            conn.receive(Some(Tag(0)), piece, &mut out)?;
        }
        Ok(conn.end_of_input(Some(Tag(0))).map(|r| r.verdict))
    }

    #[test]
    fn the_line_is_right_wherever_it_is_split() {
        for at in 0..=REPLY.len() {
            assert_eq!(judge(&[&REPLY[..at], &REPLY[at..]]), Ok(Some(Verdict::Right)));
        }
    }

    #[test]
    fn short_long_wrong_and_missing_lines_are_told_apart() {
        assert_eq!(judge(&[&REPLY[..5]]), Ok(Some(Verdict::Length)));
        assert_eq!(judge(&[b"451 too busy\r\n"]), Ok(Some(Verdict::Bytes)));
        assert_eq!(judge(&[REPLY, b"!"]), Err(Fault::Unasked));
        assert_eq!(judge(&[]), Ok(None));
    }
}
