//! The client side of memcached's ASCII protocol, for any server that implements it.

mod commands;
mod conn;
mod fill;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use conn::MemcacheConn;
use fill::Fill;

use super::cache::{URL_OPTIONS, Workload};
use crate::entry::{ClientEntry, TlsScheme};
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, Preload};
use crate::url::Url;

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "memcache",
    summary: "memcached's ASCII protocol: a mix of reads and writes over many keys",
    doc: "The URL's query describes the mix. mix=etc has the key and value sizes and the 30 reads per write of \
          Facebook's ETC pool (Atikoglu et al., SIGMETRICS 2012), with zipf:0.99. Keys and lengths are always \
          checked, bytes with --verify. Hits and misses are counted.",
    port: Some(11211),
    tls: Some(TlsScheme { scheme: "memcaches", port: Some(11211) }),
    requests_per_connection_max: None,
    url_options: URL_OPTIONS,
    has_statuses: false,
    has_methods: false,
    logs_in: false,
    has_commands: false,
    takes_body_files: false,
    has_sessions: false,
    example: "memcache://127.0.0.1:11211/?keys=100k&get=0.9",
    build,
};

fn build(_: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    Ok(Box::new(Memcache { workload: Workload::new("memcache", options, |path| path)? }))
}

struct Memcache {
    workload: Arc<Workload>,
}

impl ClientProtocol for Memcache {
    fn connect(&self) -> Box<dyn ClientConn> {
        Box::new(MemcacheConn::new(Arc::clone(&self.workload)))
    }

    fn server_said(&self) -> Option<String> {
        self.workload.said.words()
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        self.workload.fill.then(|| Box::new(Fill::new(Arc::clone(&self.workload))) as Box<dyn Preload>)
    }
}
