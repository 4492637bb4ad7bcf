//! The URL schemes, as data.

use super::{ClientOptions, ClientProtocol, Url, blob, busy, http, memcache, redis, smtp};

/// Builds the requests of a run.
pub type Build = fn(&Url, &ClientOptions) -> Result<Box<dyn ClientProtocol>, String>;

/// One scheme of the registry.
#[derive(Debug)]
pub struct ClientEntry {
    /// The word before `://`; the name of the protocol on the server's side too.
    pub scheme: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// The port of a URL that names none; without one the URL must.
    pub port: Option<u16>,
    /// A URL to show.
    pub example: &'static str,
    /// Builds the requests, or says in one line what is wrong with the URL or the options.
    pub build: Build,
}

/// All schemes, in the order in which lists show them.
pub static CLIENTS: &[ClientEntry] = &[
    ClientEntry {
        scheme: "http",
        summary: "HTTP/1.1 to any server: methods, headers, bodies, several weighted paths",
        doc: "Every reply is framed by its own head and its status is checked; its content is compared with a file \
              (--expect-body) or with generated content (--verify, for /bytes/<n>) where asked.",
        port: Some(80),
        example: "http://127.0.0.1:8080/bytes/1024",
        build: http::build,
    },
    ClientEntry {
        scheme: "blob",
        summary: "asks for n bytes on connections that persist",
        doc: "The client of the 2006 comparison of select and epoll. The path is the size in bytes (1024 where there \
              is none); the length of each reply is checked, its content with --verify.",
        port: None,
        example: "blob://127.0.0.1:8080/1024",
        build: blob::build,
    },
    ClientEntry {
        scheme: "busy",
        summary: "connects, reads `450 too busy` and the end; a connection each time",
        doc: "The client of the 2001 comparison of task architectures. A request is a whole connection: it is complete \
              once the server has sent its line and closed, and right if the line was the expected one.",
        port: None,
        example: "busy://127.0.0.1:8080",
        build: busy::build,
    },
    ClientEntry {
        scheme: "memcache",
        summary: "memcached's ASCII protocol: a mix of reads and writes over many keys",
        doc: "The mix follows in the URL's query: keys=10k (how many), get=0.9 (the share of reads), key=16 and value=1KiB \
              (lengths: 20, 10-40 or etc), popularity=uniform (or zipf:0.99), multiget=1, expire=0 (seconds), fill=yes \
              (write every key once before the run). mix=etc stands for the key and value sizes and the 30 reads to 1 \
              write of Facebook's ETC pool (Atikoglu et al., SIGMETRICS 2012), with zipf:0.99. Keys and lengths are \
              always checked, bytes with --verify; hits and misses are counted.",
        port: Some(11211),
        example: "memcache://127.0.0.1:11211/?keys=100k&get=0.9",
        build: memcache::build,
    },
    ClientEntry {
        scheme: "redis",
        summary: "the protocol of Redis and its kin: the same mix, as GET, MGET and SET",
        doc: "The mix is that of memcache and follows in the URL's query too. Pitot has no server of this protocol: it is \
              there to set Redis, Valkey and others beside a cache that speaks memcached's. Lengths are always checked, \
              bytes with --verify; hits and misses are counted.",
        port: Some(6379),
        example: "redis://127.0.0.1:6379/?keys=100k&get=0.9",
        build: redis::build,
    },
    ClientEntry {
        scheme: "smtp",
        summary: "mail transactions to any SMTP server, pipelined where it offers that",
        doc: "A request is a whole transaction, right if every command of it was taken. The URL's query says which: \
              from= and to= (addresses), recipients=1 (numbered if there are more), size=1KiB (of a generated message; \
              --body gives one), end=data (or rset, which delivers nothing), pipelining=auto (or off). Messages and \
              recipients that were taken are counted.",
        port: Some(25),
        example: "smtp://127.0.0.1:2525/?recipients=5&size=1KiB",
        build: smtp::build,
    },
];

/// The entry of that scheme.
pub fn find(scheme: &str) -> Option<&'static ClientEntry> {
    CLIENTS.iter().find(|c| c.scheme == scheme)
}

#[cfg(test)]
mod tests {
    use super::super::RequestSpec;
    use super::*;

    #[test]
    fn every_scheme_stands_once_is_documented_and_builds_its_example() {
        for (i, c) in CLIENTS.iter().enumerate() {
            assert!(CLIENTS[..i].iter().all(|d| d.scheme != c.scheme), "{} stands twice", c.scheme);
            assert!(!c.summary.is_empty() && c.doc.len() > c.summary.len(), "{} lacks its docs", c.scheme);
            let url = Url::parse(c.example).unwrap();
            assert_eq!(url.scheme, c.scheme);
            let request =
                RequestSpec { method: "GET".into(), path: url.path.clone(), weight: 1.0, body: Vec::new() };
            let options = ClientOptions { requests: vec![request], ..ClientOptions::default() };
            assert!((c.build)(&url, &options).is_ok(), "{}", c.scheme);
        }
    }
}
