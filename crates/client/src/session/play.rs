use std::sync::Arc;
use std::time::Duration;

use super::conn::{SessionConn, Turn};
use super::scripts::{Scripts, Why};
use super::template::Values;
use crate::exchange::{Draw, Verdict};
use crate::stream::Stream;
use pitot_proto::http::syntax::write_decimal;

/// The longest body that is searched for values, bytes.
const BODY_MAX: usize = 1 << 20;
/// Above this size in bytes, the buffer of a body is shrunk.
const BODY_KEPT: usize = 16 * 1024;

/// The progress of a connection in the current session.
#[derive(Debug)]
pub(crate) struct Play {
    scripts: Arc<Scripts>,
    /// The first step of the current session and the end; equal between sessions.
    begin: u16,
    end: u16,
    /// The next step to write, and the number of replies.
    next: u16,
    answered: u16,
    /// The failed step.
    failed: Option<u16>,
    /// The number of the session in the run.
    number: u64,
    /// Source of the random numbers of the latest request.
    random: u64,
    values: Vec<Vec<u8>>,
    turn: Turn,
}

/// A reply of a session that is arriving. Those of a burst may be interleaved.
#[derive(Debug, Default)]
pub(crate) struct IncomingReply {
    /// Why it is wrong, and the part of its body that has come, if it is searched for a value.
    why: Option<Why>,
    body: Vec<u8>,
}

/// The sessions of a connection whose replies come in order.
#[derive(Debug)]
pub(crate) struct InTurn {
    pub(crate) play: Play,
    pub(crate) answer: IncomingReply,
}

impl InTurn {
    pub(crate) fn new(scripts: Arc<Scripts>) -> InTurn {
        InTurn { play: Play::new(scripts), answer: IncomingReply::default() }
    }

    /// As [`Play::answered`].
    pub(crate) fn answered(&mut self, step: u16) -> Verdict {
        self.play.answered(&mut self.answer, step)
    }
}

impl SessionConn for InTurn {
    fn room(&self) -> u16 {
        self.play.room()
    }

    fn turn(&mut self) -> Turn {
        self.play.turn()
    }

    fn abandon(&mut self) -> Option<u16> {
        self.answer.abandon();
        self.play.abandon(None)
    }
}

impl Play {
    pub(crate) fn new(scripts: Arc<Scripts>) -> Play {
        Play {
            begin: 0,
            end: 0,
            next: 0,
            answered: 0,
            failed: None,
            number: 0,
            random: 0,
            values: vec![Vec::new(); scripts.values],
            turn: Turn::GoesOn { think: Duration::ZERO },
            scripts,
        }
    }

    /// Whether the next request begins a session.
    pub(crate) fn is_between(&self) -> bool {
        self.begin == self.end
    }

    /// The step to write now.
    pub(crate) fn next(&mut self, draw: Draw) -> u16 {
        if self.is_between() {
            let (begin, end, ranges) = self.scripts.draw(draw);
            (self.begin, self.end) = (begin, end);
            (self.next, self.answered, self.failed) = (self.begin, 0, None);
            self.number = draw.index;
            self.values.iter_mut().for_each(Vec::clear);
            // The numbers of its requests use the same source, unrotated.
            let mut stream = Stream::new(draw.random.rotate_left(32));
            for (value, (first, last)) in self.values.iter_mut().zip(ranges) {
                write_integer(value, stream.within_signed(*first, *last));
            }
        }
        self.random = draw.random;
        let step = self.next.min(self.end - 1);
        self.next = step + 1;
        step
    }

    pub(crate) fn values(&self) -> Values<'_> {
        Values { taken: &self.values, number: self.number, random: self.random }
    }

    pub(crate) fn room(&self) -> u16 {
        if self.is_between() {
            return 1;
        }
        let sent = self.next - self.begin;
        let rest = &self.scripts.steps[usize::from(self.next)..usize::from(self.end)];
        let Some(first) = rest.first().filter(|_| self.failed.is_none()) else { return 0 };
        if !first.burst {
            return u16::from(self.answered == sent);
        }
        // The first request of a burst is sent alone; then all others may follow.
        let leads = !self.scripts.steps[usize::from(self.next) - 1].burst;
        if leads && self.answered < sent {
            return 0;
        }
        rest.iter().take_while(|step| step.burst).count() as u16
    }

    /// The head of the reply to a step.
    pub(crate) fn head(&mut self, answer: &mut IncomingReply, step: u16, status: u16, head: &[u8]) {
        let of = &self.scripts.steps[usize::from(step)];
        let right = if of.statuses.is_empty() {
            status < 400
        } else {
            of.statuses.iter().any(|range| range.contains(&status))
        };
        answer.body.clear();
        answer.why = (!right).then_some(Why::Status(status));
        for (nth, (index, taker)) in (0..).zip(&of.takers).filter(|(_, (_, taker))| !taker.needs_body()) {
            match taker.in_head(status, head) {
                Some(value) => self.values[usize::from(*index)] = value,
                None => answer.why = answer.why.or(Some(Why::NoValue(nth))),
            }
        }
    }

    /// The reply to a step is wrong, for a reason with a name. The first reason counts.
    pub(crate) fn refuse(&self, answer: &mut IncomingReply, name: &'static str) {
        answer.why.get_or_insert(Why::Named(name));
    }

    /// A piece of the body of the reply to a step.
    pub(crate) fn body(&self, answer: &mut IncomingReply, step: u16, piece: &[u8]) {
        let takers = &self.scripts.steps[usize::from(step)].takers;
        if answer.why.is_none() && takers.iter().any(|(_, taker)| taker.needs_body()) {
            if answer.body.len() + piece.len() > BODY_MAX {
                answer.why = Some(Why::TooLong);
            } else {
                answer.body.extend_from_slice(piece);
            }
        }
    }

    /// The reply to a step is complete.
    pub(crate) fn answered(&mut self, answer: &mut IncomingReply, step: u16) -> Verdict {
        let of = &self.scripts.steps[usize::from(step)];
        if answer.why.is_none() {
            for (nth, (index, taker)) in (0..).zip(&of.takers).filter(|(_, (_, taker))| taker.needs_body()) {
                match taker.in_body(&answer.body) {
                    Some(value) => self.values[usize::from(*index)] = value,
                    None => answer.why = answer.why.or(Some(Why::NoValue(nth))),
                }
            }
        }
        answer.clear();
        let verdict = match answer.why.take() {
            Some(why) => {
                self.failed.get_or_insert(step);
                Verdict::Refused(self.scripts.word(step, why))
            }
            None => Verdict::Right,
        };
        self.ended();
        verdict
    }

    /// The request of a step has failed, and its connection stays usable.
    pub(crate) fn lost(&mut self, step: u16) {
        if !self.is_between() {
            self.failed.get_or_insert(step);
            self.ended();
        }
    }

    /// One more of the written requests is over.
    fn ended(&mut self) {
        self.answered += 1;
        let awaited = (self.next - self.begin).saturating_sub(self.answered);
        // Replies to a burst may come in any order; its last step has the think time.
        let last = usize::from(self.next.max(1)) - 1;
        let (think, complete) = (self.scripts.steps[last].think, self.next == self.end);
        self.turn = match self.failed {
            _ if awaited > 0 => Turn::GoesOn { think: Duration::ZERO },
            Some(step) => Turn::Failed(step),
            None if complete => Turn::Completed { think },
            None => Turn::GoesOn { think },
        };
        if !matches!(self.turn, Turn::GoesOn { .. }) {
            self.end = self.begin;
            self.failed = None;
        }
    }

    pub(crate) fn turn(&self) -> Turn {
        self.turn
    }

    /// The session is over, whatever is awaited. `oldest` is the step of the oldest unanswered request, if it need not be the one
    /// after the last reply.
    pub(crate) fn abandon(&mut self, oldest: Option<u16>) -> Option<u16> {
        let behind = (!self.is_between()).then(|| (self.begin + self.answered).min(self.end - 1));
        self.end = self.begin;
        self.failed.take().or(behind.and(oldest)).or(behind)
    }
}

pub(crate) fn write_integer(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    write_decimal(out, number.unsigned_abs());
}

impl IncomingReply {
    /// Clears the body and keeps some of its memory.
    fn clear(&mut self) {
        self.body.clear();
        self.body.shrink_to(BODY_KEPT);
    }

    /// It will not be completed.
    pub(crate) fn abandon(&mut self) {
        self.why = None;
        self.clear();
    }
}
