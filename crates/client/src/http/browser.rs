//! A connection of a browser: it asks for pages as they are drawn and for other paths as it is told, and reads in the
//! replies what else belongs to a page.

use std::sync::Arc;

use super::conn::{HttpConn, Judge};
use super::head::Head;
use super::reader::Parts;
use super::site::Site;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::outgoing::Outgoing;
use crate::page::{Base, Css, Find, Found, Html, Origin, PageConn, Place, Redirect, Search};
use crate::protocol::ClientConn;

/// What a browser needs to know beside the requests for pages. All its connections share it.
pub(crate) struct Pages {
    pub(crate) origin: Origin,
    /// The paths of the requests for pages.
    pub(crate) paths: Vec<Box<[u8]>>,
    /// What stands behind the path of any other request.
    pub(crate) tail: &'static [u8],
    /// The entry of the table of requests that stands for all of these.
    pub(crate) embedded: Tag,
}

pub(super) struct BrowserConn {
    http: HttpConn,
    pages: Arc<Pages>,
    /// The next request is for this path, and not for a page that is drawn.
    aimed: bool,
    search: Search,
    sight: Sight,
}

/// What is seen in one reply after the other.
#[derive(Default)]
pub(crate) struct Sight {
    /// What it is searched for.
    search: Search,
    /// The path that it is the reply for.
    base: Base,
    html: Html,
    css: Css,
    found: Found,
}

/// Judges the reply to one request and searches it.
struct Watch<'a> {
    judge: Judge<'a>,
    origin: &'a Origin,
    sight: &'a mut Sight,
}

impl BrowserConn {
    pub(super) fn new(site: Arc<Site>, pages: Arc<Pages>) -> BrowserConn {
        BrowserConn {
            http: HttpConn::new(site),
            pages,
            aimed: false,
            search: Search::Html,
            sight: Sight::default(),
        }
    }
}

impl PageConn for BrowserConn {
    fn aim(&mut self, target: &[u8], search: Search) {
        self.sight.base.set(target);
        self.search = search;
        self.aimed = true;
    }

    fn found(&mut self) -> &mut Found {
        &mut self.sight.found
    }
}

impl ClientConn for BrowserConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.http.open(out)
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let search = std::mem::replace(&mut self.search, Search::Html);
        let tag = if std::mem::take(&mut self.aimed) {
            out.bytes(b"GET ");
            out.bytes(self.sight.base.target());
            out.bytes(self.pages.tail);
            self.pages.embedded
        } else {
            let tag = self.http.request(draw, out);
            self.sight.base.set(&self.pages.paths[tag.0 as usize]);
            tag
        };
        self.sight.search = search;
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let Some(tag) = tag else {
            return Err(Fault::Unasked);
        };
        let HttpConn { site, reader, judgement, .. } = &mut self.http;
        let judge = Judge { site, tag, judgement, follows: false };
        let mut watch = Watch { judge, origin: &self.pages.origin, sight: &mut self.sight };
        let (consumed, ended) = reader.receive(input, &mut watch)?;
        let progress = if ended { Progress::Reply(self.http.reply(tag)) } else { Progress::More };
        Ok(Received { consumed, progress })
    }

    fn end_of_input(&mut self, tag: Option<Tag>) -> Option<Reply> {
        self.http.end_of_input(tag)
    }

    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        Some(self)
    }
}

impl Parts for Watch<'_> {
    fn head(&mut self, head: &Head, bytes: &[u8]) -> bool {
        self.sight.begin(self.origin, head.status, bytes);
        self.judge.head(head, bytes)
    }

    fn body(&mut self, piece: &[u8]) {
        self.sight.search(self.origin, piece);
        self.judge.body(piece);
    }
}

impl Sight {
    /// The next reply is that for this path, and is searched for that.
    pub(crate) fn aim(&mut self, target: &[u8], search: Search) {
        self.base.set(target);
        self.search = search;
        // A reply that never begins says nothing.
        self.found.clear();
    }

    /// What the present reply said.
    pub(crate) fn found(&mut self) -> &mut Found {
        &mut self.found
    }

    /// A reply with this head begins.
    pub(crate) fn begin(&mut self, origin: &Origin, status: u16, head: &[u8]) {
        self.found.clear();
        self.html.reset();
        self.css.reset();
        let says_html = |value: &[u8]| {
            let kind = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
            kind.eq_ignore_ascii_case(b"text/html") || kind.eq_ignore_ascii_case(b"application/xhtml+xml")
        };
        // What has no type is taken for a page, as browsers do that look at its first bytes.
        if self.search == Search::Html && !field(head, b"content-type").is_none_or(says_html) {
            self.search = Search::Nothing;
        }
        if matches!(status, 301 | 302 | 303 | 307 | 308) {
            let mut target = Vec::new();
            let location = field(head, b"location").unwrap_or_default();
            self.found.redirect = match self.base.resolve(origin, location, &mut target) {
                Place::Here => Redirect::Here(target),
                Place::Elsewhere | Place::Nowhere => Redirect::Elsewhere,
            };
            self.search = Search::Nothing;
        }
    }

    /// More of its content has come.
    pub(crate) fn search(&mut self, origin: &Origin, piece: &[u8]) {
        let Sight { search, base, html, css, found } = self;
        found.bytes += piece.len() as u64;
        let mut note = |find: Find<'_>| found.note(origin, base, find.kind, &find.address);
        match search {
            Search::Html => html.feed(piece, &mut note),
            Search::Css => css.feed(piece, &mut note),
            Search::Nothing => {}
        }
    }
}

/// The value of the first field of that name, which is in lower case.
fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    head.split(|&b| b == b'\n').skip(1).find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(name).then(|| line[colon + 1..].trim_ascii())
    })
}
