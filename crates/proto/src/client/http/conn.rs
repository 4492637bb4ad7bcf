use std::sync::Arc;

use super::head::Head;
use super::reader::{Parts, Reader};
use super::site::Site;
use crate::client::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::client::outgoing::Outgoing;
use crate::client::protocol::ClientConn;

pub(super) struct HttpConn {
    pub(super) site: Arc<Site>,
    pub(super) reader: Reader,
    pub(super) judgement: Judgement,
}

/// What is known of the present reply.
pub(super) struct Judgement {
    /// Bytes of its body that have arrived.
    at: u64,
    status: u16,
    verdict: Verdict,
}

/// Judges the reply to one request.
pub(super) struct Judge<'a> {
    pub(super) site: &'a Site,
    pub(super) tag: Tag,
    pub(super) judgement: &'a mut Judgement,
}

impl ClientConn for HttpConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reader = Reader::new();
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
        let mut judge = Judge { site: &self.site, tag, judgement: &mut self.judgement };
        let (consumed, ended) = self.reader.receive(input, &mut judge)?;
        let progress = if ended { Progress::Reply(self.reply(tag)) } else { Progress::More };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        let tag = tag?;
        self.reader.end_of_input().then(|| self.reply(tag))
    }
}

impl HttpConn {
    pub(super) fn new(site: Arc<Site>) -> HttpConn {
        let judgement = Judgement { at: 0, status: 0, verdict: Verdict::Right };
        HttpConn { site, reader: Reader::new(), judgement }
    }

    /// The reply that has ended.
    pub(super) fn reply(&mut self, tag: Tag) -> Reply {
        let request = &self.site.requests[tag.0 as usize];
        let Judgement { at, status, verdict } = self.judgement;
        // A wrong length takes precedence over wrong bytes, so that the verdict does not depend on how the body is split.
        let wrong_length = matches!(verdict, Verdict::Right | Verdict::Bytes)
            && !request.head_only
            && request.expected.complete(at) == Verdict::Length;
        let verdict = if wrong_length { Verdict::Length } else { verdict };
        Reply { verdict, status, persists: self.reader.persists() }
    }
}

impl Parts for Judge<'_> {
    fn head(&mut self, head: &Head, _: &[u8]) -> bool {
        let right = if self.site.statuses.is_empty() {
            head.status < 400
        } else {
            self.site.statuses.iter().any(|range| range.contains(&head.status))
        };
        self.judgement.verdict = if right { Verdict::Right } else { Verdict::Status(head.status) };
        self.judgement.status = head.status;
        self.judgement.at = 0;
        self.site.requests[self.tag.0 as usize].head_only
    }

    fn body(&mut self, piece: &[u8]) {
        let judgement = &mut *self.judgement;
        if judgement.verdict == Verdict::Right {
            let expected = &self.site.requests[self.tag.0 as usize].expected;
            judgement.verdict = expected.compare(judgement.at, piece);
        }
        judgement.at += piece.len() as u64;
    }
}
