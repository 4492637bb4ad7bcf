//! A connection of a browser. It requests the pages that are drawn and the paths it is given, and searches the replies for
//! what else belongs to a page.

use std::sync::Arc;

use super::conn::{HttpConn, Judge};
use super::head::Head;
use super::reader::Parts;
use super::site::Site;
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag};
use crate::fields::field;
use crate::outgoing::Outgoing;
use crate::page::{Base, Css, Find, Found, Html, Origin, PageConn, Place, Redirect, Search};
use crate::protocol::ClientConn;

/// Shared by all connections of a browser.
pub(crate) struct Pages {
    pub(crate) origin: Origin,
    /// The paths of the requests for pages.
    pub(crate) paths: Vec<Box<[u8]>>,
    /// The rest of any other request, behind its path.
    pub(crate) tail: &'static [u8],
    /// The entry of the table of requests that stands for all of these.
    pub(crate) embedded: Tag,
}

pub(super) struct BrowserConn {
    http: HttpConn,
    pages: Arc<Pages>,
    /// The next request is for the path it was given, not for a page that is drawn.
    aimed: bool,
    search: Search,
    sight: Sight,
}

/// What is searched in one reply after the other.
#[derive(Default)]
pub(crate) struct Sight {
    /// What it is searched for.
    search: Search,
    /// The path of the reply.
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
        let tag = tag.ok_or(Fault::Unasked)?;
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
    /// The next reply is that for `target`, in which `search` is looked for.
    pub(crate) fn aim(&mut self, target: &[u8], search: Search) {
        self.base.set(target);
        self.search = search;
        // For a reply that never begins.
        self.found.clear();
    }

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
        // Without a type it is taken for a page. Browsers look at the first bytes.
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

    /// Searches a piece of the content.
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
