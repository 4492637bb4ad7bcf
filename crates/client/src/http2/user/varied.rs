//! Requests with random or counted numbers. Each is written as text of HTTP/1.1, and keeps its numbers when it is sent again.

use std::sync::Arc;

use super::contract::{After, Driver, DriverPlan, RequestId, Wording};
use super::slots::UserSlots;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::Request;
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::session::Values;

/// The requests, as in HTTP/1.1.
pub(in crate::http2) struct VariedPlan {
    pub(in crate::http2) requests: Arc<[Request]>,
}

struct Varied {
    requests: Arc<[Request]>,
    slots: UserSlots<Slot>,
}

struct Slot {
    draw: Draw,
    body: Vec<u8>,
}

impl Default for Slot {
    fn default() -> Slot {
        Slot { draw: Draw { random: 0, index: 0 }, body: Vec::new() }
    }
}

impl DriverPlan for VariedPlan {
    fn driver(&self) -> Box<dyn Driver> {
        Box::new(Varied { requests: Arc::clone(&self.requests), slots: UserSlots::new(0, Slot::default) })
    }
}

impl Varied {
    fn word(&mut self, id: RequestId, text: &mut Outgoing) -> (RequestId, Wording) {
        let Some(step) = &self.requests[id.tag.0 as usize].varied else { return (id, Wording::Known) };
        let Slot { draw, body } = self.slots.get_mut(id.slot);
        step.write(Values::of(*draw), None, body, text);
        (id, Wording::Whole)
    }
}

impl Driver for Varied {
    fn open(&mut self) {
        self.slots.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (RequestId, Wording) {
        let slot = self.slots.take(Slot::default);
        self.slots.get_mut(slot).draw = draw;
        self.word(RequestId { tag: site.choice.next(draw), slot }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (RequestId, Wording) {
        let slot = self.slots.take_again(Slot::default);
        self.word(RequestId { tag, slot }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, id: RequestId) -> &'a [u8] {
        match self.requests[id.tag.0 as usize].varied {
            Some(_) => &self.slots.get(id.slot).body,
            None => &site.requests[id.tag.0 as usize].body,
        }
    }

    fn head(&mut self, _: RequestId, _: u16, _: &[u8]) {}

    fn replied(&mut self, id: RequestId, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        self.slots.free(id.slot);
        After::Answered(reply)
    }

    fn lost(&mut self, id: RequestId) {
        self.slots.free(id.slot);
    }

    fn given_back(&mut self, id: RequestId) {
        self.slots.keep(id.slot);
    }
}
