use std::sync::Arc;

use super::head::Head;
use super::reader::{Parts, Reader};
use super::site::Site;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::judgement::Judgement;
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;

pub(super) struct HttpConn {
    pub(super) site: Arc<Site>,
    pub(super) reader: Reader,
    pub(super) judgement: Judgement,
    /// The body of a request with numbers in it.
    pub(super) scratch: Vec<u8>,
}

/// Judges the reply to one request.
pub(super) struct Judge<'a> {
    pub(super) site: &'a Site,
    pub(super) tag: Tag,
    pub(super) judgement: &'a mut Judgement,
    /// Redirects are followed.
    pub(super) follows: bool,
}

impl ClientConn for HttpConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.reader = Reader::new();
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.site.choice.next(draw);
        let request = &self.site.requests[tag.0 as usize];
        match &request.varied {
            None => out.fixed(request.bytes),
            Some(step) => step.write_whole(draw, &mut self.scratch, out),
        }
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let tag = tag.ok_or(Fault::Unasked)?;
        let mut judge = Judge { site: &self.site, tag, judgement: &mut self.judgement, follows: false };
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
        HttpConn { site, reader: Reader::new(), judgement: Judgement::NONE, scratch: Vec::new() }
    }

    /// The reply that has ended.
    pub(super) fn reply(&mut self, tag: Tag) -> Reply {
        let request = &self.site.requests[tag.0 as usize];
        self.judgement.reply(&request.expected, request.head_only, self.reader.persists())
    }
}

impl Parts for Judge<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        if (301..=308).contains(&head.status) && head.status != 304 && !self.follows {
            self.site.redirected(bytes);
        }
        *self.judgement = Judgement::begin(head.status, &self.site.statuses);
        self.site.requests[self.tag.0 as usize].head_only
    }

    fn body(&mut self, piece: &[u8]) {
        self.judgement.body(&self.site.requests[self.tag.0 as usize].expected, piece);
    }
}
