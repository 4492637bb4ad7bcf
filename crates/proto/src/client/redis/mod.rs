//! The client's side of RESP2, the protocol of Redis and compatible servers.
//! (Redis serialization protocol specification, version 2.)

mod commands;
mod conn;
mod fill;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conn::RedisConn;
use fill::Fill;

use super::cache::{URL_OPTIONS, Workload};
use crate::client::entry::{ClientEntry, TlsScheme};
use crate::client::protocol::{ClientConn, ClientOptions, ClientProtocol, Preload};
use crate::client::url::Url;

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "redis",
    summary: "the protocol of Redis and compatible servers: the same mix as memcache, with GET, MGET and SET",
    doc: "The mix is that of memcache and is given in the URL's query in the same way. Pitot has no server for this \
          protocol: the client is for comparing Redis, Valkey and others with caches that implement memcached's. \
          Lengths are always checked, bytes with --verify; hits and misses are counted.",
    port: Some(6379),
    tls: Some(TlsScheme { scheme: "rediss", port: Some(6379) }),
    requests_per_connection_max: None,
    url_options: URL_OPTIONS,
    has_methods: false,
    logs_in: false,
    example: "redis://127.0.0.1:6379/?keys=100k&get=0.9",
    build,
};

/// Builds the workload of a URL.
///
/// # Errors
/// As [`Workload::new`].
fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    Ok(Box::new(Redis { workload: Workload::new("redis", options)? }))
}

struct Redis {
    workload: Arc<Workload>,
}

impl ClientProtocol for Redis {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(RedisConn::new(Arc::clone(&self.workload)))
    }

    fn request_bytes_max(&self) -> Option<usize> {
        None
    }

    fn server_said(&self) -> Option<String> {
        self.workload.said.words()
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        self.workload.fill.then(|| Box::new(Fill::new(Arc::clone(&self.workload))) as Box<dyn Preload>)
    }
}
