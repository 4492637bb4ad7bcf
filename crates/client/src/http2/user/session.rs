//! A user who plays sessions, one after the other. The requests of a burst are on separate streams; their replies may be
//! interleaved.

use std::collections::VecDeque;
use std::sync::Arc;

use super::contract::{After, Driver, DriverPlan, RequestId, Wording};
use super::slots::UserSlots;
use crate::exchange::{Draw, Reply, Tag, Verdict};
use crate::http::{Compiled, Jar, Step, path};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::session::{IncomingReply, Play, SessionConn, Turn};

pub(in crate::http2) struct SessionPlan {
    pub(in crate::http2) compiled: Compiled,
}

struct Session {
    play: Play,
    steps: Arc<[Step]>,
    first_jar: Jar,
    /// Of the present session.
    jar: Jar,
    requests: UserSlots<Request>,
    /// Steps without a reply, the oldest first.
    awaited: VecDeque<u16>,
}

#[derive(Default)]
struct Request {
    answer: IncomingReply,
    /// The body of a request with values in it.
    body: Vec<u8>,
}

impl DriverPlan for SessionPlan {
    fn driver(&self) -> Box<dyn Driver> {
        let Compiled { scripts, steps, jar } = &self.compiled;
        Box::new(Session {
            play: Play::new(Arc::clone(scripts)),
            steps: Arc::clone(steps),
            first_jar: jar.clone(),
            jar: jar.clone(),
            requests: UserSlots::new(0, Request::default),
            awaited: VecDeque::new(),
        })
    }
}

impl Session {
    fn word(&mut self, id: RequestId, text: &mut Outgoing) -> (RequestId, Wording) {
        let step = &self.steps[id.tag.0 as usize];
        let jar = Some(&self.jar).filter(|jar| !step.own_cookies && !jar.is_empty());
        self.awaited.push_back(id.tag.0 as u16);
        match step.fixed {
            Some(fixed) => {
                if let Some(jar) = jar {
                    jar.write(path(fixed.bytes), text);
                }
                (id, Wording::Known)
            }
            None => {
                step.write(self.play.values(), jar, &mut self.requests.get_mut(id.slot).body, text);
                (id, Wording::Whole)
            }
        }
    }

    /// A step no longer waits for a reply.
    fn forget(&mut self, id: RequestId) {
        if let Some(at) = self.awaited.iter().position(|step| u32::from(*step) == id.tag.0) {
            self.awaited.remove(at);
        }
    }
}

impl Driver for Session {
    /// A session continues on a new connection when the server closes the old one.
    fn open(&mut self) {
        self.awaited.clear();
        self.requests.iter_mut().for_each(|request| request.answer.abandon());
        self.requests.reset();
    }

    fn request(&mut self, _: &Site, draw: Draw, text: &mut Outgoing) -> (RequestId, Wording) {
        if self.play.is_between() {
            self.jar = self.first_jar.clone();
        }
        let tag = Tag(u32::from(self.play.next(draw)));
        let slot = self.requests.take(Request::default);
        self.word(RequestId { tag, slot }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (RequestId, Wording) {
        let slot = self.requests.take_again(Request::default);
        self.word(RequestId { tag, slot }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, id: RequestId) -> &'a [u8] {
        match self.steps[id.tag.0 as usize].fixed {
            Some(_) => &site.requests[id.tag.0 as usize].body,
            None => &self.requests.get(id.slot).body,
        }
    }

    fn head(&mut self, id: RequestId, status: u16, head: &[u8]) {
        let step = &self.steps[id.tag.0 as usize];
        self.jar.take(head, step.fixed.map_or(b"/", |fixed| path(fixed.bytes)));
        self.play.head(&mut self.requests.get_mut(id.slot).answer, id.tag.0 as u16, status, head);
    }

    fn body(&mut self, id: RequestId, piece: &[u8]) {
        self.play.body(&mut self.requests.get_mut(id.slot).answer, id.tag.0 as u16, piece);
    }

    fn replied(&mut self, id: RequestId, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        if reply.verdict == Verdict::Length {
            // The body is not as long as the head says, so that there is nothing to take from it.
            self.lost(id);
            return After::Answered(reply);
        }
        self.forget(id);
        let answer = &mut self.requests.get_mut(id.slot).answer;
        let verdict = self.play.answered(answer, id.tag.0 as u16);
        self.requests.free(id.slot);
        After::Answered(Reply { verdict, ..reply })
    }

    fn lost(&mut self, id: RequestId) {
        self.forget(id);
        self.requests.get_mut(id.slot).answer.abandon();
        self.play.lost(id.tag.0 as u16);
        self.requests.free(id.slot);
    }

    fn given_back(&mut self, id: RequestId) {
        self.forget(id);
        self.requests.get_mut(id.slot).answer.abandon();
        self.requests.keep(id.slot);
    }

    fn session(&mut self) -> Option<&mut dyn SessionConn> {
        Some(self)
    }
}

impl SessionConn for Session {
    fn room(&self) -> u16 {
        self.play.room()
    }

    fn turn(&mut self) -> Turn {
        self.play.turn()
    }

    fn abandon(&mut self) -> Option<u16> {
        self.play.abandon(self.awaited.front().copied())
    }
}
