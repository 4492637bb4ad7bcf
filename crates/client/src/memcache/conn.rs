//! One connection of the client.

use std::sync::Arc;

use memchr::memchr;

use super::commands::write_request;
use crate::cache::{CacheReply, Incoming, Workload, is_set};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;
use pitot_proto::memcache::unsigned;

/// The longest line of a reply: `VALUE`, a key, three numbers; or an error, which may be wordy.
const LINE_BYTES_MAX: usize = 1024;

pub(super) struct MemcacheConn {
    workload: Arc<Workload>,
    part: ReplyPart,
    reply: CacheReply,
}

/// The next part of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyPart {
    Line,
    /// In a data block.
    Block(Incoming),
}

impl MemcacheConn {
    pub(super) fn new(workload: Arc<Workload>) -> MemcacheConn {
        MemcacheConn { workload, part: ReplyPart::Line, reply: CacheReply::new() }
    }
}

impl ClientConn for MemcacheConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        self.part = ReplyPart::Line;
        self.reply.reset();
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.workload.tag(draw);
        write_request(&self.workload, tag, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let tag = tag.ok_or(Fault::Unasked)?;
        let mut consumed = 0;
        loop {
            let rest = &input[consumed..];
            match self.part {
                ReplyPart::Line => {
                    let view = &rest[..rest.len().min(LINE_BYTES_MAX)];
                    let Some(end) = memchr(b'\n', view) else {
                        return if view.len() < LINE_BYTES_MAX {
                            Ok(Received { consumed, progress: Progress::More })
                        } else {
                            Err(Fault::TooLarge)
                        };
                    };
                    let line = view[..end].strip_suffix(b"\r").ok_or(Fault::Malformed)?;
                    consumed += end + 1;
                    if self.line(tag, line)? {
                        return Ok(Received { consumed, progress: self.reply.finish(&self.workload, tag) });
                    }
                }
                ReplyPart::Block(mut block) => {
                    if rest.is_empty() {
                        return Ok(Received { consumed, progress: Progress::More });
                    }
                    consumed += self.reply.take(&mut block, rest, self.workload.verify)?;
                    self.part = if block.is_done() { ReplyPart::Line } else { ReplyPart::Block(block) };
                }
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.reply.counts()
    }
}

impl MemcacheConn {
    /// Takes a line of a reply; true if it is the last.
    fn line(&mut self, tag: Tag, line: &[u8]) -> Result<bool, Fault> {
        let is_set = is_set(tag);
        match line {
            b"STORED" if is_set => return Ok(true),
            b"END" if !is_set => return Ok(true),
            _ => {}
        }
        if let Some(rest) = line.strip_prefix(b"VALUE ").filter(|_| !is_set) {
            self.part = ReplyPart::Block(self.value(tag, rest)?);
            return Ok(false);
        }
        let refusal = match line {
            b"NOT_STORED" if is_set => "not-stored",
            b"ERROR" => "error",
            _ if line.starts_with(b"SERVER_ERROR") => "server-error",
            _ if line.starts_with(b"CLIENT_ERROR") => "client-error",
            _ => return Err(Fault::Malformed),
        };
        self.workload.said.hear(line);
        self.reply.verdict.worsen(Verdict::Refused(refusal));
        Ok(true)
    }

    /// Reads what follows `VALUE`: `<key> <flags> <bytes>`. The key must be the next of the requested ones, or a later one.
    fn value(&mut self, tag: Tag, line: &[u8]) -> Result<Incoming, Fault> {
        let workload = &*self.workload;
        let mut words = line.split(|&b| b == b' ');
        let key = words.next().unwrap_or_default();
        let number = workload.keys.number(key).ok_or(Fault::Unasked)?;
        let asked =
            (self.reply.answered..workload.multiget).find(|&index| workload.key_of(tag, index) == number);
        self.reply.answered = asked.ok_or(Fault::Unasked)? + 1;
        let len = words.nth(1).and_then(unsigned).ok_or(Fault::Malformed)?;
        Ok(self.reply.hit(workload.keys.value(number), len))
    }
}
