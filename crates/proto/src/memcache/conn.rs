//! A connection: from command line to reply.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use memchr::memchr;

use super::cache::Cache;
use super::classic;
use super::errors::{BAD_EXPTIME, BAD_LINE, ERROR};
use super::expiry::expires_s;
use super::limits::{KEY_BYTES_MAX, LINE_BYTES_MAX};
use super::words::{Words, without_line_end};
use super::write::{Refused, Verb, Write};
use super::{decimal, meta};
use crate::{Context, Exchange, Next, ServerConn, Step, Violation, ViolationKind};

/// Once the unsent values of one command exceed this many bytes, they are sent before more are added.
const UNSENT_MAX: u64 = 256 * 1024;
/// The first byte of a request of the binary protocol.
const BINARY_REQUEST: u8 = 0x80;
/// The line end after a data block.
const BLOCK_END: u64 = 2;

/// A connection. Between commands it needs no other memory.
pub(super) struct Conn {
    cache: Arc<Cache>,
    state: State,
}

const _: () = assert!(size_of::<Conn>() <= 32, "an idle connection has grown");

enum State {
    /// Before the first byte.
    Start,
    /// Between commands.
    Line,
    /// In the keys of a `get` or one of its variants.
    Keys(Retrieval),
    /// In a data block.
    Block(Box<Block>),
    /// In the rest of a data block that is skipped, with its length.
    Discard { left: u64 },
    /// In the rest of a line that is skipped.
    RestOfLine,
}

/// The variant of a `get`.
#[derive(Clone, Copy)]
struct Retrieval {
    with_cas: bool,
    /// The new time of expiry.
    touch_s: Option<u32>,
}

/// A data block that is being received.
struct Block {
    /// The command line.
    line: Box<[u8]>,
    /// The received part.
    bytes: Vec<u8>,
    /// Its length, including the line end.
    len: usize,
}

impl Drop for Conn {
    fn drop(&mut self) {
        self.cache.closed.fetch_add(1, Relaxed);
    }
}

impl ServerConn for Conn {
    fn open(&mut self, cx: &Context<'_>, _: &mut Exchange) -> Next {
        // Only the first connection sees a zero.
        let _ = self.cache.since_s.compare_exchange(0, cx.unix_s, Relaxed, Relaxed);
        Next::Read
    }

    fn receive(
        &mut self,
        cx: &Context<'_>,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        let now_s = u32::try_from(cx.unix_s).unwrap_or(u32::MAX - 2);
        if let (State::Start, Some(first)) = (&self.state, input.first()) {
            if *first == BINARY_REQUEST {
                // Its client would wait forever for a binary reply.
                return Err(ViolationKind::Malformed.into());
            }
            self.state = State::Line;
        }
        let mut step = match &mut self.state {
            State::Start | State::Line => self.line(cx, now_s, input, exchange)?,
            State::Keys(retrieval) => {
                let retrieval = *retrieval;
                self.keys(now_s, retrieval, input, exchange)
            }
            State::Block(_) => self.block(now_s, input, exchange),
            State::Discard { left } => {
                let consumed = (input.len() as u64).min(*left);
                *left -= consumed;
                if *left == 0 {
                    self.state = State::Line;
                }
                Step::read(consumed as usize)
            }
            State::RestOfLine => match memchr(b'\n', input) {
                Some(end) => {
                    self.state = State::Line;
                    Step::read(end + 1)
                }
                None => Step::read(input.len()),
            },
        };
        let nothing_is_left = step.consumed == input.len() && !self.mid_request();
        if cx.stopping && nothing_is_left && step.consumed > 0 {
            step.next = Next::Close;
        }
        Ok(step)
    }

    fn mid_request(&self) -> bool {
        !matches!(self.state, State::Start | State::Line)
    }
}

impl Conn {
    pub(super) fn new(cache: Arc<Cache>) -> Conn {
        Conn { cache, state: State::Start }
    }

    /// Takes input that starts with a command line.
    fn line(
        &mut self,
        cx: &Context<'_>,
        now_s: u32,
        input: &[u8],
        exchange: &mut Exchange,
    ) -> Result<Step, Violation> {
        let view = &input[..input.len().min(LINE_BYTES_MAX)];
        let Some(end) = memchr(b'\n', view) else {
            return if view.len() < LINE_BYTES_MAX {
                Ok(Step::read(0))
            } else {
                self.long_line(now_s, view, exchange)
            };
        };
        let line = without_line_end(&view[..end]);
        let (consumed, rest) = (end + 1, &input[end + 1..]);
        let mut words = Words(line);
        let verb = words.next().unwrap_or_default();
        match retrieval(verb, &mut words, now_s) {
            Some(Ok(retrieval)) => {
                return Ok(self.retrieve(now_s, retrieval, line, words, consumed, exchange));
            }
            Some(Err(reply)) => exchange.out.bytes(reply),
            None => {
                if let Some(parsed) = write(verb, words) {
                    return Ok(self.write(now_s, parsed, line, consumed, rest, exchange));
                }
                match verb {
                    b"quit" => return Ok(Step { consumed, next: Next::Close }),
                    [b'm', letter] => {
                        meta::execute(&self.cache.store, *letter, words, now_s, &mut exchange.out);
                    }
                    _ if classic::execute(&self.cache, cx, now_s, verb, words, &mut exchange.out) => {}
                    _ if is_http(verb, words) => return Err(ViolationKind::Malformed.into()),
                    _ => exchange.out.bytes(ERROR),
                }
            }
        }
        exchange.reply_done();
        Ok(Step::read(consumed))
    }

    /// Handles the start of a line that exceeds the limit on lines.
    fn long_line(&mut self, now_s: u32, view: &[u8], exchange: &mut Exchange) -> Result<Step, Violation> {
        let mut words = Words(view);
        let verb = words.next().unwrap_or_default();
        match retrieval(verb, &mut words, now_s) {
            Some(Ok(retrieval)) => {
                self.state = State::Keys(retrieval);
                Ok(Step::read(view.len() - words.0.len()))
            }
            _ => {
                exchange.out.bytes(b"CLIENT_ERROR line too long\r\n");
                Err(ViolationKind::TooLarge.into())
            }
        }
    }

    /// Answers a `get` or one of its variants whose line is complete.
    fn retrieve(
        &mut self,
        now_s: u32,
        retrieval: Retrieval,
        line: &[u8],
        mut words: Words<'_>,
        consumed: usize,
        exchange: &mut Exchange,
    ) -> Step {
        // No values are sent for a line with an invalid key, so all keys are checked first.
        if words.0.len() > KEY_BYTES_MAX && words.clone().any(|key| key.len() > KEY_BYTES_MAX) {
            exchange.out.bytes(BAD_LINE);
        } else {
            while let Some(key) = words.next() {
                self.hit_or_miss(now_s, retrieval, key, exchange);
                if exchange.out.len() >= UNSENT_MAX && words.clone().next().is_some() {
                    self.state = State::Keys(retrieval);
                    return Step { consumed: line.len() - words.0.len(), next: Next::Flush };
                }
            }
            exchange.out.fixed(b"END\r\n");
        }
        exchange.reply_done();
        Step::read(consumed)
    }

    /// Takes input in the keys of a `get` or one of its variants, wherever it is split.
    fn keys(&mut self, now_s: u32, retrieval: Retrieval, input: &[u8], exchange: &mut Exchange) -> Step {
        let mut at = 0;
        loop {
            if exchange.out.len() >= UNSENT_MAX {
                return Step { consumed: at, next: Next::Flush };
            }
            at += input[at..].iter().take_while(|&&b| b == b' ').count();
            let rest = &input[at..];
            // A key, a carriage return, and the end of the word.
            let view = &rest[..rest.len().min(KEY_BYTES_MAX + 2)];
            let Some(end) = view.iter().position(|&b| b == b' ' || b == b'\n') else {
                if view.len() < KEY_BYTES_MAX + 2 {
                    return Step::read(at);
                }
                self.state = State::RestOfLine;
                exchange.out.bytes(BAD_LINE);
                exchange.reply_done();
                return Step::read(at);
            };
            let is_last = view[end] == b'\n';
            let key = if is_last { without_line_end(&view[..end]) } else { &view[..end] };
            let sound = key.len() <= KEY_BYTES_MAX;
            at += end + usize::from(is_last);
            if sound && !key.is_empty() {
                self.hit_or_miss(now_s, retrieval, key, exchange);
            }
            if is_last || !sound {
                self.state = if is_last { State::Line } else { State::RestOfLine };
                exchange.out.bytes(if sound { b"END\r\n" } else { BAD_LINE });
                exchange.reply_done();
                return Step::read(at);
            }
        }
    }

    /// Sends the item of a key, if there is one.
    fn hit_or_miss(&self, now_s: u32, retrieval: Retrieval, key: &[u8], exchange: &mut Exchange) {
        let store = &self.cache.store;
        let hash = store.hash(key);
        let mut shard = store.shard(hash, now_s);
        let touched = u64::from(retrieval.touch_s.is_some());
        let Some(slot) = shard.find(hash, key, now_s) else {
            shard.counts.get_misses += 1;
            shard.counts.touch_misses += touched;
            return;
        };
        shard.counts.get_hits += 1;
        shard.counts.touch_hits += touched;
        let entry = shard.hit(slot, now_s);
        if let Some(expires_s) = retrieval.touch_s {
            entry.expires_s = expires_s;
        }
        let (item, cas) = (&entry.item, entry.cas);
        if retrieval.with_cas {
            exchange.out.write_with(|line| {
                line.extend_from_slice(item.line());
                line.push(b' ');
                line.extend_from_slice(decimal::Digits::of(cas).as_slice());
                line.extend_from_slice(b"\r\n");
            });
            exchange.out.shared(item.bytes(), item.block());
        } else {
            exchange.out.shared(item.bytes(), 0..item.bytes().len());
        }
    }

    /// Handles the line of a command with a data block; `rest` is the input after it.
    fn write(
        &mut self,
        now_s: u32,
        parsed: Result<Write<'_>, Refused>,
        line: &[u8],
        consumed: usize,
        rest: &[u8],
        exchange: &mut Exchange,
    ) -> Step {
        let Cache { store, options, .. } = &*self.cache;
        match parsed {
            Ok(write) if write.len <= options.value_bytes_max => {
                let len = (write.len + BLOCK_END) as usize;
                let Some(block) = rest.get(..len) else {
                    let block = Block { line: line.into(), bytes: Vec::with_capacity(len), len };
                    self.state = State::Block(Box::new(block));
                    return Step::read(consumed);
                };
                write.execute(store, options.value_bytes_max, now_s, block, &mut exchange.out);
                exchange.reply_done();
                return Step::read(consumed + len);
            }
            Ok(write) => {
                write.refuse_too_large(store, now_s, &mut exchange.out);
                self.state = State::Discard { left: write.len + BLOCK_END };
            }
            Err(Refused { reply, len }) => {
                exchange.out.bytes(reply);
                if let Some(len) = len {
                    self.state = State::Discard { left: len + BLOCK_END };
                }
            }
        }
        exchange.reply_done();
        Step::read(consumed)
    }

    /// Takes input in a data block.
    fn block(&mut self, now_s: u32, input: &[u8], exchange: &mut Exchange) -> Step {
        let State::Block(block) = &mut self.state else { return Step::read(0) };
        let consumed = input.len().min(block.len - block.bytes.len());
        block.bytes.extend_from_slice(&input[..consumed]);
        if block.bytes.len() == block.len {
            let mut words = Words(&block.line);
            let verb = words.next().unwrap_or_default();
            // The line was valid when it arrived.
            if let Some(Ok(write)) = write(verb, words) {
                let Cache { store, options, .. } = &*self.cache;
                write.execute(store, options.value_bytes_max, now_s, &block.bytes, &mut exchange.out);
            }
            exchange.reply_done();
            self.state = State::Line;
        }
        Step::read(consumed)
    }
}

/// Whether an unknown command is the first line of an HTTP request. As in memcached, lines with the first letter of certain
/// commands are not.
fn is_http(verb: &[u8], words: Words<'_>) -> bool {
    let is_excluded = matches!(verb, [] | [_] | [b'a' | b'c' | b'd' | b'g' | b'i' | b's' | b't', ..]);
    !is_excluded && words.last().unwrap_or(verb).starts_with(b"HTTP/")
}

/// Parses the verb of a `get` or one of its variants and the arguments before the keys. (`gat` may have no keys, as in
/// memcached.)
fn retrieval(verb: &[u8], words: &mut Words<'_>, now_s: u32) -> Option<Result<Retrieval, &'static [u8]>> {
    let (with_cas, touches) = match verb {
        b"get" => (false, false),
        b"gets" => (true, false),
        b"gat" => (false, true),
        b"gats" => (true, true),
        _ => return None,
    };
    let mut touch_s = None;
    if touches {
        let Some(word) = words.next() else { return Some(Err(ERROR)) };
        let Some(exptime) = decimal::signed(word) else { return Some(Err(BAD_EXPTIME)) };
        touch_s = Some(expires_s(exptime, now_s));
    }
    let has_key = words.0.iter().any(|&b| b != b' ');
    Some(if has_key || touches { Ok(Retrieval { with_cas, touch_s }) } else { Err(ERROR) })
}

/// Parses the line of a command with a data block.
fn write<'a>(verb: &[u8], words: Words<'a>) -> Option<Result<Write<'a>, Refused>> {
    Some(match verb {
        b"set" => Write::classic(Verb::Set, words),
        b"add" => Write::classic(Verb::Add, words),
        b"replace" => Write::classic(Verb::Replace, words),
        b"append" => Write::classic(Verb::Append, words),
        b"prepend" => Write::classic(Verb::Prepend, words),
        b"cas" => Write::classic(Verb::Cas, words),
        b"ms" => Write::meta(words),
        _ => return None,
    })
}
