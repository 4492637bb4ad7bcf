//! A browser: one connection, with a stream for each part of a page.

use std::sync::Arc;

use super::contract::{After, Driver, DriverPlan, RequestId, Wording};
use super::slots::UserSlots;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::{Pages, Sight};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::page::{Found, PageConn, Search};

pub(in crate::http2) struct BrowserPlan {
    pub(in crate::http2) pages: Arc<Pages>,
}

struct Browser {
    pages: Arc<Pages>,
    /// The target of the next request, if it is not for a page that is drawn.
    aim: Option<(Vec<u8>, Search)>,
    sights: UserSlots<Sight>,
    /// Found in the last complete reply.
    found: Found,
}

impl DriverPlan for BrowserPlan {
    fn driver(&self) -> Box<dyn Driver> {
        let sights = UserSlots::new(0, Sight::default);
        Box::new(Browser { pages: Arc::clone(&self.pages), aim: None, sights, found: Found::default() })
    }
}

impl Browser {
    fn word(&mut self, slot: u16, page: impl FnOnce() -> Tag, text: &mut Outgoing) -> (RequestId, Wording) {
        let sight = self.sights.get_mut(slot);
        match self.aim.take() {
            Some((target, search)) => {
                sight.aim(&target, search);
                text.bytes(b"GET ");
                text.bytes(&target);
                text.bytes(self.pages.tail);
                (RequestId { tag: self.pages.embedded, slot }, Wording::Whole)
            }
            None => {
                let tag = page();
                sight.aim(&self.pages.paths[tag.0 as usize], Search::Html);
                (RequestId { tag, slot }, Wording::Known)
            }
        }
    }
}

impl Driver for Browser {
    fn open(&mut self) {
        self.sights.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (RequestId, Wording) {
        let slot = self.sights.take(Sight::default);
        self.word(slot, || site.choice.next(draw), text)
    }

    /// The caller has set the target again, unless it is for a page that is drawn.
    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (RequestId, Wording) {
        let slot = self.sights.take_again(Sight::default);
        self.word(slot, || tag, text)
    }

    fn head(&mut self, id: RequestId, status: u16, head: &[u8]) {
        self.sights.get_mut(id.slot).begin(&self.pages.origin, status, head);
    }

    fn body(&mut self, id: RequestId, piece: &[u8]) {
        self.sights.get_mut(id.slot).search(&self.pages.origin, piece);
    }

    fn replied(&mut self, id: RequestId, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        std::mem::swap(&mut self.found, self.sights.get_mut(id.slot).found());
        self.sights.free(id.slot);
        After::Answered(reply)
    }

    fn lost(&mut self, id: RequestId) {
        self.sights.free(id.slot);
    }

    fn given_back(&mut self, id: RequestId) {
        self.sights.keep(id.slot);
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
