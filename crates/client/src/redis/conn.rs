use std::sync::Arc;

use super::commands::write_request;
use super::login::{Greeting, Login, line};
use super::refusal;
use crate::cache::{CacheReply, Incoming, Workload, is_set};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;
use pitot_proto::memcache::unsigned;

pub(super) struct RedisConn {
    workload: Arc<Workload>,
    login: Login,
    greeting: Greeting,
    part: ReplyPart,
    reply: CacheReply,
}

/// The next part of a reply.
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
        let reply = CacheReply::new();
        RedisConn { workload, login, greeting: Greeting::default(), part: ReplyPart::Start, reply }
    }
}

impl ClientConn for RedisConn {
    fn open(&mut self, out: &mut Outgoing) -> Opening {
        self.part = ReplyPart::Start;
        self.reply.reset();
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
        // The greeting may be the last input.
        if input.is_empty() {
            return Ok(Received { consumed: 0, progress: Progress::More });
        }
        let tag = tag.ok_or(Fault::Unasked)?;
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
                    consumed += self.reply.take(&mut block, rest, self.workload.verify)?;
                    self.part = if block.is_done() { ReplyPart::Array } else { ReplyPart::Block(block) };
                    block.is_done() && self.reply.answered == self.workload.multiget
                }
            };
            if is_last {
                self.part = ReplyPart::Start;
                return Ok(Received { consumed, progress: self.reply.finish(&self.workload, tag) });
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.reply.counts()
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
                self.reply.verdict.worsen(Verdict::Refused(refusal::name(rest)));
                Ok(true)
            }
            b'*' if !is_set && !in_array && multiget > 1 && unsigned(rest) == Some(multiget) => {
                self.part = ReplyPart::Array;
                Ok(false)
            }
            b'$' if !is_set && in_array == (multiget > 1) => {
                let number = self.workload.key_of(tag, self.reply.answered);
                self.reply.answered += 1;
                if rest == b"-1" {
                    return Ok(self.reply.answered == multiget);
                }
                let len = unsigned(rest).ok_or(Fault::Malformed)?;
                self.part = ReplyPart::Block(self.reply.hit(self.workload.keys.value(number), len));
                Ok(false)
            }
            _ => Err(Fault::Malformed),
        }
    }
}
