//! The classic commands that consist of one line, except `get` and its variants.

use std::sync::atomic::Ordering::Relaxed;

use super::cache::Cache;
use super::decimal::{self, Digits};
use super::errors::{BAD_EXPTIME, BAD_LINE, ERROR, NON_NUMERIC};
use super::expiry::{AT_ONCE, expires_s};
use super::limits::KEY_BYTES_MAX;
use super::stats;
use super::store::{New, Shard, Slot};
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
    const MAX: usize = 4;

    /// `None` if their number is not in the allowed range.
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
) {
    let (at_least, at_most, command): (usize, usize, Command) = match verb {
        b"delete" => (1, 3, delete),
        b"incr" => (2, 3, |cache, now_s, arguments| arithmetic(cache, now_s, arguments, true)),
        b"decr" => (2, 3, |cache, now_s, arguments| arithmetic(cache, now_s, arguments, false)),
        b"touch" => (2, 3, touch),
        b"flush_all" => (0, 2, flush_all),
        b"verbosity" => (1, 4, verbosity),
        b"version" => (0, 4, |_, _, _| Answer::Fixed(VERSION.as_bytes())),
        b"stats" => {
            return match Arguments::new(words, 0, 1) {
                Some(arguments) => stats::answer(cache, cx, now_s, arguments.words[0], out),
                None => out.bytes(ERROR),
            };
        }
        _ => return out.bytes(ERROR),
    };
    let Some(arguments) = Arguments::new(words, at_least, at_most) else {
        return out.bytes(ERROR);
    };
    let answer = command(cache, now_s, &arguments);
    if arguments.quiet() && verb != b"version" {
        return;
    }
    match answer {
        Answer::Fixed(bytes) => out.bytes(bytes),
        Answer::Number(n) => out.write_with(|line| {
            line.extend_from_slice(Digits::of(n).as_slice());
            line.extend_from_slice(b"\r\n");
        }),
    }
}

/// The reported version: first that of the protocol, since libmemcached refuses version 0.
const VERSION: &str = concat!("VERSION 1.6.0-pitot-", env!("CARGO_PKG_VERSION"), "\r\n");

type Command = fn(&Cache, u32, &Arguments<'_>) -> Answer;

enum Answer {
    Fixed(&'static [u8]),
    Number(u64),
}

/// `delete <key> [0] [noreply]`.
fn delete(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Answer {
    let [key, second, ..] = arguments.words;
    let sound = match arguments.count {
        1 => true,
        2 => second == b"0" || arguments.quiet(),
        _ => second == b"0" && arguments.quiet(),
    };
    if !sound {
        return Answer::Fixed(b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n");
    }
    if key.len() > KEY_BYTES_MAX {
        return Answer::Fixed(BAD_LINE);
    }
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        shard.counts.delete_misses += 1;
        return Answer::Fixed(NOT_FOUND);
    };
    shard.counts.delete_hits += 1;
    shard.remove(slot);
    Answer::Fixed(b"DELETED\r\n")
}

/// `incr|decr <key> <delta> [noreply]`.
fn arithmetic(cache: &Cache, now_s: u32, arguments: &Arguments<'_>, increment: bool) -> Answer {
    let [key, delta, ..] = arguments.words;
    if key.len() > KEY_BYTES_MAX {
        return Answer::Fixed(BAD_LINE);
    }
    let Some(delta) = decimal::unsigned(delta) else {
        return Answer::Fixed(b"CLIENT_ERROR invalid numeric delta argument\r\n");
    };
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        *if increment { &mut shard.counts.incr_misses } else { &mut shard.counts.decr_misses } += 1;
        return Answer::Fixed(NOT_FOUND);
    };
    match add_delta(&mut shard, slot, increment, delta, now_s) {
        Some(number) => Answer::Number(number),
        None => Answer::Fixed(NON_NUMERIC),
    }
}

/// Increments an item (wrapping at 64 bits) or decrements it (down to 0). `None` if its value is not a number.
pub(super) fn add_delta(
    shard: &mut Shard,
    slot: Slot,
    increment: bool,
    delta: u64,
    now_s: u32,
) -> Option<u64> {
    let entry = shard.entry(slot);
    // memcached pads a number that has become shorter with blanks, so clients may write such values back.
    let old = decimal::unsigned(entry.item.value().trim_ascii_end())?;
    let new = if increment { old.wrapping_add(delta) } else { old.saturating_sub(delta) };
    let digits = Digits::of(new);
    let (flags, expires_s, marks) = (entry.flags, entry.expires_s, entry.marks);
    shard.rewrite(slot, New { flags, expires_s, value: [digits.as_slice(), b""] }, now_s);
    shard.entry_mut(slot).marks |= marks;
    *if increment { &mut shard.counts.incr_hits } else { &mut shard.counts.decr_hits } += 1;
    Some(new)
}

/// `touch <key> <exptime> [noreply]`.
fn touch(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Answer {
    let [key, exptime, ..] = arguments.words;
    if key.len() > KEY_BYTES_MAX {
        return Answer::Fixed(BAD_LINE);
    }
    let Some(exptime) = decimal::signed(exptime) else {
        return Answer::Fixed(BAD_EXPTIME);
    };
    let hash = cache.store.hash(key);
    let mut shard = cache.store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        shard.counts.touch_misses += 1;
        return Answer::Fixed(NOT_FOUND);
    };
    shard.counts.touch_hits += 1;
    shard.hit(slot, now_s).expires_s = expires_s(exptime, now_s);
    Answer::Fixed(b"TOUCHED\r\n")
}

/// `flush_all [delay] [noreply]`.
fn flush_all(cache: &Cache, now_s: u32, arguments: &Arguments<'_>) -> Answer {
    let words = &arguments.words[..arguments.count - usize::from(arguments.quiet())];
    let at_s = match words.first() {
        None => AT_ONCE,
        Some(delay) => match decimal::signed(delay) {
            Some(..=0) => AT_ONCE,
            Some(delay) => expires_s(delay, now_s),
            None => return Answer::Fixed(BAD_EXPTIME),
        },
    };
    cache.flushes.fetch_add(1, Relaxed);
    cache.store.for_each(now_s, |shard| shard.flush_at(at_s, now_s));
    Answer::Fixed(OK)
}

/// `verbosity <level> [noreply]`, which has no effect: there is no log.
fn verbosity(_: &Cache, _: u32, arguments: &Arguments<'_>) -> Answer {
    let level = arguments.words[0];
    if arguments.quiet() || decimal::unsigned(level).is_some() {
        Answer::Fixed(OK)
    } else {
        Answer::Fixed(BAD_LINE)
    }
}
