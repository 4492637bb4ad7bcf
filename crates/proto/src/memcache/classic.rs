//! The classic commands that consist of one line, except `get` and its variants.

use std::sync::atomic::Ordering::Relaxed;

use super::cache::Cache;
use super::decimal::{self, Digits};
use super::errors::{BAD_EXPTIME, BAD_LINE, ERROR, NON_NUMERIC};
use super::expiry::{AT_ONCE, expires_s};
use super::limits::KEY_BYTES_MAX;
use super::stats;
use super::store::{Shard, Slot};
use super::words::Words;
use crate::{Context, Outbox};

const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
const OK: &[u8] = b"OK\r\n";

/// The arguments of a command, at most a few, and whether the last one is `noreply`.
struct Arguments<'a> {
    words: [&'a [u8]; Arguments::MAX],
    count: usize,
}

impl<'a> Arguments<'a> {
    const MAX: usize = 3;

    /// `None` if their number is outside the allowed range, which ends at [`Arguments::MAX`].
    fn new(words: Words<'a>, at_least: usize, at_most: usize) -> Option<Arguments<'a>> {
        let mut arguments = Arguments { words: [b""; Arguments::MAX], count: 0 };
        for word in words {
            *arguments.words[..at_most].get_mut(arguments.count)? = word;
            arguments.count += 1;
        }
        (arguments.count >= at_least).then_some(arguments)
    }

    fn quiet(&self) -> bool {
        self.words[..self.count].last().is_some_and(|last| last == b"noreply")
    }
}

/// Executes a command; false if it is unknown.
pub(super) fn execute(
    cache: &Cache,
    cx: &Context<'_>,
    now_s: u32,
    verb: &[u8],
    words: Words<'_>,
    out: &mut Outbox,
) -> bool {
    let (at_least, at_most, command): (usize, usize, Command) = match verb {
        b"delete" => (1, 3, delete),
        b"incr" => (2, 3, |cache, now_s, arguments| arithmetic(cache, now_s, arguments, true)),
        b"decr" => (2, 3, |cache, now_s, arguments| arithmetic(cache, now_s, arguments, false)),
        b"touch" => (2, 3, touch),
        b"flush_all" => (0, 2, flush_all),
        b"verbosity" => (1, 2, verbosity),
        b"version" => {
            out.bytes(VERSION.as_bytes());
            return true;
        }
        b"stats" => {
            stats::answer(cache, cx, now_s, words, out);
            return true;
        }
        b"lru_crawler" => {
            lru_crawler(words, out);
            return true;
        }
        _ => return false,
    };
    let Some(arguments) = Arguments::new(words, at_least, at_most) else {
        out.bytes(ERROR);
        return true;
    };
    let answer = command(cache, now_s, &arguments);
    // `delete noreply` deletes a key of that name.
    if arguments.quiet() && !(verb == b"delete" && arguments.count == 1) {
        return true;
    }
    match answer {
        Response::Fixed(bytes) => out.bytes(bytes),
        Response::Number(n) => out.write_with(|line| {
            line.extend_from_slice(Digits::of(n).as_slice());
            line.extend_from_slice(b"\r\n");
        }),
    }
    true
}

/// The reported version: first that of the protocol, since libmemcached refuses version 0.
const VERSION: &str = concat!("VERSION 1.6.0-pitot-", env!("CARGO_PKG_VERSION"), "\r\n");

type Command = fn(&Cache, u32, &Arguments<'_>) -> Response;

enum Response {
    Fixed(&'static [u8]),
    Number(u64),
}

/// `delete <key> [0] [noreply]`.
fn delete(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Response {
    let [key, second, ..] = arguments.words;
    let sound = match arguments.count {
        1 => true,
        2 => second == b"0" || arguments.quiet(),
        _ => second == b"0" && arguments.quiet(),
    };
    if !sound {
        return Response::Fixed(b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n");
    }
    if key.len() > KEY_BYTES_MAX {
        return Response::Fixed(BAD_LINE);
    }
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        shard.counts.delete_misses += 1;
        return Response::Fixed(NOT_FOUND);
    };
    shard.counts.delete_hits += 1;
    shard.remove(slot);
    Response::Fixed(b"DELETED\r\n")
}

/// `incr|decr <key> <delta> [noreply]`.
fn arithmetic(cache: &Cache, now_s: u32, arguments: &Arguments<'_>, increment: bool) -> Response {
    let [key, delta, ..] = arguments.words;
    if key.len() > KEY_BYTES_MAX {
        return Response::Fixed(BAD_LINE);
    }
    let Some(delta) = decimal::wide(delta) else {
        return Response::Fixed(b"CLIENT_ERROR invalid numeric delta argument\r\n");
    };
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        *if increment { &mut shard.counts.incr_misses } else { &mut shard.counts.decr_misses } += 1;
        return Response::Fixed(NOT_FOUND);
    };
    match add_delta(&mut shard, slot, increment, delta, now_s) {
        Some(number) => Response::Number(number),
        None => Response::Fixed(NON_NUMERIC),
    }
}

/// Whether a value is parsed as a number, which comes before the comparison of unique numbers. memcached stores longer ones in
/// several pieces.
pub(super) fn may_be_number(value: &[u8]) -> bool {
    !value.is_empty() && value.len() <= 512 << 10
}

/// Increments an item (wrapping at 64 bits) or decrements it (down to 0), and returns the new number. `None` if its value
/// is not a number.
pub(super) fn add_delta(
    shard: &mut Shard,
    slot: Slot,
    increment: bool,
    delta: u64,
    now_s: u32,
) -> Option<u64> {
    let value = shard.entry(slot).item.value();
    let old = if may_be_number(value) { decimal::wide(value)? } else { return None };
    let new = if increment { old.wrapping_add(delta) } else { old.saturating_sub(delta) };
    shard.renumber(slot, Digits::of(new).as_slice(), now_s);
    *if increment { &mut shard.counts.incr_hits } else { &mut shard.counts.decr_hits } += 1;
    Some(new)
}

/// `touch <key> <exptime> [noreply]`.
fn touch(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Response {
    let [key, exptime, ..] = arguments.words;
    if key.len() > KEY_BYTES_MAX {
        return Response::Fixed(BAD_LINE);
    }
    let Some(exptime) = decimal::signed(exptime) else {
        return Response::Fixed(BAD_EXPTIME);
    };
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        shard.counts.touch_misses += 1;
        return Response::Fixed(NOT_FOUND);
    };
    shard.counts.touch_hits += 1;
    shard.hit(slot, now_s).expires_s = expires_s(exptime, now_s);
    Response::Fixed(b"TOUCHED\r\n")
}

/// `flush_all [delay] [noreply]`.
fn flush_all(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Response {
    let words = &arguments.words[..arguments.count - usize::from(arguments.quiet())];
    let at_s = match words.first() {
        None => AT_ONCE,
        Some(delay) => match decimal::signed(delay) {
            Some(..=0) => AT_ONCE,
            Some(delay) => expires_s(delay, now_s),
            None => return Response::Fixed(BAD_EXPTIME),
        },
    };
    cache.flushes.fetch_add(1, Relaxed);
    cache.store.for_each(now_s, |shard| shard.flush_at(at_s, now_s));
    Response::Fixed(OK)
}

/// `lru_crawler <subcommand>`: there are no item lists to crawl. The replies are those of a memcached without its crawler.
fn lru_crawler(words: Words<'_>, out: &mut Outbox) {
    let arguments = Arguments::new(words, 2, 2);
    let has_meaning = arguments.is_some_and(|arguments| matches!(arguments.words[0], b"crawl" | b"metadump"));
    out.bytes(if has_meaning { b"CLIENT_ERROR lru crawler disabled\r\n" } else { ERROR });
}

/// `verbosity <level> [noreply]`, which has no effect: there is no log.
fn verbosity(_: &Cache, _: u32, arguments: &Arguments<'_>) -> Response {
    let level = arguments.words[0];
    if decimal::wide(level).is_some() { Response::Fixed(OK) } else { Response::Fixed(BAD_LINE) }
}
