//! Users who keep cookies and follow redirects: one for each stream of a connection, each with its cookies.

use std::sync::Arc;

use super::contract::{After, Driver, DriverPlan, RequestId, Wording};
use super::slots::UserSlots;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::{Request, Visiting, Visitor};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;

pub(in crate::http2) struct VisitPlan {
    pub(in crate::http2) visiting: Arc<Visiting>,
    /// As in HTTP/1.1.
    pub(in crate::http2) requests: Arc<[Request]>,
    /// Users of each connection.
    pub(in crate::http2) users: u16,
}

struct Visit {
    visiting: Arc<Visiting>,
    requests: Arc<[Request]>,
    users: UserSlots<User>,
}

struct User {
    visitor: Visitor,
    /// The last redirect that was followed for the current request.
    redirect: Option<Reply>,
}

impl DriverPlan for VisitPlan {
    fn driver(&self) -> Box<dyn Driver> {
        let users = UserSlots::new(self.users, || User::new(&self.visiting));
        Box::new(Visit { visiting: Arc::clone(&self.visiting), requests: Arc::clone(&self.requests), users })
    }
}

impl User {
    fn new(visiting: &Visiting) -> User {
        User { visitor: Visitor::new(visiting), redirect: None }
    }

    fn reset(&mut self) {
        self.visitor.redirects.reset();
        self.redirect = None;
    }
}

impl Visit {
    fn request(&self, id: RequestId) -> &Request {
        &self.requests[id.tag.0 as usize]
    }

    fn word(&self, id: RequestId, text: &mut Outgoing) -> (RequestId, Wording) {
        if let Some(jar) = &self.users.get(id.slot).visitor.jar {
            jar.write(self.request(id).path(), text);
        }
        (id, Wording::Known)
    }
}

impl Driver for Visit {
    fn open(&mut self) {
        self.users.iter_mut().for_each(User::reset);
        self.users.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (RequestId, Wording) {
        let visiting = &self.visiting;
        let slot = self.users.take(|| User::new(visiting));
        self.word(RequestId { tag: site.choice.next(draw), slot }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (RequestId, Wording) {
        let visiting = &self.visiting;
        let slot = self.users.take_again(|| User::new(visiting));
        self.word(RequestId { tag, slot }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, id: RequestId) -> &'a [u8] {
        let bare = self.users.get(id.slot).visitor.redirects.is_bare();
        if bare { &[] } else { &site.requests[id.tag.0 as usize].body }
    }

    fn head(&mut self, id: RequestId, status: u16, head: &[u8]) {
        let request = &self.requests[id.tag.0 as usize];
        self.users.get_mut(id.slot).visitor.head(&self.visiting, request, status, head);
    }

    fn replied(&mut self, id: RequestId, reply: Reply, persists: bool, text: &mut Outgoing) -> After {
        let request = &self.requests[id.tag.0 as usize];
        let user = self.users.get_mut(id.slot);
        if user.visitor.follow(&self.visiting, request, persists, text) {
            user.redirect = Some(reply);
            return After::Asks(Wording::Whole);
        }
        user.redirect = None;
        let reply = user.visitor.redirects.judged(reply);
        self.users.free(id.slot);
        After::Answered(reply)
    }

    fn lost(&mut self, id: RequestId) {
        self.users.get_mut(id.slot).reset();
        self.users.free(id.slot);
    }

    fn given_back(&mut self, id: RequestId) {
        self.users.get_mut(id.slot).reset();
        self.users.keep(id.slot);
    }

    fn cut(&mut self, id: RequestId) -> Option<Reply> {
        let user = self.users.get_mut(id.slot);
        let reply = user.redirect.take();
        if reply.is_some() {
            user.visitor.redirects.cut();
        }
        self.lost(id);
        reply
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let mut sums: Vec<(&'static str, u64)> = Vec::new();
        for (name, count) in self.users.iter().flat_map(|user| user.visitor.redirects.counts()) {
            match sums.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => sums.push((name, count)),
            }
        }
        sums
    }
}
