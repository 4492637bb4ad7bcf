//! One connection of the client.

use std::sync::Arc;

use memchr::memchr;

use super::commands::write_request;
use crate::cache::{Counts, Incoming, Workload, is_set};
use crate::exchange::{Draw, Fault, Opening, Progress, Received, Reply, Tag, Verdict};
use crate::outgoing::Outgoing;
use crate::protocol::ClientConn;
use pitot_proto::memcache::unsigned;

/// The longest line of a reply: `VALUE`, a key, three numbers; or an error, which may be wordy.
const LINE_BYTES_MAX: usize = 1024;

pub(super) struct MemcacheConn {
    workload: Arc<Workload>,
    part: ReplyPart,
    /// Keys of the present reply that are answered by a value or passed over.
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
    Line,
    /// In a data block.
    Block(Incoming),
}

impl MemcacheConn {
    pub(super) fn new(workload: Arc<Workload>) -> MemcacheConn {
        let counts = Counts::default();
        MemcacheConn {
            workload,
            part: ReplyPart::Line,
            answered: 0,
            hits: 0,
            content: 0,
            verdict: Verdict::Right,
            counts,
        }
    }
}

impl ClientConn for MemcacheConn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        (self.part, self.answered, self.hits, self.content) = (ReplyPart::Line, 0, 0, 0);
        self.verdict = Verdict::Right;
        Opening::Ready
    }

    fn request(&mut self, draw: Draw, out: &mut Outgoing) -> Tag {
        let tag = self.workload.tag(draw);
        write_request(&self.workload, tag, out);
        tag
    }

    fn receive(&mut self, tag: Option<Tag>, input: &[u8], _: &mut Outgoing) -> Result<Received, Fault> {
        let Some(tag) = tag else { return Err(Fault::Unasked) };
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
                        return Ok(Received { consumed, progress: self.finish(tag) });
                    }
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
                    self.part = if block.is_done() { ReplyPart::Line } else { ReplyPart::Block(block) };
                }
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
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
            self.hits += 1;
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
        self.worsen(Verdict::Refused(refusal));
        Ok(true)
    }

    /// Reads what follows `VALUE`: `<key> <flags> <bytes>`. The key must be the next of those that were asked for, or
    /// one behind it.
    fn value(&mut self, tag: Tag, line: &[u8]) -> Result<Incoming, Fault> {
        let workload = &*self.workload;
        let mut words = line.split(|&b| b == b' ');
        let key = words.next().unwrap_or_default();
        let number = workload.keys.number(key).ok_or(Fault::Unasked)?;
        let asked = (self.answered..workload.multiget).find(|&index| workload.key_of(tag, index) == number);
        self.answered = asked.ok_or(Fault::Unasked)? + 1;
        let len = words.nth(1).and_then(unsigned).ok_or(Fault::Malformed)?;
        let value = workload.keys.value(number);
        if len != value.len {
            self.worsen(Verdict::Length);
        }
        Ok(Incoming::new(value, len))
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
        (self.answered, self.hits) = (0, 0);
        let verdict = std::mem::replace(&mut self.verdict, Verdict::Right);
        let content = std::mem::take(&mut self.content);
        Progress::Reply(Reply { verdict, status: 0, persists: true, content })
    }
}
