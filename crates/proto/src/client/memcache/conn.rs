//! One connection of the client.

use std::sync::Arc;

use memchr::memchr;

use super::keyspace::Value;
use super::{SET, Workload};
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

/// Over all requests.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    hits: u64,
    misses: u64,
    sets: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Line,
    /// In a data block with its line end, from byte `at`.
    Block {
        value: Value,
        len: u64,
        at: u64,
    },
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
        self.workload.write_request(tag, out);
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
                State::Block { value, len, at } => {
                    let n = (len + 2 - at).min(rest.len() as u64);
                    if n == 0 {
                        return Ok(Received { consumed, progress: Progress::More });
                    }
                    self.block(value, len, at, &rest[..n as usize])?;
                    consumed += n as usize;
                    let at = at + n;
                    self.state = if at == len + 2 { State::Line } else { State::Block { value, len, at } };
                }
            }
        }
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        let Counts { hits, misses, sets } = self.counts;
        vec![("hits", hits), ("misses", misses), ("sets", sets)]
    }
}

impl Conn {
    /// Takes a line of a reply; true if it is the last.
    fn line(&mut self, tag: Tag, line: &[u8]) -> Result<bool, Fault> {
        let is_set = tag.0 & SET != 0;
        match line {
            b"STORED" if is_set => return Ok(true),
            b"END" if !is_set => return Ok(true),
            _ => {}
        }
        if let Some(rest) = line.strip_prefix(b"VALUE ").filter(|_| !is_set) {
            let (value, len) = self.value(tag, rest)?;
            if len != value.len {
                self.worsen(Verdict::Length);
            }
            self.hits += 1;
            self.state = State::Block { value, len, at: 0 };
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
    fn value(&mut self, tag: Tag, line: &[u8]) -> Result<(Value, u64), Fault> {
        let workload = &*self.workload;
        let mut words = line.split(|&b| b == b' ');
        let key = words.next().unwrap_or_default();
        let number = workload.keys.number(key).ok_or(Fault::Unasked)?;
        let asked = (self.place..workload.multiget).find(|&place| workload.key_of(tag, place) == number);
        self.place = asked.ok_or(Fault::Unasked)? + 1;
        let len = words.nth(1).and_then(unsigned).ok_or(Fault::Malformed)?;
        Ok((workload.keys.value(number), len))
    }

    /// Takes a piece of a data block and its line end.
    fn block(&mut self, value: Value, len: u64, at: u64, piece: &[u8]) -> Result<(), Fault> {
        let (data, end) = piece.split_at(piece.len().min(len.saturating_sub(at) as usize));
        if self.workload.verify && self.verdict == Verdict::Right && !value.matches(at, data) {
            self.worsen(Verdict::Bytes);
        }
        let end_at = (at + data.len() as u64 - len.min(at + data.len() as u64)) as usize;
        if end == &b"\r\n"[end_at..end_at + end.len()] { Ok(()) } else { Err(Fault::Malformed) }
    }

    /// The first thing that is wrong with a reply is what is told.
    fn worsen(&mut self, verdict: Verdict) {
        if self.verdict == Verdict::Right {
            self.verdict = verdict;
        }
    }

    fn finish(&mut self, tag: Tag) -> Progress {
        if tag.0 & SET != 0 {
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
