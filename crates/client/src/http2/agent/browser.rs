//! A browser: one connection, on which what belongs to a page is asked for on streams of its own.

use std::sync::Arc;

use super::contract::{After, AgentPlan, Driver, Of, Wording};
use super::seats::Seats;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::{Pages, Sight};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::page::{Found, PageConn, Search};

/// What all connections share.
pub(in crate::http2) struct BrowserPlan {
    pub(in crate::http2) pages: Arc<Pages>,
}

struct Browser {
    pages: Arc<Pages>,
    /// What the next request is for, if not for a page that is drawn.
    aim: Option<(Vec<u8>, Search)>,
    sights: Seats<Sight>,
    /// What the last complete reply said.
    found: Found,
}

impl AgentPlan for BrowserPlan {
    fn agent(&self) -> Box<dyn Driver> {
        let sights = Seats::new(0, Sight::default);
        Box::new(Browser { pages: Arc::clone(&self.pages), aim: None, sights, found: Found::default() })
    }
}

impl Browser {
    fn word(&mut self, seat: u16, page: impl FnOnce() -> Tag, text: &mut Outgoing) -> (Of, Wording) {
        let sight = self.sights.get_mut(seat);
        match self.aim.take() {
            Some((target, search)) => {
                sight.aim(&target, search);
                text.bytes(b"GET ");
                text.bytes(&target);
                text.bytes(self.pages.tail);
                (Of { tag: self.pages.embedded, seat }, Wording::Whole)
            }
            None => {
                let tag = page();
                sight.aim(&self.pages.paths[tag.0 as usize], Search::Html);
                (Of { tag, seat }, Wording::Known)
            }
        }
    }
}

impl Driver for Browser {
    fn open(&mut self) {
        self.sights.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (Of, Wording) {
        let seat = self.sights.take(Sight::default);
        self.word(seat, || site.choice.next(draw), text)
    }

    /// The caller has aimed again if it is not for a page that is drawn.
    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (Of, Wording) {
        let seat = self.sights.take_again(Sight::default);
        self.word(seat, || tag, text)
    }

    fn head(&mut self, of: Of, status: u16, head: &[u8]) {
        self.sights.get_mut(of.seat).begin(&self.pages.origin, status, head);
    }

    fn body(&mut self, of: Of, piece: &[u8]) {
        self.sights.get_mut(of.seat).search(&self.pages.origin, piece);
    }

    fn replied(&mut self, of: Of, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        std::mem::swap(&mut self.found, self.sights.get_mut(of.seat).found());
        self.sights.free(of.seat);
        After::Answered(reply)
    }

    fn lost(&mut self, of: Of) {
        self.sights.free(of.seat);
    }

    fn given_back(&mut self, of: Of) {
        self.sights.keep(of.seat);
    }

    fn pages(&mut self) -> Option<&mut dyn PageConn> {
        Some(self)
    }
}

impl PageConn for Browser {
    fn aim(&mut self, target: &[u8], search: Search) {
        self.aim = Some((target.to_vec(), search));
    }

    fn found(&mut self) -> &mut Found {
        &mut self.found
    }
}
