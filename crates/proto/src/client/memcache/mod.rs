//! The client's side of memcached's ASCII protocol, for any server that speaks it.
//!
//! A request is a `get` of one key or several, or a `set`. Which key it is about follows from its draw; how long the key
//! is, how long its value and of which bytes, follow from the key's number alone. So nothing is remembered of what was
//! written, every reply can be judged by itself, and several generators may work on one server. A miss is right as
//! well: it is counted, not condemned.

mod conn;
mod fill;
mod keyspace;
mod options;
mod popularity;
mod random;
mod size;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conn::Conn;
use fill::Fill;
use keyspace::Keyspace;
use options::Options;
use popularity::{Popularity, Zipf};
use random::Stream;

use super::{ClientConn, ClientOptions, ClientProtocol, Draw, Outgoing, Preparation, Tag, Url};
use crate::memcache::Digits;

/// The bit of a tag that tells a `set`; the others are the seed from which its keys follow.
const SET: u32 = 1 << 31;

/// Builds the workload of a URL.
///
/// # Errors
/// A query that is not understood; options that mean nothing here.
pub(super) fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let [request] = &*options.requests else {
        return Err("memcache takes its mix of requests from the URL's query, not from several paths".into());
    };
    if request.method != "GET" || !request.body.is_empty() || !options.headers.is_empty() {
        return Err("memcache has no methods, bodies and headers: its options follow a `?` in the URL".into());
    }
    let said = Options::parse(&request.path)?;
    let keys = Keyspace::new(said.keys, said.key, said.value, said.value_bytes_max);
    let popularity = match said.zipf {
        None => Popularity::Uniform,
        Some(exponent) => Popularity::Zipf(Zipf::new(said.keys, exponent)),
    };
    Ok(Box::new(Memcache {
        workload: Arc::new(Workload {
            keys,
            popularity,
            gets_of_2_33: (said.get * 2f64.powi(33)) as u64,
            multiget: said.multiget,
            expire_s: said.expire_s,
            verify: options.verify,
        }),
        fill: said.fill,
    }))
}

struct Memcache {
    workload: Arc<Workload>,
    fill: bool,
}

/// What all connections share.
struct Workload {
    keys: Keyspace,
    popularity: Popularity,
    gets_of_2_33: u64,
    multiget: u64,
    expire_s: u64,
    /// Compare the bytes of values.
    verify: bool,
}

impl ClientProtocol for Memcache {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(Conn::new(Arc::clone(&self.workload)))
    }

    fn prepare(&self) -> Option<Box<dyn Preparation>> {
        self.fill.then(|| Box::new(Fill::new(Arc::clone(&self.workload))) as Box<dyn Preparation>)
    }
}

impl Workload {
    /// Decides on a request: a `set` or a `get`, and the seed of its keys.
    #[inline]
    fn tag(&self, draw: Draw) -> Tag {
        let seed = (draw.random >> 33) as u32;
        let is_get = draw.random & ((1 << 33) - 1) < self.gets_of_2_33;
        Tag(if is_get { seed } else { seed | SET })
    }

    /// The number of one of the keys of a request.
    #[inline]
    fn key_of(&self, tag: Tag, place: u64) -> u64 {
        let mut random = Stream::new(u64::from(tag.0 & !SET) | place << 31);
        self.popularity.draw(self.keys.count, &mut random)
    }

    /// Writes a `set`.
    fn write_set(&self, number: u64, noreply: bool, mut out: impl FnMut(&[u8])) {
        let value = self.keys.value(number);
        let end: &[u8] = if noreply { b" noreply\r\n" } else { b"\r\n" };
        out(b"set ");
        out(self.keys.key(number).as_slice());
        out(b" 0 ");
        out(Digits::of(self.expire_s).as_slice());
        out(b" ");
        out(Digits::of(value.len).as_slice());
        out(end);
        value.pieces(0, value.len as usize).for_each(&mut out);
        out(b"\r\n");
    }

    fn write_request(&self, tag: Tag, out: &mut Outgoing) {
        if tag.0 & SET != 0 {
            return self.write_set(self.key_of(tag, 0), false, |bytes| out.bytes(bytes));
        }
        out.bytes(b"get");
        for place in 0..self.multiget {
            out.bytes(b" ");
            out.bytes(self.keys.key(self.key_of(tag, place)).as_slice());
        }
        out.bytes(b"\r\n");
    }
}
