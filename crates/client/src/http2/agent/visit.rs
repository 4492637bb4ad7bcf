//! Users who keep cookies and follow redirects: as many on a connection as it has streams, each with cookies of its own.

use std::sync::Arc;

use super::contract::{After, AgentPlan, Driver, Of, Wording};
use super::seats::Seats;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::{Request, Visiting, Visitor};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;

/// What all connections share.
pub(in crate::http2) struct VisitPlan {
    pub(in crate::http2) visiting: Arc<Visiting>,
    /// The requests as HTTP/1.1 has them.
    pub(in crate::http2) requests: Arc<[Request]>,
    /// Users of each connection.
    pub(in crate::http2) users: u16,
}

struct Visit {
    visiting: Arc<Visiting>,
    requests: Arc<[Request]>,
    users: Seats<User>,
}

struct User {
    visitor: Visitor,
    /// The last redirect that was followed for the present request.
    redirect: Option<Reply>,
}

impl AgentPlan for VisitPlan {
    fn agent(&self) -> Box<dyn Driver> {
        let users = Seats::new(self.users, || User::new(&self.visiting));
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
    fn request(&self, of: Of) -> &Request {
        &self.requests[of.tag.0 as usize]
    }

    fn word(&self, of: Of, text: &mut Outgoing) -> (Of, Wording) {
        if let Some(jar) = &self.users.get(of.seat).visitor.jar {
            jar.write(self.request(of).path(), text);
        }
        (of, Wording::Known)
    }
}

impl Driver for Visit {
    fn open(&mut self) {
        self.users.iter_mut().for_each(User::reset);
        self.users.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (Of, Wording) {
        let visiting = &self.visiting;
        let seat = self.users.take(|| User::new(visiting));
        self.word(Of { tag: site.choice.next(draw), seat }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (Of, Wording) {
        let visiting = &self.visiting;
        let seat = self.users.take_again(|| User::new(visiting));
        self.word(Of { tag, seat }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, of: Of) -> &'a [u8] {
        let bare = self.users.get(of.seat).visitor.redirects.is_bare();
        if bare { &[] } else { &site.requests[of.tag.0 as usize].body }
    }

    fn head(&mut self, of: Of, status: u16, head: &[u8]) {
        let request = &self.requests[of.tag.0 as usize];
        self.users.get_mut(of.seat).visitor.head(&self.visiting, request, status, head);
    }

    fn replied(&mut self, of: Of, reply: Reply, persists: bool, text: &mut Outgoing) -> After {
        let request = &self.requests[of.tag.0 as usize];
        let user = self.users.get_mut(of.seat);
        if user.visitor.follow(&self.visiting, request, persists, text) {
            user.redirect = Some(reply);
            return After::Asks(Wording::Whole);
        }
        user.redirect = None;
        let reply = user.visitor.redirects.judged(reply);
        self.users.free(of.seat);
        After::Answered(reply)
    }

    fn lost(&mut self, of: Of) {
        self.users.get_mut(of.seat).reset();
        self.users.free(of.seat);
    }

    fn given_back(&mut self, of: Of) {
        self.users.get_mut(of.seat).reset();
        self.users.keep(of.seat);
    }

    fn cut(&mut self, of: Of) -> Option<Reply> {
        let user = self.users.get_mut(of.seat);
        let reply = user.redirect.take();
        if reply.is_some() {
            user.visitor.redirects.cut();
        }
        self.lost(of);
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
