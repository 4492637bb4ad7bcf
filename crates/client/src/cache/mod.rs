//! A load on a cache, whatever its protocol: which keys, how long they and their values are, and how
//! often each is read or written.
//!
//! A request is a read of one key or several, or a write of one. Which key it is about follows from its draw; how long the
//! key is, how long its value and of which bytes, follow from the key's number alone. So nothing is remembered of what was
//! written, every reply can be judged by itself, and several generators may work on one server. A miss is right as
//! well: it is counted, not condemned.

mod incoming;
mod keyspace;
mod options;
mod popularity;
mod size;

use std::sync::Arc;

use crate::exchange::{Draw, Tag};
use crate::protocol::ClientOptions;
use crate::said::Said;
use crate::stream::Stream;
use options::Options;
use popularity::{Popularity, Zipf};

pub(super) use incoming::Incoming;
pub(super) use keyspace::Keyspace;
pub(super) use options::URL_OPTIONS;

/// The bit of a tag that marks a write; the others are the seed from which its keys follow.
const SET: u32 = 1 << 31;

/// What all connections share.
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
    /// What the server refused first.
    pub(super) said: Said,
}

impl Workload {
    /// The workload of a URL of that scheme. `path` says which part of a path is the cache's: all of it but a database.
    ///
    /// # Errors
    /// A query that is not understood; options that mean nothing here.
    pub(super) fn new(
        scheme: &str,
        options: &ClientOptions,
        path: impl FnOnce(&str) -> &str,
    ) -> Result<Arc<Workload>, String> {
        let [request] = &*options.requests else {
            return Err(format!(
                "{scheme} takes its mix of requests from the URL's query, not from several paths"
            ));
        };
        if request.method != "GET" || !request.body.is_empty() || !options.headers.is_empty() {
            return Err(format!(
                "{scheme} has no methods, bodies and headers: its options follow a `?` in the URL"
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

/// True if the request is a write.
#[inline]
pub(super) fn is_set(tag: Tag) -> bool {
    tag.0 & SET != 0
}

/// What came of the requests of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    pub(super) sets: u64,
}

impl Counts {
    /// By name.
    pub(super) fn list(self) -> Vec<(&'static str, u64)> {
        vec![("hits", self.hits), ("misses", self.misses), ("sets", self.sets)]
    }
}
