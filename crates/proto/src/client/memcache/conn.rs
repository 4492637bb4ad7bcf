//! One connection of the client.

use std::sync::Arc;

use memchr::memchr;

use super::write_request;
use crate::client::cache::{Counts, Incoming, Workload, is_set};
use crate::client::{ClientConn, Draw, Fault, Opening, Outgoing, Progress, Received, Reply, Tag, Verdict};
use crate::memcache::unsigned;

/// The longest line of a reply: `VALUE`, a key, three numbers; or an error, which may be wordy.
const LINE_BYTES_MAX: usize = 1024;

pub(super) struct Conn {
    workload: Arc<Workload>,
    state: State,
    /// Keys of the present reply that are answered by a value or passed over.
    place: u64,
    hits: u64,
    verdict: Verdict,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Line,
    /// In a data block.
    Block(Incoming),
}

impl Conn {
    pub(super) fn new(workload: Arc<Workload>) -> Conn {
        let counts = Counts::default();
        Conn { workload, state: State::Line, place: 0, hits: 0, verdict: Verdict::Right, counts }
    }
}

impl ClientConn for Conn {
    fn open(&mut self, _: &mut Outgoing) -> Opening {
        (self.state, self.place, self.hits, self.verdict) = (State::Line, 0, 0, Verdict::Right);
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
            match self.state {
                State::Line => {
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
                State::Block(mut block) => {
                    if rest.is_empty() {
                        return Ok(Received { consumed, progress: Progress::More });
                    }
                    let verify = self.workload.verify && self.verdict == Verdict::Right;
                    let piece = block.take(rest, verify)?;
                    if !piece.matches {
                        self.worsen(Verdict::Bytes);
                    }
                    consumed += piece.consumed;
                    self.state = if block.is_done() { State::Line } else { State::Block(block) };
                }
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
}

impl Conn {
    /// Takes a line of a reply; true if it is the last.
    fn line(&mut self, tag: Tag, line: &[u8]) -> Result<bool, Fault> {
        let is_set = is_set(tag);
        match line {
            b"STORED" if is_set => return Ok(true),
            b"END" if !is_set => return Ok(true),
            _ => {}
        }
        if let Some(rest) = line.strip_prefix(b"VALUE ").filter(|_| !is_set) {
            self.state = State::Block(self.value(tag, rest)?);
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
        let asked = (self.place..workload.multiget).find(|&place| workload.key_of(tag, place) == number);
        self.place = asked.ok_or(Fault::Unasked)? + 1;
        let len = words.nth(1).and_then(unsigned).ok_or(Fault::Malformed)?;
        let value = workload.keys.value(number);
        if len != value.len {
            self.worsen(Verdict::Length);
        }
        Ok(Incoming::new(value, len))
    }

    /// The first thing that is wrong with a reply is what is told.
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
        (self.place, self.hits) = (0, 0);
        let verdict = std::mem::replace(&mut self.verdict, Verdict::Right);
        Progress::Reply(Reply { verdict, persists: true })
    }
}
