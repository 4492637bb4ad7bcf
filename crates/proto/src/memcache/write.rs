//! The commands with a data block: parsing of their lines, and execution once the block has arrived.

use std::borrow::Cow;

use super::decimal;
use super::errors::{BAD_LINE, ERROR};
use super::expiry::{AT_ONCE, expires_s};
use super::limits::KEY_BYTES_MAX;
use super::meta::{self, Flags};
use super::store::{Marks, New, Shard, Store};
use super::words::Words;
use crate::Outbox;

/// The error for a block without a line end at its announced length.
const BAD_BLOCK: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
/// The error for a block that exceeds the limit on values.
const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";

/// The condition for writing an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// Only if there is an item, and it has the unique number.
    Cas,
}

/// A command with a data block.
#[derive(Debug)]
pub(super) struct Write<'a> {
    pub(super) key: Cow<'a, [u8]>,
    pub(super) verb: Verb,
    pub(super) flags: u32,
    pub(super) exptime: i32,
    /// The unique number that an item must have, if it is not 0.
    pub(super) cas: u64,
    /// True if a number older than the item's is accepted, too; the written item is then stale.
    pub(super) or_stale: bool,
    /// Length of the data block without its line end.
    pub(super) len: u64,
    pub(super) reply: Reply<'a>,
}

/// The form of the reply.
#[derive(Debug)]
pub(super) enum Reply<'a> {
    Classic { quiet: bool },
    Meta(Flags<'a>),
}

/// A refused command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    /// The error line; empty for none.
    pub(super) reply: &'static [u8],
    /// Length of the data block that follows and is skipped.
    pub(super) len: Option<u64>,
}

impl Refused {
    fn line(reply: &'static [u8]) -> Refused {
        Refused { reply, len: None }
    }
}

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Stored(u64),
    NotStored,
    Exists,
    NotFound,
}

impl<'a> Write<'a> {
    /// Parses a classic line after its verb: `<key> <flags> <exptime> <bytes> [<cas>] [noreply]`.
    pub(super) fn classic(verb: Verb, words: Words<'a>) -> Result<Write<'a>, Refused> {
        let with_cas = verb == Verb::Cas;
        let mut all = [&b""[..]; 7];
        let mut count = 0;
        for word in words {
            if count == all.len() {
                return Err(Refused::line(ERROR));
            }
            all[count] = word;
            count += 1;
        }
        let required = 4 + usize::from(with_cas);
        if count < required || count > required + 1 {
            return Err(Refused::line(ERROR));
        }
        let quiet = all[count - 1] == b"noreply";
        let refused = |len| Refused { reply: if quiet { b"" } else { BAD_LINE }, len };
        let numbers = || {
            let flags = decimal::lower_half(all[1])?;
            let cas = if with_cas { decimal::wide(all[4])? } else { 0 };
            Some((flags, decimal::signed(all[2])?, block_len(all[3])?, cas))
        };
        let (flags, exptime, len, cas) = numbers().ok_or_else(|| refused(None))?;
        let key = all[0];
        if key.len() > KEY_BYTES_MAX {
            return Err(refused(Some(len)));
        }
        let reply = Reply::Classic { quiet };
        Ok(Write { key: Cow::Borrowed(key), verb, flags, exptime, cas, or_stale: false, len, reply })
    }

    /// Parses the line of `ms` after its verb: `<key> <datalen> <flags>*`.
    pub(super) fn meta(mut words: Words<'a>) -> Result<Write<'a>, Refused> {
        let key = words.next().ok_or(Refused::line(ERROR))?;
        let len = words.next().and_then(block_len).ok_or(Refused::line(BAD_LINE))?;
        let refused = |reply| Refused { reply, len: Some(len) };
        if key.len() > KEY_BYTES_MAX {
            return Err(refused(BAD_LINE));
        }
        let (flags, key) = Flags::parse(key, words).map_err(refused)?;
        let verb = match flags.mode {
            None | Some(b'S') => Verb::Set,
            Some(b'E') => Verb::Add,
            Some(b'A') => Verb::Append,
            Some(b'P') => Verb::Prepend,
            Some(b'R') => Verb::Replace,
            Some(_) => return Err(refused(b"CLIENT_ERROR invalid mode for ms M token\r\n")),
        };
        let verb =
            if flags.cas.is_some() && matches!(verb, Verb::Set | Verb::Replace) { Verb::Cas } else { verb };
        flags.check_opaque().map_err(refused)?;
        Ok(Write {
            key,
            verb,
            flags: flags.client_flags,
            exptime: flags.exptime.unwrap_or(0),
            cas: flags.cas.unwrap_or(0),
            or_stale: flags.invalidate,
            len,
            reply: Reply::Meta(flags),
        })
    }

    /// Executes the command: `block` is the data with its line end. Writes a reply, if one is wanted.
    pub(super) fn execute(
        &self,
        store: &Store,
        value_bytes_max: u64,
        now_s: u32,
        block: &[u8],
        out: &mut Outbox,
    ) {
        let Some(value) = block.strip_suffix(b"\r\n") else {
            if !matches!(self.reply, Reply::Classic { quiet: true }) {
                out.bytes(BAD_BLOCK);
            }
            return;
        };
        let hash = store.hash(&self.key);
        let outcome = self.store(&mut store.shard(hash, now_s), hash, value_bytes_max, now_s, value);
        match &self.reply {
            Reply::Classic { quiet: true } => {}
            Reply::Classic { quiet: false } => out.bytes(match outcome {
                Outcome::Stored(_) => b"STORED\r\n",
                Outcome::NotStored => b"NOT_STORED\r\n",
                Outcome::Exists => b"EXISTS\r\n",
                Outcome::NotFound => b"NOT_FOUND\r\n",
            }),
            Reply::Meta(flags) => {
                let (word, cas) = match outcome {
                    Outcome::Stored(_) if flags.quiet => return,
                    Outcome::Stored(cas) => (b"HD", cas),
                    Outcome::NotStored => (b"NS", 0),
                    Outcome::Exists => (b"EX", 0),
                    Outcome::NotFound => (b"NF", 0),
                };
                meta::answer(out, word, flags, &self.key, |flag, line| {
                    if flag == b'c' {
                        meta::number(line, b'c', cas);
                    }
                });
            }
        }
    }

    /// Refuses a value that is too long. The item is deleted, so that its old value is not taken for the new one.
    pub(super) fn refuse_too_large(&self, store: &Store, now_s: u32, out: &mut Outbox) {
        let is_meta = matches!(self.reply, Reply::Meta(_));
        if !matches!(self.reply, Reply::Classic { quiet: true }) {
            out.bytes(TOO_LARGE);
        }
        if self.verb == Verb::Set || is_meta {
            let hash = store.hash(&self.key);
            let mut shard = store.shard(hash, now_s);
            if let Some(slot) = shard.find(hash, &self.key, now_s) {
                shard.remove(slot);
            }
        }
    }

    fn store(&self, shard: &mut Shard, hash: u64, value_bytes_max: u64, now_s: u32, value: &[u8]) -> Outcome {
        shard.counts.writes += 1;
        let new = New { flags: self.flags, expires_s: expires_s(self.exptime, now_s), value: [value, b""] };
        let Some(slot) = shard.find(hash, &self.key, now_s) else {
            if self.verb == Verb::Cas {
                shard.counts.cas_misses += 1;
                return Outcome::NotFound;
            }
            if !matches!(self.verb, Verb::Set | Verb::Add) {
                return Outcome::NotStored;
            }
            if new.expires_s == AT_ONCE {
                return Outcome::Stored(shard.next_cas());
            }
            let slot = shard.insert(hash, &self.key, new, now_s);
            return Outcome::Stored(shard.entry(slot).cas);
        };
        let present = shard.entry(slot);
        let (marks, expires_s) = (present.marks, present.expires_s);
        let matches = self.cas == present.cas;
        match self.verb {
            Verb::Set | Verb::Replace => shard.rewrite(slot, new, now_s),
            Verb::Add => {
                shard.promote(slot, now_s);
                return Outcome::NotStored;
            }
            Verb::Cas if matches => {
                shard.counts.cas_hits += 1;
                shard.rewrite(slot, new, now_s);
            }
            Verb::Cas if self.or_stale && self.cas != 0 && self.cas < present.cas => {
                shard.counts.cas_hits += 1;
                shard.rewrite(slot, New { expires_s, ..new }, now_s);
                shard.entry_mut(slot).marks |= Marks::STALE | marks.only(Marks::TURN_GIVEN);
            }
            Verb::Cas => {
                shard.counts.cas_badval += 1;
                return Outcome::Exists;
            }
            Verb::Append | Verb::Prepend if self.cas != 0 && !matches => return Outcome::Exists,
            Verb::Append | Verb::Prepend => {
                let (item, flags) = (present.item.clone(), present.flags);
                let old = item.value();
                if (old.len() + value.len()) as u64 > value_bytes_max {
                    return Outcome::NotStored;
                }
                let value = if self.verb == Verb::Append { [old, value] } else { [value, old] };
                shard.rewrite(slot, New { flags, expires_s, value }, now_s);
            }
        }
        Outcome::Stored(shard.entry(slot).cas)
    }
}

/// Parses the length of a block. As in memcached, it must fit into 31 bits with its line end.
fn block_len(word: &[u8]) -> Option<u64> {
    decimal::signed(word).filter(|&len| len <= i32::MAX - 2).and_then(|len| u64::try_from(len).ok())
}
