//! The load on a cache, for every protocol: which keys, their lengths and those of their values, and the share of reads.
//!
//! A request reads one key or several, or writes one. The draw of a request decides its key. The number of a key decides
//! its length, the length of its value and the bytes of it. So nothing that was written needs to be remembered, and
//! several load generators can share a server. A miss is a right reply and is counted.

mod incoming;
mod keyspace;
mod options;
mod popularity;
mod size;

use std::sync::Arc;

use crate::exchange::{Draw, Fault, Progress, Reply, Tag, Verdict};
use crate::protocol::ClientOptions;
use crate::said::Said;
use crate::stream::Stream;
use options::Options;
use popularity::{Popularity, Zipf};

pub(super) use incoming::Incoming;
pub(super) use keyspace::{Keyspace, Value};
pub(super) use options::URL_OPTIONS;

/// The bit of a tag that marks a write; the others are the seed from which its keys follow.
const SET: u32 = 1 << 31;

pub(super) struct Workload {
    pub(super) keys: Keyspace,
    popularity: Popularity,
    gets_of_2_33: u64,
    /// Keys of one read.
    pub(super) multiget: u64,
    /// Seconds until a value expires; 0 is never.
    pub(super) expire_s: u64,
    /// Compare the bytes of values.
    pub(super) verify: bool,
    /// Write every key once before the run.
    pub(super) fill: bool,
    /// The first refusal of the server.
    pub(super) said: Said,
}

impl Workload {
    /// The workload of a URL. `path` returns the part of a path that is the cache's: all of it but a database.
    ///
    /// # Errors
    /// Options that are unknown or invalid.
    pub(super) fn new(
        scheme: &str,
        options: &ClientOptions,
        path: impl FnOnce(&str) -> &str,
    ) -> Result<Arc<Workload>, String> {
        let [request] = &*options.requests else {
            return Err(format!("{scheme} takes one URL: its query describes the mix of requests"));
        };
        if request.method != "GET" || !request.body.is_empty() || !options.headers.is_empty() {
            return Err(format!(
                "{scheme} has no methods, bodies or headers: write its options behind a `?` in the URL"
            ));
        }
        let parsed = Options::parse(path(&request.path))?;
        let popularity = match parsed.zipf {
            None => Popularity::Uniform,
            Some(exponent) => Popularity::Zipf(Zipf::new(parsed.keys, exponent)),
        };
        Ok(Arc::new(Workload {
            said: Said::default(),
            keys: Keyspace::new(parsed.keys, parsed.key, parsed.value, parsed.value_bytes_max),
            popularity,
            gets_of_2_33: (parsed.get * 2f64.powi(33)) as u64,
            multiget: parsed.multiget,
            expire_s: parsed.expire_s,
            verify: options.verify,
            fill: parsed.fill,
        }))
    }

    /// Decides on a request: a write or a read, and the seed of its keys.
    #[inline]
    pub(super) fn tag(&self, draw: Draw) -> Tag {
        let seed = (draw.random >> 33) as u32;
        let is_get = draw.random & ((1 << 33) - 1) < self.gets_of_2_33;
        Tag(if is_get { seed } else { seed | SET })
    }

    /// The number of one of the keys of a request.
    #[inline]
    pub(super) fn key_of(&self, tag: Tag, index: u64) -> u64 {
        let mut random = Stream::new(u64::from(tag.0 & !SET) | index << 31);
        self.popularity.draw(self.keys.count, &mut random)
    }
}

#[inline]
pub(super) fn is_set(tag: Tag) -> bool {
    tag.0 & SET != 0
}

/// The reply that is arriving on a connection, and the counts of those before it.
#[derive(Debug)]
pub(super) struct CacheReply {
    /// Keys of the reply that have a value or were skipped.
    pub(super) answered: u64,
    hits: u64,
    /// Bytes of its values.
    content: u64,
    pub(super) verdict: Verdict,
    hits_all: u64,
    misses: u64,
    sets: u64,
}

impl CacheReply {
    pub(super) fn new() -> CacheReply {
        CacheReply {
            answered: 0,
            hits: 0,
            content: 0,
            verdict: Verdict::Right,
            hits_all: 0,
            misses: 0,
            sets: 0,
        }
    }

    /// Begins the first reply of another connection.
    pub(super) fn reset(&mut self) {
        (self.answered, self.hits, self.content, self.verdict) = (0, 0, 0, Verdict::Right);
    }

    /// Begins the value of a key, whose length the server declares.
    pub(super) fn hit(&mut self, value: Value, len: u64) -> Incoming {
        if len != value.len {
            self.verdict.worsen(Verdict::Length);
        }
        self.hits += 1;
        Incoming::new(value, len)
    }

    /// Takes input of a value, and returns the number of bytes.
    ///
    /// # Errors
    /// No line end follows the value.
    #[inline]
    pub(super) fn take(&mut self, value: &mut Incoming, input: &[u8], verify: bool) -> Result<usize, Fault> {
        let piece = value.take(input, verify && self.verdict == Verdict::Right)?;
        if !piece.matches {
            self.verdict.worsen(Verdict::Bytes);
        }
        if value.is_done() {
            self.content += value.len();
        }
        Ok(piece.consumed)
    }

    /// Counts the complete reply, and begins the next.
    pub(super) fn finish(&mut self, workload: &Workload, tag: Tag) -> Progress {
        if is_set(tag) {
            self.sets += 1;
        } else if !matches!(self.verdict, Verdict::Refused(_)) {
            self.hits_all += self.hits;
            self.misses += workload.multiget - self.hits;
        }
        let (verdict, content) = (self.verdict, self.content);
        self.reset();
        Progress::Reply(Reply { verdict, status: 0, persists: true, content })
    }

    pub(super) fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("hits", self.hits_all), ("misses", self.misses), ("sets", self.sets)]
    }
}
