use std::borrow::Cow;

use super::carry::{Carry, TOKEN_MAX};
use super::css;
use super::find::{Find, Kind};

/// Finds the addresses in a page that a browser loads with it.
///
/// It takes the `src` of a picture in several sizes, and does not find what only a script would load. The rules for tags,
/// comments and scripts are those of the HTML standard's tokenizer.
#[derive(Debug, Default)]
pub struct Html {
    state: State,
    carry: Carry,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Comment,
    /// In an element whose text contains no tags except its end.
    Raw(&'static [u8]),
    Style,
    /// In a token that is too long, up to the next `>`.
    Skip,
}

/// Elements whose text contains no tags, including those that a browser with scripts does not show.
const RAW: &[&[u8]] =
    &[b"script", b"textarea", b"title", b"iframe", b"noscript", b"xmp", b"noembed", b"noframes"];

impl Html {
    /// Begins another page.
    pub fn reset(&mut self) {
        self.state = State::Text;
        self.carry.clear();
    }

    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8], found: &mut dyn FnMut(Find<'_>)) {
        let state = &mut self.state;
        self.carry.feed(piece, |text| step(state, text, found));
    }
}

/// Reads up to the end of the next token that matters.
fn step(state: &mut State, text: &[u8], found: &mut dyn FnMut(Find<'_>)) -> usize {
    match *state {
        State::Text => match memchr::memchr(b'<', text) {
            None => text.len(),
            Some(0) => markup(state, text, found),
            Some(at) => at,
        },
        State::Comment => match memchr::memmem::find(text, b"-->") {
            Some(at) => {
                *state = State::Text;
                at + 3
            }
            // The last two bytes may be the first of the end.
            None => text.len().saturating_sub(2),
        },
        State::Raw(name) => match raw_end(text, name) {
            Some(at) => {
                *state = State::Skip;
                at + 2
            }
            // So many bytes may be the first of the end.
            None => text.len().saturating_sub(name.len() + 2),
        },
        State::Style => match raw_end(text, b"style") {
            Some(at) => {
                *state = State::Skip;
                css::whole(&text[..at], found);
                at + 2
            }
            None if text.len() < TOKEN_MAX => 0,
            None => {
                *state = State::Raw(b"style");
                text.len().saturating_sub(b"style".len() + 2)
            }
        },
        State::Skip => match memchr::memchr(b'>', text) {
            Some(at) => {
                *state = State::Text;
                at + 1
            }
            None => text.len(),
        },
    }
}

/// The position of the end tag of an element without tags inside.
fn raw_end(text: &[u8], name: &[u8]) -> Option<usize> {
    memchr::memmem::find_iter(text, b"</").find(|&at| {
        let after = &text[at + 2..];
        after.len() > name.len()
            && after[..name.len()].eq_ignore_ascii_case(name)
            && matches!(after[name.len()], b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
    })
}

/// Reads what begins with `<`.
fn markup(state: &mut State, text: &[u8], found: &mut dyn FnMut(Find<'_>)) -> usize {
    match text.get(1) {
        None => 0,
        Some(b'!') if text.len() < 4 && b"<!--".starts_with(text) => 0,
        Some(b'!') if text.starts_with(b"<!--") => {
            *state = State::Comment;
            // `<!-->` is a comment too: its dashes count twice.
            2
        }
        Some(b'!' | b'?') => {
            *state = State::Skip;
            1
        }
        Some(b'/') => match tag_end(&text[2..]) {
            Some(end) => 2 + end,
            None => too_long(state, text),
        },
        Some(b) if b.is_ascii_alphabetic() => {
            let Some(end) = tag_end(&text[1..]) else { return too_long(state, text) };
            let tag = &text[1..end];
            let length = tag.iter().position(|&b| is_space(b) || b == b'/').unwrap_or(tag.len());
            let (name, attributes) = tag.split_at(length);
            element(name, attributes, found);
            if let Some(raw) = RAW.iter().find(|raw| raw.eq_ignore_ascii_case(name)) {
                *state = State::Raw(raw);
            } else if name.eq_ignore_ascii_case(b"style") {
                *state = State::Style;
            }
            1 + end
        }
        Some(_) => 1,
    }
}

/// Waits for the end of a tag, or skips it if it is too long.
fn too_long(state: &mut State, text: &[u8]) -> usize {
    if text.len() < TOKEN_MAX {
        return 0;
    }
    *state = State::Skip;
    text.len()
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

/// The length of a tag with its `>`, which may also occur within a quoted value.
fn tag_end(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr3(b'>', b'"', b'\'', &text[at..])?;
        let b = text[at];
        at += 1;
        if b == b'>' {
            return Some(at);
        }
        // A quote counts as such only at the start of a value.
        let before = text[..at - 1].iter().rev().find(|&&b| !is_space(b));
        if before == Some(&b'=') {
            at += memchr::memchr(b, &text[at..])? + 1;
        }
    }
}

/// Reports what an element refers to.
fn element(name: &[u8], attributes: &[u8], found: &mut dyn FnMut(Find<'_>)) {
    let mut lower = [0; 8];
    let Some(lower) = lower.get_mut(..name.len()) else { return };
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let mut report = |kind, value: Option<&[u8]>| {
        if let Some(value) = value {
            found(Find { kind, address: decoded(value) });
        }
    };
    match &*lower {
        b"img" | b"source" | b"audio" | b"embed" => report(Kind::Object, value(attributes, b"src")),
        b"video" => {
            report(Kind::Object, value(attributes, b"poster"));
            report(Kind::Object, value(attributes, b"src"));
        }
        b"script" if value(attributes, b"nomodule").is_none() => {
            report(Kind::Object, value(attributes, b"src"));
        }
        b"iframe" | b"frame" => report(Kind::Frame, value(attributes, b"src")),
        b"object" => report(Kind::Object, value(attributes, b"data")),
        b"input" if value(attributes, b"type").is_some_and(|t| t.eq_ignore_ascii_case(b"image")) => {
            report(Kind::Object, value(attributes, b"src"));
        }
        b"body" => report(Kind::Object, value(attributes, b"background")),
        b"base" => report(Kind::Base, value(attributes, b"href")),
        b"link" => {
            if let Some(kind) = linked(value(attributes, b"rel").unwrap_or_default()) {
                report(kind, value(attributes, b"href"));
            }
        }
        _ => {}
    }
}

/// The kind of a link with this relation, if a browser loads it.
fn linked(rel: &[u8]) -> Option<Kind> {
    let has = |wanted: &[u8]| rel.split(|&b| is_space(b)).any(|word| word.eq_ignore_ascii_case(wanted));
    match () {
        () if has(b"stylesheet") => (!has(b"alternate")).then_some(Kind::StyleSheet),
        () if has(b"icon") || has(b"preload") || has(b"modulepreload") => Some(Kind::Object),
        () => None,
    }
}

/// The value of the first attribute of that name, given in lower case; empty if it has none.
fn value<'a>(attributes: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let mut rest = attributes;
    loop {
        let start = rest.iter().position(|&b| !is_space(b) && b != b'/')?;
        rest = &rest[start..];
        // A name may begin with an equals sign.
        let length = rest.iter().skip(1).position(|&b| is_space(b) || matches!(b, b'=' | b'/' | b'>'));
        let (name, after) = rest.split_at(length.map_or(rest.len(), |n| n + 1));
        let (value, after) = match after.trim_ascii_start() {
            [b'=', after @ ..] => match after.trim_ascii_start() {
                [quote @ (b'"' | b'\''), after @ ..] => {
                    let end = memchr::memchr(*quote, after).unwrap_or(after.len());
                    (&after[..end], after.get(end + 1..).unwrap_or_default())
                }
                after => {
                    let end = after.iter().position(|&b| is_space(b) || b == b'>').unwrap_or(after.len());
                    after.split_at(end)
                }
            },
            _ => (&after[..0], after),
        };
        if name.eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = after;
    }
}

/// A value with the character references that occur in addresses resolved.
fn decoded(value: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'&', value) else { return Cow::Borrowed(value) };
    let mut plain = value[..first].to_vec();
    let mut rest = &value[first..];
    while let Some(at) = memchr::memchr(b'&', rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match reference(rest) {
            Some((c, length)) => {
                plain.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[length..];
            }
            None => {
                plain.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

/// The character of the reference at the start of a text, and the length of the reference.
fn reference(text: &[u8]) -> Option<(char, usize)> {
    const NAMED: [(&[u8], char); 5] =
        [(b"&amp;", '&'), (b"&lt;", '<'), (b"&gt;", '>'), (b"&quot;", '"'), (b"&apos;", '\'')];
    if let Some((name, c)) = NAMED.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((*c, name.len()));
    }
    let number = text.strip_prefix(b"&#")?;
    let end = number.iter().take(9).position(|&b| b == b';')?;
    let digits = std::str::from_utf8(&number[..end]).ok()?;
    let code = match digits.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some((char::from_u32(code)?, 2 + end + 1))
}
