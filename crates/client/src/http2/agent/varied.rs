//! Requests into which numbers are put. Each is written anew, as HTTP/1.1 has it, and keeps its numbers if it is sent again.

use std::sync::Arc;

use super::contract::{After, AgentPlan, Driver, Of, Wording};
use super::seats::Seats;
use crate::exchange::{Draw, Reply, Tag};
use crate::http::Request;
use crate::http2::site::Site;
use crate::outgoing::Outgoing;
use crate::session::Values;

/// What all connections share: the requests as HTTP/1.1 has them.
pub(in crate::http2) struct VariedPlan {
    pub(in crate::http2) requests: Arc<[Request]>,
}

struct Varied {
    requests: Arc<[Request]>,
    seats: Seats<Seat>,
}

/// A request under way.
struct Seat {
    draw: Draw,
    body: Vec<u8>,
}

impl Default for Seat {
    fn default() -> Seat {
        Seat { draw: Draw { random: 0, index: 0 }, body: Vec::new() }
    }
}

impl AgentPlan for VariedPlan {
    fn agent(&self) -> Box<dyn Driver> {
        Box::new(Varied { requests: Arc::clone(&self.requests), seats: Seats::new(0, Seat::default) })
    }
}

impl Varied {
    fn word(&mut self, of: Of, text: &mut Outgoing) -> (Of, Wording) {
        let Some(step) = &self.requests[of.tag.0 as usize].varied else { return (of, Wording::Known) };
        let Seat { draw, body } = self.seats.get_mut(of.seat);
        step.write(Values::of(*draw), None, body, text);
        (of, Wording::Whole)
    }
}

impl Driver for Varied {
    fn open(&mut self) {
        self.seats.reset();
    }

    fn request(&mut self, site: &Site, draw: Draw, text: &mut Outgoing) -> (Of, Wording) {
        let seat = self.seats.take(Seat::default);
        self.seats.get_mut(seat).draw = draw;
        self.word(Of { tag: site.choice.next(draw), seat }, text)
    }

    fn repeat(&mut self, tag: Tag, text: &mut Outgoing) -> (Of, Wording) {
        let seat = self.seats.take_again(Seat::default);
        self.word(Of { tag, seat }, text)
    }

    fn upload<'a>(&'a self, site: &'a Site, of: Of) -> &'a [u8] {
        match self.requests[of.tag.0 as usize].varied {
            Some(_) => &self.seats.get(of.seat).body,
            None => &site.requests[of.tag.0 as usize].body,
        }
    }

    fn head(&mut self, _: Of, _: u16, _: &[u8]) {}

    fn replied(&mut self, of: Of, reply: Reply, _: bool, _: &mut Outgoing) -> After {
        self.seats.free(of.seat);
        After::Answered(reply)
    }

    fn lost(&mut self, of: Of) {
        self.seats.free(of.seat);
    }

    fn given_back(&mut self, of: Of) {
        self.seats.keep(of.seat);
    }
}
