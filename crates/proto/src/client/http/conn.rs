use std::sync::Arc;

use super::chunked::Chunked;
use super::head::{self, Framing, Head};
use super::site::Site;
use crate::client::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::client::outgoing::Outgoing;
use crate::client::protocol::ClientConn;

pub(super) struct HttpConn {
    site: Arc<Site>,
    part: Part,
    /// Bytes of the present body that have arrived.
    at: u64,
    verdict: Verdict,
    status: u16,
    persists: bool,
}

/// Which part of a reply comes next.
enum Part {
    Head,
    Sized { left: u64 },
    Chunked(Chunked),
    UntilClose,
}

impl ClientConn for HttpConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.part = Part::Head;
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
            let (taken, ended) = match &mut self.part {
                Part::Head => match head::parse(rest)? {
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
                Part::Sized { left } => {
                    let taken = (*left).min(rest.len() as u64) as usize;
                    *left -= taken as u64;
                    let ended = *left == 0;
                    self.body(tag, &rest[..taken]);
                    (taken, ended)
                }
                Part::Chunked(chunked) => {
                    let step = chunked.step(rest)?;
                    let data = step.data;
                    self.body(tag, &rest[data]);
                    if step.consumed > 0 && !step.ended {
                        consumed += step.consumed;
                        continue;
                    }
                    (step.consumed, step.ended)
                }
                Part::UntilClose => {
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
        match (&self.part, tag) {
            (Part::UntilClose, Some(tag)) => match self.finish(tag) {
                Progress::Reply(reply) => Some(reply),
                _ => None,
            },
            _ => None,
        }
    }
}

impl HttpConn {
    pub(super) fn new(site: Arc<Site>) -> HttpConn {
        HttpConn { site, part: Part::Head, at: 0, verdict: Verdict::Right, status: 0, persists: true }
    }

    /// Starts on a reply whose head is there; true if that is all of it.
    fn begin(&mut self, tag: Tag, head: &Head) -> bool {
        let right = if self.site.statuses.is_empty() {
            head.status < 400
        } else {
            self.site.statuses.iter().any(|range| range.contains(&head.status))
        };
        self.verdict = if right { Verdict::Right } else { Verdict::Status(head.status) };
        self.status = head.status;
        self.persists = head.persists;
        self.at = 0;
        let bodiless = matches!(head.status, 204 | 304) || self.site.requests[tag.0 as usize].head_only;
        match head.framing {
            _ if bodiless => return true,
            Framing::Sized(0) => return true,
            Framing::Sized(left) => self.part = Part::Sized { left },
            Framing::Chunked => self.part = Part::Chunked(Chunked::new()),
            Framing::UntilClose => self.part = Part::UntilClose,
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
        // A wrong length takes precedence over wrong bytes, so that the verdict does not depend on how the body is split.
        if matches!(self.verdict, Verdict::Right | Verdict::Bytes)
            && !request.head_only
            && request.expected.complete(self.at) == Verdict::Length
        {
            self.verdict = Verdict::Length;
        }
        let persists = self.persists && !matches!(self.part, Part::UntilClose);
        self.part = Part::Head;
        Progress::Reply(Reply { verdict: self.verdict, status: self.status, persists })
    }
}
