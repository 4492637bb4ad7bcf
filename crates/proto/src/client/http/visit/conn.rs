use std::sync::Arc;

use super::cookies::Jar;
use super::redirects::Redirects;
use crate::client::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::client::http::conn::{HttpConn, Judge};
use crate::client::http::head::Head;
use crate::client::http::reader::Parts;
use crate::client::http::site::{Request, Site};
use crate::client::outgoing::Outgoing;
use crate::client::page::Origin;
use crate::client::protocol::ClientConn;

/// What the connections of a run do beyond requests and replies.
pub(in crate::client::http) struct Visiting {
    /// The cookies that each begins with, if it keeps any.
    pub(in crate::client::http) cookies: Option<Jar>,
    /// The most redirects in a row that are followed.
    pub(in crate::client::http) follow: u16,
    /// Where they must lead to.
    pub(in crate::client::http) origin: Origin,
}

/// A connection that keeps cookies, follows redirects, or both.
pub(in crate::client::http) struct VisitConn {
    http: HttpConn,
    visiting: Arc<Visiting>,
    /// Cookies outlive the TCP connections that replace each other: they are those of a user who comes back.
    jar: Option<Jar>,
    redirects: Redirects,
}

/// Judges the reply to one request and takes from its head what is to be kept.
struct Watch<'a> {
    judge: Judge<'a>,
    request: &'a Request,
    jar: Option<&'a mut Jar>,
    redirects: Option<&'a mut Redirects>,
}

impl VisitConn {
    pub(in crate::client::http) fn new(site: Arc<Site>, visiting: Arc<Visiting>) -> VisitConn {
        VisitConn {
            http: HttpConn::new(site),
            jar: visiting.cookies.clone(),
            visiting,
            redirects: Redirects::default(),
        }
    }
}

impl ClientConn for VisitConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.redirects.reset();
        self.http.open(out)
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let Some(jar) = self.jar.as_ref().filter(|jar| !jar.is_empty()) else {
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
        let Some(tag) = tag else {
            return Err(Fault::Unasked);
        };
        let HttpConn { site, reader, judgement } = &mut self.http;
        let request = &site.requests[tag.0 as usize];
        let judge = Judge { site, tag, judgement };
        let redirects = (self.visiting.follow > 0).then_some(&mut self.redirects);
        let mut watch = Watch { judge, request, jar: self.jar.as_mut(), redirects };
        let (consumed, ended) = reader.receive(input, &mut watch)?;
        if !ended {
            return Ok(Received { consumed, progress: Progress::More });
        }
        let bounds = (&self.visiting.origin, self.visiting.follow, reader.persists());
        let follows = self.redirects.follow(request, bounds, self.jar.as_ref(), out);
        let progress = if follows { Progress::More } else { Progress::Reply(self.http.reply(tag)) };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        self.http.end_of_input(tag)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.redirects.counts()
    }
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        if let Some(redirects) = &mut self.redirects {
            redirects.begin();
        }
        for line in bytes.split(|&b| b == b'\n').skip(1) {
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if let Some(jar) = &mut self.jar
                && name.eq_ignore_ascii_case(b"set-cookie")
            {
                let path = self.redirects.as_ref().map_or(self.request.path(), |r| r.path(self.request));
                jar.set(value, path);
            } else if let Some(redirects) = &mut self.redirects
                && name.eq_ignore_ascii_case(b"location")
            {
                redirects.located(self.request, head.status, value);
            }
        }
        self.judge.head(head, bytes)
    }

    fn body(&mut self, piece: &[u8]) {
        self.judge.body(piece);
    }
}
