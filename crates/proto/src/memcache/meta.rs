//! The meta commands `mn mg md ma me`, and the parts that `ms` shares with them.
//!
//! A meta command has a key and flags, each of which is a letter with an optional token. Flags that request a value are
//! answered in the order in which they were given.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::classic::{add_delta, may_be_number};
use super::decimal::{self, Digits};
use super::errors::{BAD_LINE, ERROR, NON_NUMERIC};
use super::expiry::{NEVER, expires_s};
use super::limits::KEY_BYTES_MAX;
use super::store::{Entry, Marks, New, Store};
use super::words::Words;
use crate::Outbox;

/// Length of the longest opaque token, including its letter.
const OPAQUE_BYTES_MAX: usize = 32;
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
const DUPLICATE_FLAG: &[u8] = b"CLIENT_ERROR duplicate flag\r\n";
const UNKNOWN_FLAG: &[u8] = b"CLIENT_ERROR invalid flag\r\n";
const BAD_FLAG: &[u8] = b"CLIENT_ERROR invalid or duplicate flag\r\n";

/// The flags of a command, with their tokens.
#[derive(Debug)]
pub(super) struct Flags<'a> {
    words: Words<'a>,
    /// The letters that occur, as bits.
    letters: u64,
    pub(super) quiet: bool,
    /// The key is in base64.
    binary: bool,
    pub(super) client_flags: u32,
    pub(super) exptime: Option<i32>,
    vivify: Option<i32>,
    recache: Option<i32>,
    initial: u64,
    delta: u64,
    pub(super) cas: Option<u64>,
    pub(super) invalidate: bool,
    /// The token of `M`.
    pub(super) mode: Option<u8>,
    opaque_is_long: bool,
}

impl<'a> Flags<'a> {
    /// Parses the flags, and the key, whose form depends on them. The error is the reply. As in memcached, an unknown or
    /// a repeated flag is reported at once, and else the last wrong token.
    pub(super) fn parse(
        key: &'a [u8],
        words: Words<'a>,
    ) -> Result<(Flags<'a>, Cow<'a, [u8]>), &'static [u8]> {
        let mut flags = Flags {
            words,
            letters: 0,
            quiet: false,
            binary: false,
            client_flags: 0,
            exptime: None,
            vivify: None,
            recache: None,
            initial: 0,
            delta: 1,
            cas: None,
            invalidate: false,
            mode: None,
            opaque_is_long: false,
        };
        let mut key = Cow::Borrowed(key);
        let mut wrong: Option<&'static [u8]> = None;
        for word in words {
            let (letter, token) = (word[0], &word[1..]);
            if letter >= 127 {
                return Err(DUPLICATE_FLAG);
            }
            if !letter.is_ascii_alphabetic() {
                return Err(UNKNOWN_FLAG);
            }
            let bit = 1 << (letter - b'A');
            if flags.letters & bit != 0 {
                return Err(DUPLICATE_FLAG);
            }
            flags.letters |= bit;
            let error: Option<&'static [u8]> = match letter {
                b'N' => set(&mut flags.vivify, decimal::signed(token)).then_some(BAD_TOKEN),
                b'R' => set(&mut flags.recache, decimal::signed(token)).then_some(BAD_TOKEN),
                b'T' => set(&mut flags.exptime, decimal::signed(token)).then_some(BAD_TOKEN),
                b'C' => set(&mut flags.cas, decimal::wide(token)).then_some(BAD_TOKEN),
                b'J' => {
                    let initial = decimal::wide(token);
                    flags.initial = initial.unwrap_or(0);
                    initial.is_none().then_some(b"CLIENT_ERROR invalid numeric initial value\r\n")
                }
                b'D' => {
                    let delta = decimal::wide(token);
                    flags.delta = delta.unwrap_or(0);
                    delta.is_none().then_some(b"CLIENT_ERROR invalid numeric delta value\r\n")
                }
                b'F' => {
                    let number = decimal::lower_half(token);
                    flags.client_flags = number.unwrap_or(0);
                    // It has no text of its own.
                    number.is_none().then_some(wrong.unwrap_or(BAD_LINE))
                }
                b'M' => {
                    flags.mode = token.first().copied();
                    (token.len() != 1).then_some(b"CLIENT_ERROR incorrect length for M token\r\n")
                }
                b'b' => {
                    flags.binary = true;
                    match BASE64.decode(&key) {
                        Ok(decoded) if !decoded.is_empty() => {
                            key = Cow::Owned(decoded);
                            None
                        }
                        _ => Some(b"CLIENT_ERROR error decoding key\r\n"),
                    }
                }
                b'O' => {
                    flags.opaque_is_long = word.len() > OPAQUE_BYTES_MAX;
                    None
                }
                b'I' => {
                    flags.invalidate = true;
                    None
                }
                b'q' => {
                    flags.quiet = true;
                    None
                }
                b'L' | b'P' | b'c' | b'f' | b'h' | b'k' | b'l' | b's' | b't' | b'u' | b'v' => None,
                _ => return Err(UNKNOWN_FLAG),
            };
            wrong = error.or(wrong);
        }
        wrong.map_or(Ok((flags, key)), Err)
    }

    /// Refuses an opaque that is too long; the error is the reply.
    pub(super) fn check_opaque(&self) -> Result<(), &'static [u8]> {
        if self.opaque_is_long { Err(b"CLIENT_ERROR opaque token too long\r\n") } else { Ok(()) }
    }

    fn has(&self, letter: u8) -> bool {
        self.letters & 1 << (letter - b'A') != 0
    }
}

/// Sets the token of a flag. True if it is not a number.
fn set<T: Copy>(target: &mut Option<T>, token: Option<T>) -> bool {
    *target = token;
    token.is_none()
}

/// Writes a reply line: its first word, then the requested flags. `give` adds those that depend on the item.
pub(super) fn answer(
    out: &mut Outbox,
    word: &[u8],
    flags: &Flags<'_>,
    key: &[u8],
    give: impl FnMut(u8, &mut Vec<u8>),
) {
    out.write_with(|line| {
        line.extend_from_slice(word);
        answer_flags(line, flags, key, give);
        line.extend_from_slice(b"\r\n");
    });
}

fn answer_flags(line: &mut Vec<u8>, flags: &Flags<'_>, key: &[u8], mut give: impl FnMut(u8, &mut Vec<u8>)) {
    for word in flags.words {
        match word[0] {
            b'O' => {
                line.push(b' ');
                line.extend_from_slice(word);
            }
            b'k' => {
                line.extend_from_slice(b" k");
                push_key(line, flags.binary, key);
                if flags.binary {
                    line.extend_from_slice(b" b");
                }
            }
            letter => give(letter, line),
        }
    }
}

fn push_key(line: &mut Vec<u8>, binary: bool, key: &[u8]) {
    if binary {
        line.extend_from_slice(BASE64.encode(key).as_bytes());
    } else {
        line.extend_from_slice(key);
    }
}

/// Adds a flag with a number.
pub(super) fn number(line: &mut Vec<u8>, letter: u8, n: u64) {
    line.extend_from_slice(&[b' ', letter]);
    line.extend_from_slice(Digits::of(n).as_slice());
}

/// Adds the remaining lifetime of an item in seconds, -1 if it does not expire.
fn time_left(line: &mut Vec<u8>, entry: &Entry, now_s: u32) {
    if entry.expires_s == NEVER {
        line.extend_from_slice(b" t-1");
    } else {
        number(line, b't', u64::from(entry.expires_s.saturating_sub(now_s)));
    }
}

/// Executes a meta command other than `ms`; `verb` is the letter after the `m`.
pub(super) fn execute(store: &Store, verb: u8, mut words: Words<'_>, now_s: u32, out: &mut Outbox) {
    let command = match verb {
        b'n' => return out.bytes(b"MN\r\n"),
        b'g' => get,
        b'd' => delete,
        b'a' => arithmetic,
        b'e' => return debug(store, words, now_s, out),
        _ => return out.bytes(ERROR),
    };
    let Some(word) = words.next() else { return out.bytes(ERROR) };
    if word.len() > KEY_BYTES_MAX {
        return out.bytes(BAD_LINE);
    }
    match Flags::parse(word, words) {
        Ok((flags, key)) => match flags.check_opaque() {
            Ok(()) => command(store, &flags, &key, now_s, out),
            Err(reply) => out.bytes(reply),
        },
        Err(reply) => out.bytes(if matches!(verb, b'd' | b'a') { BAD_FLAG } else { reply }),
    }
}

/// `mg`. Flags are carried out in their order: `t T30` shows the time that was left before.
fn get(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let (slot, vivified) = match (shard.find(hash, key, now_s), flags.vivify) {
        (Some(slot), _) => {
            shard.counts.get_hits += 1;
            (slot, false)
        }
        (None, Some(_)) => {
            shard.counts.get_misses += 1;
            let stub = New { flags: 0, expires_s: NEVER, value: [b"", b""] };
            (shard.insert(hash, key, stub, now_s), true)
        }
        (None, None) => {
            shard.counts.get_misses += 1;
            if !flags.quiet {
                answer(out, b"EN", flags, key, |_, _| {});
            }
            return;
        }
    };
    shard.counts.touch_hits += u64::from(flags.exptime.is_some());
    // The flags h and l request the state before this command.
    let before = (shard.entry(slot).marks, shard.entry(slot).accessed_s);
    let entry = if flags.has(b'u') { shard.entry_mut(slot) } else { shard.hit(slot, now_s) };
    let (stale, given) = (before.0.has(Marks::STALE), before.0.has(Marks::TURN_GIVEN));
    let mut won = vivified || (stale && !given);
    let value_len = entry.item.value().len() as u64;
    out.write_with(|line| {
        if flags.has(b'v') {
            line.extend_from_slice(b"VA ");
            line.extend_from_slice(Digits::of(value_len).as_slice());
        } else {
            line.extend_from_slice(b"HD");
        }
        answer_flags(line, flags, key, |letter, line| match letter {
            b'T' => entry.expires_s = expires_s(flags.exptime.unwrap_or(0), now_s),
            b'N' if vivified => entry.expires_s = expires_s(flags.vivify.unwrap_or(0), now_s),
            b'R' => {
                let limit = flags.recache.filter(|&limit| limit != 0);
                let ends_before = limit.is_some_and(|limit| entry.expires_s < expires_s(limit, now_s));
                won |= !given && !vivified && entry.expires_s != NEVER && ends_before;
            }
            b'c' => number(line, b'c', entry.cas),
            b'f' => number(line, b'f', u64::from(entry.flags)),
            b'h' => number(line, b'h', u64::from(before.0.has(Marks::FETCHED))),
            b'l' => number(line, b'l', u64::from(now_s.saturating_sub(before.1))),
            b's' => number(line, b's', value_len),
            b't' => time_left(line, entry, now_s),
            _ => {}
        });
        for (mark, holds) in [(b" Z", given), (b" X", stale), (b" W", won)] {
            if holds {
                line.extend_from_slice(mark);
            }
        }
        line.extend_from_slice(b"\r\n");
    });
    if won {
        entry.marks |= Marks::TURN_GIVEN;
    }
    if flags.has(b'v') {
        out.shared(entry.item.bytes(), entry.item.block());
    }
}

/// `md`.
fn delete(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        shard.counts.delete_misses += 1;
        return answer(out, b"NF", flags, key, |_, _| {});
    };
    if flags.cas.is_some_and(|cas| cas != shard.entry(slot).cas) {
        return answer(out, b"EX", flags, key, |_, _| {});
    }
    shard.counts.delete_hits += 1;
    if flags.invalidate {
        let cas = shard.next_cas();
        let entry = shard.entry_mut(slot);
        entry.cas = cas;
        entry.marks |= Marks::STALE;
        entry.marks.remove(Marks::TURN_GIVEN);
        if let Some(exptime) = flags.exptime {
            entry.expires_s = expires_s(exptime, now_s);
        }
    } else {
        shard.remove(slot);
    }
    drop(shard);
    if !flags.quiet {
        answer(out, b"HD", flags, key, |_, _| {});
    }
}

/// `ma`. Flags are carried out in their order, as in `mg`.
fn arithmetic(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let increment = match flags.mode {
        None | Some(b'I' | b'+') => true,
        Some(b'D' | b'-') => false,
        Some(_) => return out.bytes(b"CLIENT_ERROR invalid mode for ma M token\r\n"),
    };
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let (slot, new, vivified) = match (shard.find(hash, key, now_s), flags.vivify) {
        (Some(slot), _) => {
            let entry = shard.entry(slot);
            let differs = flags.cas.is_some_and(|cas| cas != 0 && cas != entry.cas);
            if differs && may_be_number(entry.item.value()) {
                return answer(out, b"EX", flags, key, |_, _| {});
            }
            let Some(new) = add_delta(&mut shard, slot, increment, flags.delta, now_s) else {
                return out.bytes(NON_NUMERIC);
            };
            (slot, new, false)
        }
        (None, Some(_)) => {
            let initial = Digits::of(flags.initial);
            let item = New { flags: 0, expires_s: NEVER, value: [initial.as_slice(), b""] };
            (shard.insert(hash, key, item, now_s), flags.initial, true)
        }
        (None, None) => {
            *if increment { &mut shard.counts.incr_misses } else { &mut shard.counts.decr_misses } += 1;
            return answer(out, b"NF", flags, key, |_, _| {});
        }
    };
    let entry = shard.entry_mut(slot);
    let mut carry_out = |letter, line: &mut Vec<u8>| match letter {
        b'T' => entry.expires_s = expires_s(flags.exptime.unwrap_or(0), now_s),
        b'N' if vivified => entry.expires_s = expires_s(flags.vivify.unwrap_or(0), now_s),
        b'c' => number(line, b'c', entry.cas),
        b't' => time_left(line, entry, now_s),
        _ => {}
    };
    // Only the change of an item that was there is answered by silence.
    if flags.quiet && !vivified {
        let mut unsent = Vec::new();
        return flags.words.for_each(|word| carry_out(word[0], &mut unsent));
    }
    let digits = Digits::of(new);
    out.write_with(|reply| {
        if flags.has(b'v') {
            reply.extend_from_slice(b"VA ");
            reply.extend_from_slice(Digits::of(digits.as_slice().len() as u64).as_slice());
        } else {
            reply.extend_from_slice(b"HD");
        }
        answer_flags(reply, flags, key, carry_out);
        reply.extend_from_slice(b"\r\n");
        if flags.has(b'v') {
            reply.extend_from_slice(digits.as_slice());
            reply.extend_from_slice(b"\r\n");
        }
    });
}

/// `me`: debug information about an item. It knows one flag, `b`, and no other place for that but the first.
fn debug(store: &Store, mut words: Words<'_>, now_s: u32, out: &mut Outbox) {
    let Some(word) = words.next().filter(|word| word.len() <= KEY_BYTES_MAX) else {
        return out.bytes(BAD_LINE);
    };
    let binary = words.next() == Some(b"b");
    let decoded;
    let key = if binary {
        match BASE64.decode(word) {
            Ok(key) if !key.is_empty() => decoded = key,
            _ => return out.bytes(BAD_LINE),
        }
        &decoded[..]
    } else {
        word
    };
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        return out.bytes(b"EN\r\n");
    };
    let entry = shard.entry(slot);
    out.write_with(|line| {
        line.extend_from_slice(b"ME ");
        push_key(line, binary, key);
        let left = match entry.expires_s {
            NEVER => "-1".to_owned(),
            expires_s => expires_s.saturating_sub(now_s).to_string(),
        };
        let fetched = if entry.marks.has(Marks::FETCHED) { "yes" } else { "no" };
        let known = format!(
            " exp={left} la={} cas={} fetch={fetched} cls=1 size={}\r\n",
            now_s.saturating_sub(entry.accessed_s),
            entry.cas,
            entry.item.bytes().len() + size_of::<Entry>(),
        );
        line.extend_from_slice(known.as_bytes());
    });
}
