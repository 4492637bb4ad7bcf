use std::borrow::Cow;

use super::carry::{Carry, TOKEN_MAX};
use super::find::{Find, Kind};

/// Finds the addresses in a style sheet: every `url()` and `@import`.
///
/// A browser loads only those of rules that apply; all of them are found here.
#[derive(Debug, Default)]
pub struct Css {
    state: State,
    carry: Carry,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Rules,
    /// Behind `@import`, where a string is an address.
    Import,
    Comment,
    /// In a token that is too long, up to this byte.
    Skip(u8),
}

impl Css {
    /// Begins another style sheet.
    pub fn reset(&mut self) {
        self.state = State::Rules;
        self.carry.clear();
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8], found: &mut dyn FnMut(Find<'_>)) {
        let state = &mut self.state;
        self.carry.feed(piece, |text| step(state, text, found));
    }
}

/// Finds the addresses in a complete style sheet.
pub(super) fn whole(text: &[u8], found: &mut dyn FnMut(Find<'_>)) {
    let (mut state, mut at) = (State::Rules, 0);
    while at < text.len() {
        match step(&mut state, &text[at..], found) {
            0 => break,
            taken => at += taken,
        }
    }
}

/// Reads up to the end of the next token that matters.
fn step(state: &mut State, text: &[u8], found: &mut dyn FnMut(Find<'_>)) -> usize {
    match *state {
        State::Comment => match memchr::memmem::find(text, b"*/") {
            Some(at) => {
                *state = State::Rules;
                at + 2
            }
            // The last byte may be the first of the end.
            None => text.len() - 1,
        },
        State::Skip(end) => match memchr::memchr(end, text) {
            Some(at) => {
                *state = State::Rules;
                at + 1
            }
            None => text.len(),
        },
        State::Rules | State::Import => rules(state, text, found),
    }
}

fn rules(state: &mut State, text: &[u8], found: &mut dyn FnMut(Find<'_>)) -> usize {
    let at = match *state {
        State::Import => text.iter().position(|&b| !b.is_ascii_whitespace()),
        _ => text.iter().position(|&b| is_name(b) || matches!(b, b'/' | b'"' | b'\'' | b'@')),
    };
    let Some(at) = at else { return text.len() };
    if at > 0 {
        return at;
    }
    match text[0] {
        b'/' => match text.get(1) {
            None => 0,
            Some(b'*') => {
                *state = State::Comment;
                2
            }
            Some(_) => 1,
        },
        quote @ (b'"' | b'\'') => match string(&text[1..], quote) {
            Some(end) => {
                if *state == State::Import {
                    let address = unescaped(&text[1..=end]);
                    found(Find { kind: Kind::StyleSheet, address });
                }
                *state = State::Rules;
                end + 2
            }
            None => too_long(state, text, quote),
        },
        _ => word(state, text, found),
    }
}

/// Reads a word, and the address in the brackets behind it, if there is one.
fn word(state: &mut State, text: &[u8], found: &mut dyn FnMut(Find<'_>)) -> usize {
    let at_sign = usize::from(text[0] == b'@');
    let Some(length) = text[at_sign..].iter().position(|&b| !is_name(b)).map(|n| n + at_sign) else {
        return if text.len() < TOKEN_MAX { 0 } else { text.len() };
    };
    let (name, after) = text.split_at(length);
    if after[0] == b'(' && name.eq_ignore_ascii_case(b"url") {
        return match url(&after[1..]) {
            Some((address, end)) => {
                let kind = if *state == State::Import { Kind::StyleSheet } else { Kind::Object };
                *state = State::Rules;
                found(Find { kind, address });
                length + 1 + end
            }
            None => {
                let first = after[1..].iter().find(|b| !b.is_ascii_whitespace());
                let end = first.copied().filter(|b| matches!(b, b'"' | b'\'')).unwrap_or(b')');
                too_long(state, text, end)
            }
        };
    }
    *state = if name.eq_ignore_ascii_case(b"@import") { State::Import } else { State::Rules };
    // Other bytes are tokens of one byte.
    length.max(1)
}

/// A byte of a name, or the backslash that escapes the next byte.
fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'\\' | 0x80..)
}

/// Waits for the end of a token, or skips it if it is too long.
fn too_long(state: &mut State, text: &[u8], end: u8) -> usize {
    if text.len() < TOKEN_MAX {
        return 0;
    }
    *state = State::Skip(end);
    text.len()
}

/// The length of a string behind its opening quote, without the closing quote.
fn string(text: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr3(quote, b'\\', b'\n', &text[at..])?;
        match text[at] {
            // An escaped byte does not end it. A string ends with its line at the latest.
            b'\\' => at += 2,
            _ => return Some(at),
        }
        if at > text.len() {
            return None;
        }
    }
}

/// The address behind `url(`, and the length of it with the closing bracket.
fn url(text: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    let start = text.iter().position(|&b| !b.is_ascii_whitespace())?;
    if let quote @ (b'"' | b'\'') = text[start] {
        let length = string(&text[start + 1..], quote)?;
        let address = &text[start + 1..start + 1 + length];
        let after = start + length + 2;
        let close = memchr::memchr(b')', text.get(after..)?)?;
        return Some((unescaped(address), after + close + 1));
    }
    let mut close = 0;
    loop {
        close += memchr::memchr2(b')', b'\\', text.get(close..)?)?;
        if text[close] == b')' {
            break;
        }
        close += 2;
    }
    Some((unescaped(text[..close].trim_ascii()), close + 1))
}

/// An address without its backslashes. Escapes by number do not occur in addresses and are not resolved.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.iter();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(&b) = bytes.next() {
        if b == b'\\' {
            plain.extend(bytes.next());
        } else {
            plain.push(b);
        }
    }
    Cow::Owned(plain)
}
