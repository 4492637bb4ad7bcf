//! One connection of the client.

use std::sync::Arc;

use super::commands::write_request;
use super::login::{Greeting, Login, line};
use super::refusal;
use crate::cache::{Counts, Incoming, Workload, is_set};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;
use pitot_proto::memcache::unsigned;

pub(super) struct RedisConn {
    workload: Arc<Workload>,
    login: Login,
    greeting: Greeting,
    part: ReplyPart,
    /// Keys of the present reply that are answered.
    answered: u64,
    hits: u64,
    /// Bytes of its values.
    content: u64,
    verdict: Verdict,
    counts: Counts,
}

/// Which part of a reply comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyPart {
    /// Before the first line of a reply.
    Start,
    /// Between the values of an array.
    Array,
    /// In a value.
    Block(Incoming),
}

impl RedisConn {
    pub(super) fn new(workload: Arc<Workload>, login: Login) -> RedisConn {
        RedisConn {
            workload,
            login,
            greeting: Greeting::default(),
            part: ReplyPart::Start,
            answered: 0,
            hits: 0,
            content: 0,
            verdict: Verdict::Right,
            counts: Counts::default(),
        }
    }
}

impl ClientConn for RedisConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        (self.part, self.answered, self.hits, self.content) = (ReplyPart::Start, 0, 0, 0);
        self.verdict = Verdict::Right;
        let (greeting, opening) = self.login.open(out);
        self.greeting = greeting;
        opening
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.workload.tag(draw);
        write_request(&self.workload, tag, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        if !self.greeting.is_over() {
            return self.greeting.receive(input, &self.workload.said);
        }
        // Behind a greeting there may be nothing more.
        if input.is_empty() {
            return Ok(Received { consumed: 0, progress: Progress::More });
        }
        let Some(tag) = tag else { return Err(Fault::Unasked) };
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            let is_last = match self.part {
                ReplyPart::Start | ReplyPart::Array => {
                    let Some((line, used)) = line(rest)? else {
                        return Ok(Received { consumed, progress: Progress::More });
                    };
                    consumed += used;
                    self.line(tag, line)?
                }
                ReplyPart::Block(mut block) => {
                    if rest.is_empty() {
                        return Ok(Received { consumed, progress: Progress::More });
                    }
                    let verify = self.workload.verify && self.verdict == Verdict::Right;
                    let piece = block.take(rest, verify)?;
                    if !piece.matches {
                        self.worsen(Verdict::Bytes);
                    }
                    consumed += piece.consumed;
                    if block.is_done() {
                        self.content += block.len();
                    }
                    self.part = if block.is_done() { ReplyPart::Array } else { ReplyPart::Block(block) };
                    block.is_done() && self.answered == self.workload.multiget
                }
            };
            if is_last {
                return Ok(Received { consumed, progress: self.finish(tag) });
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
}

impl RedisConn {
    /// Takes a line of a reply; true if it is the last.
    fn line(&mut self, tag: Tag, line: &[u8]) -> Result<bool, Fault> {
        let (kind, rest) = line.split_first().ok_or(Fault::Malformed)?;
        let (is_set, multiget) = (is_set(tag), self.workload.multiget);
        let in_array = self.part == ReplyPart::Array;
        match kind {
            b'+' if is_set && rest == b"OK" => Ok(true),
            b'-' if !in_array => {
                self.workload.said.hear(rest);
                self.worsen(Verdict::Refused(refusal::name(rest)));
                Ok(true)
            }
            b'*' if !is_set && !in_array && multiget > 1 && unsigned(rest) == Some(multiget) => {
                self.part = ReplyPart::Array;
                Ok(false)
            }
            b'$' if !is_set && in_array == (multiget > 1) => {
                let number = self.workload.key_of(tag, self.answered);
                self.answered += 1;
                if rest == b"-1" {
                    return Ok(self.answered == multiget);
                }
                let len = unsigned(rest).ok_or(Fault::Malformed)?;
                let value = self.workload.keys.value(number);
                if len != value.len {
                    self.worsen(Verdict::Length);
                }
                self.hits += 1;
                self.part = ReplyPart::Block(Incoming::new(value, len));
                Ok(false)
            }
            _ => Err(Fault::Malformed),
        }
    }

    /// The first thing that is wrong with a reply is what is reported.
    fn worsen(&mut self, verdict: Verdict) {
        if self.verdict == Verdict::Right {
            self.verdict = verdict;
        }
    }

    fn finish(&mut self, tag: Tag) -> Progress {
        if is_set(tag) {
            self.counts.sets += 1;
        } else if !matches!(self.verdict, Verdict::Refused(_)) {
            self.counts.hits += self.hits;
            self.counts.misses += self.workload.multiget - self.hits;
        }
        (self.part, self.answered, self.hits) = (ReplyPart::Start, 0, 0);
        let verdict = std::mem::replace(&mut self.verdict, Verdict::Right);
        let content = std::mem::take(&mut self.content);
        Progress::Reply(Reply { verdict, status: 0, persists: true, content })
    }
}
