//! `stats`: the statistics of memcached that apply to this cache. There are no slabs here, so the statistics that
//! memcached reports per slab class are reported for one class.

use std::sync::atomic::Ordering::Relaxed;

use super::cache::Cache;
use super::errors::ERROR;
use super::store::Counts;
use super::words::Words;
use crate::{Context, Outbox};

/// The totals of all shards.
#[derive(Default)]
struct Totals {
    counts: Counts,
    items: u64,
    bytes: u64,
}

impl Totals {
    fn new(cache: &Cache, now_s: u32) -> Totals {
        let mut totals = Totals::default();
        cache.store.for_each(now_s, |shard| {
            totals.counts.add(&shard.counts);
            totals.items += shard.len() as u64;
            totals.bytes += shard.bytes_used();
        });
        totals
    }
}

/// Answers `stats` or `stats <group>`; further words are ignored, as memcached does.
pub(super) fn answer(cache: &Cache, cx: &Context<'_>, now_s: u32, mut words: Words<'_>, out: &mut Outbox) {
    let stats: Vec<(&str, String)> = match words.next().unwrap_or_default() {
        b"" => general(cache, cx, now_s),
        b"items" => items(&Totals::new(cache, now_s)),
        b"slabs" => slabs(&Totals::new(cache, now_s)),
        b"settings" => settings(cache),
        b"sizes" => vec![("sizes_status", "disabled".into())],
        b"reset" => {
            cache.store.for_each(now_s, |shard| shard.counts = Counts::default());
            return out.bytes(b"RESET\r\n");
        }
        // The answer of a memcached that does not show its items (-X).
        b"cachedump" => return out.bytes(b"CLIENT_ERROR stats cachedump not allowed\r\n"),
        _ => return out.bytes(ERROR),
    };
    out.write_with(|text| {
        for (name, value) in stats {
            text.extend_from_slice(format!("STAT {name} {value}\r\n").as_bytes());
        }
        text.extend_from_slice(b"END\r\n");
    });
}

fn general(cache: &Cache, cx: &Context<'_>, now_s: u32) -> Vec<(&'static str, String)> {
    let Totals { counts: c, items, bytes } = Totals::new(cache, now_s);
    let (opened, closed) = (cache.opened.load(Relaxed), cache.closed.load(Relaxed));
    let numbers = [
        ("uptime", cx.unix_s.saturating_sub(cache.since_s.load(Relaxed))),
        ("time", cx.unix_s),
        ("pointer_size", u64::from(usize::BITS)),
        ("curr_connections", opened.saturating_sub(closed)),
        ("total_connections", opened),
        ("cmd_get", c.get_hits + c.get_misses),
        ("cmd_set", c.writes),
        ("cmd_flush", cache.flushes.load(Relaxed)),
        ("cmd_touch", c.touch_hits + c.touch_misses),
        ("get_hits", c.get_hits),
        ("get_misses", c.get_misses),
        ("get_expired", c.get_expired),
        ("delete_misses", c.delete_misses),
        ("delete_hits", c.delete_hits),
        ("incr_misses", c.incr_misses),
        ("incr_hits", c.incr_hits),
        ("decr_misses", c.decr_misses),
        ("decr_hits", c.decr_hits),
        ("cas_misses", c.cas_misses),
        ("cas_hits", c.cas_hits),
        ("cas_badval", c.cas_badval),
        ("touch_hits", c.touch_hits),
        ("touch_misses", c.touch_misses),
        ("limit_maxbytes", cache.options.memory_bytes),
        ("bytes", bytes),
        ("curr_items", items),
        ("total_items", c.items_created),
        ("expired_unfetched", c.expired_unfetched),
        ("evicted_unfetched", c.evicted_unfetched),
        ("evictions", c.evictions),
        ("reclaimed", c.reclaimed),
    ];
    let version = ("version", concat!("1.6.0-pitot-", env!("CARGO_PKG_VERSION")).to_owned());
    std::iter::once(version).chain(numbers.map(|(name, n)| (name, n.to_string()))).collect()
}

fn items(totals: &Totals) -> Vec<(&'static str, String)> {
    let Totals { counts: c, items, bytes } = totals;
    let numbers = [
        ("items:1:number", *items),
        ("items:1:mem_requested", *bytes),
        ("items:1:evicted", c.evictions),
        ("items:1:evicted_unfetched", c.evicted_unfetched),
        ("items:1:expired_unfetched", c.expired_unfetched),
        ("items:1:reclaimed", c.reclaimed),
    ];
    numbers.map(|(name, n)| (name, n.to_string())).into()
}

fn slabs(totals: &Totals) -> Vec<(&'static str, String)> {
    let c = &totals.counts;
    let numbers = [
        ("1:used_chunks", totals.items),
        ("1:get_hits", c.get_hits),
        ("1:cmd_set", c.writes),
        ("1:delete_hits", c.delete_hits),
        ("1:incr_hits", c.incr_hits),
        ("1:decr_hits", c.decr_hits),
        ("1:cas_hits", c.cas_hits),
        ("1:cas_badval", c.cas_badval),
        ("1:touch_hits", c.touch_hits),
        ("active_slabs", 1),
        ("total_malloced", totals.bytes),
    ];
    numbers.map(|(name, n)| (name, n.to_string())).into()
}

fn settings(cache: &Cache) -> Vec<(&'static str, String)> {
    vec![
        ("maxbytes", cache.options.memory_bytes.to_string()),
        ("item_size_max", cache.options.value_bytes_max.to_string()),
        ("evictions", "on".into()),
        ("cas_enabled", "yes".into()),
        ("flush_enabled", "yes".into()),
        ("lru_segmented", "no".into()),
        ("hash_algorithm", "foldhash".into()),
        ("shards", cache.store.shard_count().to_string()),
        ("binding_protocol", "ascii".into()),
    ]
}
