//! A user who plays sessions, one after the other. The requests of a burst are on streams of their own, and their replies
//! may come mixed.

use std::collections::VecDeque;
use std::sync::Arc;

use super::contract::{After, AgentPlan, Driver, Of, Wording};
use super::seats::Seats;
use crate::exchange::{Draw, Reply, Tag, Verdict};
use crate::http::{Compiled, Jar, Step, path};
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::session::{IncomingReply, Play, SessionConn, Turn};

/// What all connections share.
pub(in crate::http2) struct SessionPlan {
    pub(in crate::http2) compiled: Compiled,
}

struct Session {
    play: Play,
    steps: Arc<[Step]>,
    first_jar: Jar,
    /// Of the present session.
    jar: Jar,
    requests: Seats<Request>,
    /// The steps whose replies are awaited, the oldest first.
    awaited: VecDeque<u16>,
}

#[derive(Default)]
struct Request {
    answer: IncomingReply,
    /// The body, of a request that takes values.
    body: Vec<u8>,
}

impl AgentPlan for SessionPlan {
    fn agent(&self) -> Box<dyn Driver> {
        let Compiled { scripts, steps, jar } = &self.compiled;
        Box::new(Session {
            play: Play::new(Arc::clone(scripts)),
            steps: Arc::clone(steps),
            first_jar: jar.clone(),
            jar: jar.clone(),
            requests: Seats::new(0, Request::default),
            awaited: VecDeque::new(),
        })
    }
}

impl Session {
    fn word(&mut self, of: Of, text: &mut Outgoing) -> (Of, Wording) {
        let step = &self.steps[of.tag.0 as usize];
        let jar = Some(&self.jar).filter(|jar| !step.own_cookies && !jar.is_empty());
        self.awaited.push_back(of.tag.0 as u16);
        match step.fixed {
            Some(fixed) => {
                if let Some(jar) = jar {
                    jar.write(path(fixed.bytes), text);
                }
                (of, Wording::Known)
            }
            None => {
                step.write(self.play.values(), jar, &mut self.requests.get_mut(of.seat).body, text);
                (of, Wording::Whole)
            }
        }
    }

    /// A reply to a step is not awaited any more.
    fn forget(&mut self, of: Of) {
        if let Some(at) = self.awaited.iter().position(|step| u32::from(*step) == of.tag.0) {
            self.awaited.remove(at);
        }
    }
}

impl Driver for Session {
    /// The session outlives the connection: a server may close it between two of its requests.
    fn open(&mut self) {
        self.awaited.clear();
        self.requests.iter_mut().for_each(|request| request.answer.abandon());
        self.requests.reset();
    }

    fn request(&mut self, _: &Site, draw: Draw, text: &mut Outgoing) -> (Of, Wording) {
        if self.play.is_between() {
            self.jar = self.first_jar.clone();
        }
        let tag = Tag(u32::from(self.play.next(draw)));
        let seat = self.requests.take(Request::default);
        self.word(Of { tag, seat }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (Of, Wording) {
        let seat = self.requests.take_again(Request::default);
        self.word(Of { tag, seat }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, of: Of) -> &'a [u8] {
        match self.steps[of.tag.0 as usize].fixed {
            Some(_) => &site.requests[of.tag.0 as usize].body,
            None => &self.requests.get(of.seat).body,
        }
    }

    fn head(&mut self, of: Of, status: u16, head: &[u8]) {
        let step = &self.steps[of.tag.0 as usize];
        self.jar.take(head, step.fixed.map_or(b"/", |fixed| path(fixed.bytes)));
        self.play.head(&mut self.requests.get_mut(of.seat).answer, of.tag.0 as u16, status, head);
    }

    fn body(&mut self, of: Of, piece: &[u8]) {
        self.play.body(&mut self.requests.get_mut(of.seat).answer, of.tag.0 as u16, piece);
    }

    fn replied(&mut self, of: Of, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        if reply.verdict == Verdict::Length {
            // The body is not as long as the head says, so that there is nothing to take from it.
            self.lost(of);
            return After::Answered(reply);
        }
        self.forget(of);
        let answer = &mut self.requests.get_mut(of.seat).answer;
        let verdict = self.play.answered(answer, of.tag.0 as u16);
        self.requests.free(of.seat);
        After::Answered(Reply { verdict, ..reply })
    }

    fn lost(&mut self, of: Of) {
        self.forget(of);
        self.requests.get_mut(of.seat).answer.abandon();
        self.play.lost(of.tag.0 as u16);
        self.requests.free(of.seat);
    }

    fn given_back(&mut self, of: Of) {
        self.forget(of);
        self.requests.get_mut(of.seat).answer.abandon();
        self.requests.keep(of.seat);
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
