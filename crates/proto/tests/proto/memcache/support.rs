//! What the tests of `memcache` share.

use pitot_proto::memcache::{Memcache, MemcacheOptions};
use pitot_proto_harness::{Files, Pump};

/// No files: this protocol serves none.
pub(crate) static NO_FILES: std::sync::LazyLock<Files> = std::sync::LazyLock::new(Files::new);

pub(crate) fn cache() -> Memcache {
    Memcache::new(&MemcacheOptions::default()).unwrap()
}

/// A connection.
pub(crate) fn connect(cache: &Memcache) -> Pump<'static> {
    Pump::new(cache, &NO_FILES)
}

/// What comes back for `input` on a connection that is open.
pub(crate) fn ask(pump: &mut Pump<'_>, input: impl AsRef<[u8]>) -> String {
    pump.feed(input.as_ref());
    String::from_utf8_lossy(&std::mem::take(&mut pump.sent)).into_owned()
}

/// What comes back for `input` on a new cache.
pub(crate) fn say(input: impl AsRef<[u8]>) -> String {
    ask(&mut connect(&cache()), input)
}

/// A number of `stats`.
pub(crate) fn stat(pump: &mut Pump<'_>, name: &str) -> u64 {
    let stats = ask(pump, "stats\r\n");
    let line =
        stats.lines().find_map(|line| line.strip_prefix("STAT ")?.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{stats} lacks {name}")).parse().unwrap()
}
