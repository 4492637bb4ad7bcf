//! The client's side of HTTP/1.1 (RFC 9112), for any server.
//!
//! Each reply's status line and framing are read, whatever the last one looked like; nothing else of a head is looked
//! at, so that a reply costs some fifty nanoseconds. Content is compared only where asked.

mod build;
mod chunked;
mod expected;
mod head;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;
use std::sync::Arc;

pub(super) use build::build;
use chunked::Chunked;
pub(super) use expected::Expected;
use head::{Framing, Head};

use super::{ClientConn, ClientProtocol, Draw, Fault, Opening, Outgoing, Progress, Received, Reply};
use super::{RequestChoice, Tag, Verdict};

struct Http {
    site: Arc<Site>,
}

/// The requests of a run and what is expected of their replies.
struct Site {
    requests: Vec<Request>,
    choice: RequestChoice,
    /// Empty: everything below 400.
    statuses: Vec<RangeInclusive<u16>>,
}

struct Request {
    bytes: &'static [u8],
    /// The reply to HEAD has a head that speaks of a body, and no body.
    head_only: bool,
    expected: Expected,
}

impl ClientProtocol for Http {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(Conn {
            site: Arc::clone(&self.site),
            state: State::Head,
            at: 0,
            verdict: Verdict::Right,
            persists: true,
        })
    }

    fn request_bytes_max(&self) -> Option<usize> {
        self.site.requests.iter().map(|r| r.bytes.len()).max()
    }
}

struct Conn {
    site: Arc<Site>,
    state: State,
    /// Bytes of the present body that have arrived.
    at: u64,
    verdict: Verdict,
    persists: bool,
}

enum State {
    Head,
    Sized { left: u64 },
    Chunked(Chunked),
    UntilClose,
}

impl ClientConn for Conn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.state = State::Head;
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.site.choice.next(draw);
        out.fixed(self.site.requests[tag.0 as usize].bytes);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let Some(tag) = tag else {
            return Err(Fault::Unasked);
        };
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let (taken, ended) = match &mut self.state {
                State::Head => match head::parse(rest)? {
                    None => (0, false),
                    Some(head) => {
                        consumed += head.len;
                        // Interim replies (RFC 9110 section 15.2) come before the one that counts.
                        if !(100..200).contains(&head.status) && self.begin(tag, &head) {
                            return Ok(Received { consumed, progress: self.finish(tag) });
                        }
                        continue;
                    }
                },
                State::Sized { left } => {
                    let taken = (*left).min(rest.len() as u64) as usize;
                    *left -= taken as u64;
                    let ended = *left == 0;
                    self.body(tag, &rest[..taken]);
                    (taken, ended)
                }
                State::Chunked(chunked) => {
                    let step = chunked.step(rest)?;
                    let data = step.data;
                    self.body(tag, &rest[data]);
                    if step.consumed > 0 && !step.ended {
                        consumed += step.consumed;
                        continue;
                    }
                    (step.consumed, step.ended)
                }
                State::UntilClose => {
                    self.body(tag, rest);
                    (rest.len(), false)
                }
            };
            consumed += taken;
            let progress = if ended { self.finish(tag) } else { Progress::More };
            return Ok(Received { consumed, progress });
        }
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        match (&self.state, tag) {
            (State::UntilClose, Some(tag)) => match self.finish(tag) {
                Progress::Reply(reply) => Some(reply),
                Progress::More | Progress::Ready => None,
            },
            _ => None,
        }
    }
}

impl Conn {
    /// Starts on a reply whose head is there; true if that is all of it.
    fn begin(&mut self, tag: Tag, head: &Head) -> bool {
        let right = if self.site.statuses.is_empty() {
            head.status < 400
        } else {
            self.site.statuses.iter().any(|range| range.contains(&head.status))
        };
        self.verdict = if right { Verdict::Right } else { Verdict::Status(head.status) };
        self.persists = head.persists;
        self.at = 0;
        let bodiless = matches!(head.status, 204 | 304) || self.site.requests[tag.0 as usize].head_only;
        match head.framing {
            _ if bodiless => return true,
            Framing::Sized(0) => return true,
            Framing::Sized(left) => self.state = State::Sized { left },
            Framing::Chunked => self.state = State::Chunked(Chunked::new()),
            Framing::UntilClose => self.state = State::UntilClose,
        }
        false
    }

    fn body(&mut self, tag: Tag, bytes: &[u8]) {
        if self.verdict == Verdict::Right {
            self.verdict = self.site.requests[tag.0 as usize].expected.compare(self.at, bytes);
        }
        self.at += bytes.len() as u64;
    }

    fn finish(&mut self, tag: Tag) -> Progress {
        let request = &self.site.requests[tag.0 as usize];
        // A wrong length is told even where a piece of the body was wrong before: it depends on no cut.
        if matches!(self.verdict, Verdict::Right | Verdict::Bytes)
            && !request.head_only
            && request.expected.complete(self.at) == Verdict::Length
        {
            self.verdict = Verdict::Length;
        }
        let persists = self.persists && !matches!(self.state, State::UntilClose);
        self.state = State::Head;
        Progress::Reply(Reply { verdict: self.verdict, persists })
    }
}
