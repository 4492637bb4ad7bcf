//! The meta commands `mn mg md ma me`, and the parts that `ms` shares with them.
//!
//! A meta command has a key and flags, each of which is a letter with an optional token. Flags that request a value are
//! answered in the order in which they were given.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::classic::add_delta;
use super::decimal::{self, Digits};
use super::errors::{BAD_LINE, ERROR, NON_NUMERIC};
use super::expiry::{AT_ONCE, NEVER, expires_s};
use super::limits::KEY_BYTES_MAX;
use super::store::{Entry, Marks, New, Store};
use super::words::Words;
use crate::Outbox;

/// Length of the longest opaque token, including its letter.
const OPAQUE_BYTES_MAX: usize = 32;
const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
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
    pub(super) exptime: Option<i64>,
    vivify: Option<i64>,
    recache: Option<i64>,
    initial: u64,
    delta: u64,
    pub(super) cas: Option<u64>,
    pub(super) invalidate: bool,
    pub(super) mode: Mode,
}

/// The token of `M`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Default,
    Letter(u8),
    /// Not a single letter.
    Long,
}

impl<'a> Flags<'a> {
    /// Parses the flags; the error is the reply.
    pub(super) fn parse(words: Words<'a>) -> Result<Flags<'a>, &'static [u8]> {
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
            mode: Mode::Default,
        };
        for word in words {
            let (letter, token) = (word[0], &word[1..]);
            if !letter.is_ascii_alphabetic() {
                return Err(b"CLIENT_ERROR invalid flag\r\n");
            }
            let bit = 1 << (letter - b'A');
            if flags.letters & bit != 0 {
                return Err(b"CLIENT_ERROR duplicate flag\r\n");
            }
            flags.letters |= bit;
            let signed = || decimal::signed(token).ok_or(BAD_TOKEN);
            let unsigned = || decimal::unsigned(token).ok_or(BAD_TOKEN);
            match letter {
                b'q' => flags.quiet = true,
                b'b' => flags.binary = true,
                b'I' => flags.invalidate = true,
                b'N' => flags.vivify = Some(signed()?),
                b'R' => flags.recache = Some(signed()?),
                b'T' => flags.exptime = Some(signed()?),
                b'J' => flags.initial = unsigned()?,
                b'D' => flags.delta = unsigned()?,
                b'C' => flags.cas = Some(unsigned()?),
                b'F' => {
                    let number = decimal::unsigned(token).and_then(|n| u32::try_from(n).ok());
                    flags.client_flags = number.ok_or(BAD_LINE)?;
                }
                b'O' if word.len() > OPAQUE_BYTES_MAX => {
                    return Err(b"CLIENT_ERROR opaque token too long\r\n");
                }
                b'M' => flags.mode = if let [letter] = token { Mode::Letter(*letter) } else { Mode::Long },
                b'O' | b'c' | b'f' | b'h' | b'k' | b'l' | b's' | b't' | b'u' | b'v' => {}
                _ => return Err(b"CLIENT_ERROR invalid flag\r\n"),
            }
        }
        Ok(flags)
    }

    fn has(&self, letter: u8) -> bool {
        self.letters & 1 << (letter - b'A') != 0
    }
}

/// The key of a command; the error is the reply.
pub(super) fn key<'a>(word: &'a [u8], flags: &Flags<'_>) -> Result<Cow<'a, [u8]>, &'static [u8]> {
    if word.len() > KEY_BYTES_MAX {
        return Err(BAD_LINE);
    }
    if !flags.binary {
        return Ok(Cow::Borrowed(word));
    }
    match BASE64.decode(word) {
        Ok(key) if !key.is_empty() => Ok(Cow::Owned(key)),
        _ => Err(b"CLIENT_ERROR error decoding key\r\n"),
    }
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
                push_key(line, flags, key);
                if flags.binary {
                    line.extend_from_slice(b" b");
                }
            }
            letter => give(letter, line),
        }
    }
}

fn push_key(line: &mut Vec<u8>, flags: &Flags<'_>, key: &[u8]) {
    if flags.binary {
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
        b'e' => debug,
        _ => return out.bytes(ERROR),
    };
    let Some(word) = words.next() else {
        return out.bytes(if verb == b'e' { BAD_LINE } else { ERROR });
    };
    if word.len() > KEY_BYTES_MAX {
        return out.bytes(BAD_LINE);
    }
    let parsed = Flags::parse(words).and_then(|flags| key(word, &flags).map(|key| (flags, key)));
    match parsed {
        Ok((flags, key)) => command(store, &flags, &key, now_s, out),
        Err(reply) => out.bytes(if matches!(verb, b'd' | b'a') { BAD_FLAG } else { reply }),
    }
}

/// `mg`.
fn get(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let (slot, vivified) = match (shard.find(hash, key, now_s), flags.vivify) {
        (Some(slot), _) => (slot, false),
        (None, Some(exptime)) if expires_s(exptime, now_s) != AT_ONCE => {
            shard.counts.get_misses += 1;
            let stub = New { flags: 0, expires_s: expires_s(exptime, now_s), value: [b"", b""] };
            (shard.insert(hash, key, stub, now_s), true)
        }
        (None, _) => {
            shard.counts.get_misses += 1;
            if !flags.quiet {
                answer(out, b"EN", flags, key, |_, _| {});
            }
            return;
        }
    };
    if !vivified {
        shard.counts.get_hits += 1;
    }
    if let Some(exptime) = flags.exptime {
        shard.counts.touch_hits += 1;
        shard.entry_mut(slot).expires_s = expires_s(exptime, now_s);
    }
    // The flags h and l request the state before this command.
    let before = (shard.entry(slot).marks, shard.entry(slot).accessed_s);
    let entry = if flags.has(b'u') || vivified { shard.entry_mut(slot) } else { shard.hit(slot, now_s) };
    let (marks, stale) = (before.0, before.0.has(Marks::STALE));
    let given = marks.has(Marks::TURN_GIVEN);
    let near_its_end = flags.recache.is_some_and(|limit| {
        entry.expires_s != NEVER && i64::from(entry.expires_s.saturating_sub(now_s)) < limit
    });
    let won = vivified || !given && (stale || near_its_end);
    if won {
        entry.marks |= Marks::TURN_GIVEN;
    }
    let entry = &*entry;
    let value_len = entry.item.value().len() as u64;
    out.write_with(|line| {
        if flags.has(b'v') {
            line.extend_from_slice(b"VA ");
            line.extend_from_slice(Digits::of(value_len).as_slice());
        } else {
            line.extend_from_slice(b"HD");
        }
        answer_flags(line, flags, key, |letter, line| match letter {
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

/// `ma`.
fn arithmetic(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let increment = match flags.mode {
        Mode::Default | Mode::Letter(b'I' | b'i' | b'+') => true,
        Mode::Letter(b'D' | b'd' | b'-') => false,
        Mode::Letter(_) => return out.bytes(b"CLIENT_ERROR invalid mode for ma M token\r\n"),
        Mode::Long => return out.bytes(BAD_FLAG),
    };
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let slot = match (shard.find(hash, key, now_s), flags.vivify) {
        (Some(slot), _) => {
            if flags.cas.is_some_and(|cas| cas != shard.entry(slot).cas) {
                return answer(out, b"EX", flags, key, |_, _| {});
            }
            if add_delta(&mut shard, slot, increment, flags.delta, now_s).is_none() {
                return out.bytes(NON_NUMERIC);
            }
            if let Some(exptime) = flags.exptime {
                shard.entry_mut(slot).expires_s = expires_s(exptime, now_s);
            }
            slot
        }
        (None, Some(exptime)) if expires_s(exptime, now_s) != AT_ONCE => {
            let initial = Digits::of(flags.initial);
            let value = [initial.as_slice(), b""];
            shard.insert(hash, key, New { flags: 0, expires_s: expires_s(exptime, now_s), value }, now_s)
        }
        (None, _) => {
            *if increment { &mut shard.counts.incr_misses } else { &mut shard.counts.decr_misses } += 1;
            return answer(out, b"NF", flags, key, |_, _| {});
        }
    };
    if flags.quiet {
        return;
    }
    let entry = shard.entry(slot);
    out.write_with(|line| {
        if flags.has(b'v') {
            line.extend_from_slice(b"VA ");
            line.extend_from_slice(Digits::of(entry.item.value().len() as u64).as_slice());
        } else {
            line.extend_from_slice(b"HD");
        }
        answer_flags(line, flags, key, |letter, line| match letter {
            b'c' => number(line, b'c', entry.cas),
            b't' => time_left(line, entry, now_s),
            _ => {}
        });
        line.extend_from_slice(b"\r\n");
        if flags.has(b'v') {
            line.extend_from_slice(&entry.item.bytes()[entry.item.block()]);
        }
    });
}

/// `me`: debug information about an item.
fn debug(store: &Store, flags: &Flags<'_>, key: &[u8], now_s: u32, out: &mut Outbox) {
    let hash = store.hash(key);
    let mut shard = store.shard(hash, now_s);
    let Some(slot) = shard.find(hash, key, now_s) else {
        return out.bytes(b"EN\r\n");
    };
    let entry = shard.entry(slot);
    out.write_with(|line| {
        line.extend_from_slice(b"ME ");
        push_key(line, flags, key);
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
