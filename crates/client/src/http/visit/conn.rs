use std::sync::Arc;

use super::visitor::{Visiting, Visitor};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::http::conn::{HttpConn, Judge};
use crate::http::head::Head;
use crate::http::reader::Parts;
use crate::http::site::{Request, Site};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;

/// A connection that keeps cookies, follows redirects, or both.
pub(in crate::http) struct VisitConn {
    http: HttpConn,
    visiting: Arc<Visiting>,
    visitor: Visitor,
}

/// Judges the reply to a request and takes cookies and redirects from its head.
struct Watch<'a> {
    judge: Judge<'a>,
    request: &'a Request,
    visiting: &'a Visiting,
    visitor: &'a mut Visitor,
}

impl VisitConn {
    pub(in crate::http) fn new(site: Arc<Site>, visiting: Arc<Visiting>) -> VisitConn {
        VisitConn { http: HttpConn::new(site), visitor: Visitor::new(&visiting), visiting }
    }
}

impl ClientConn for VisitConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.visitor.redirects.reset();
        self.http.open(out)
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let Some(jar) = self.visitor.jar.as_ref().filter(|jar| !jar.is_empty()) else {
            return self.http.request(draw, out);
        };
        let tag = self.http.site.choice.next(draw);
        let request = &self.http.site.requests[tag.0 as usize];
        // Before the empty line that ends the head.
        let (head, rest) = request.bytes.split_at(request.head_len as usize - 2);
        out.bytes(head);
        jar.write(request.path(), out);
        out.bytes(rest);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], out: &mut Outgoing) -> Result<Received, Fault> {
        let tag = tag.ok_or(Fault::Unasked)?;
        let HttpConn { site, reader, judgement, .. } = &mut self.http;
        let request = &site.requests[tag.0 as usize];
        let judge = Judge { site, tag, judgement, follows: self.visiting.follow > 0 };
        let mut watch = Watch { judge, request, visiting: &self.visiting, visitor: &mut self.visitor };
        let (consumed, ended) = reader.receive(input, &mut watch)?;
        if !ended {
            return Ok(Received { consumed, progress: Progress::More });
        }
        let follows = self.visitor.follow(&self.visiting, request, reader.persists(), out);
        if let Some(location) = self.visitor.redirects.take_elsewhere() {
            site.led_to(&location);
        }
        let progress = if follows {
            Progress::More
        } else {
            Progress::Reply(self.visitor.redirects.judged(self.http.reply(tag)))
        };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        self.http.end_of_input(tag)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.visitor.redirects.counts()
    }
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        self.visitor.head(self.visiting, self.request, head.status, bytes);
        self.judge.head(head, bytes)
    }

    fn body(&mut self, piece: &[u8]) {
        self.judge.body(piece);
    }
}
