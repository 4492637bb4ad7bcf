//! Text with placeholders: values that a session has taken from replies, and numbers drawn or counted for each request.

use crate::exchange::Draw;
use crate::stream::Stream;
use pitot_proto::http::syntax::write_decimal;
use pitot_proto::percent;

/// Stands for the length of the body in the text of a head, which contains no other control character.
pub(crate) const LENGTH: char = '\u{1}';

/// How values are encoded for their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As they are.
    Raw,
    /// Percent-encoded where a request line needs it; a path stays a path.
    Path,
    /// Without control characters.
    Header,
    /// Percent-encoded except letters, digits and `-._~`, as in a form.
    Urlencoded,
    /// As a part of a JSON string.
    Json,
}

/// Text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    /// The value of that index.
    Value(u16, Form),
    /// The number of the session in the run.
    Number,
    /// A random number of a range for each request, with leading zeros up to `width`.
    Random {
        first: u64,
        last: u64,
        width: usize,
    },
    /// The number of the request in the run, or of the session if there are sessions, counted from `first`.
    Count {
        first: u64,
        width: usize,
    },
    /// The length of the body.
    Length,
}

/// The values for the placeholders of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values<'a> {
    /// Values taken from replies.
    pub(crate) taken: &'a [Vec<u8>],
    /// The number of the request or of its session in the run.
    pub(crate) number: u64,
    /// The source of random numbers.
    pub(crate) random: u64,
}

impl Values<'_> {
    /// Those of a request outside sessions.
    pub(crate) fn of(draw: Draw) -> Values<'static> {
        Values { taken: &[], number: draw.index, random: draw.random }
    }

    /// The random numbers of its head, in the order of their places.
    pub(crate) fn draws(&self) -> Stream {
        Stream::new(self.random)
    }

    /// Those of its body, which is written first: the head contains its length.
    pub(crate) fn draws_of_body(&self) -> Stream {
        Stream::new(!self.random)
    }
}

/// The names of the values of a script.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(Vec<String>);

/// The name of the session number.
const NUMBER: &str = "session";

impl Names {
    /// The index of a name, which is added if it is new.
    pub(super) fn add(&mut self, name: &str) -> Result<u16, String> {
        if !is_name(name.as_bytes()) || name == NUMBER {
            return Err(format!(
                "`{name}` is not a valid name for a value: use letters, digits, - and _, a letter first, and not `{NUMBER}`"
            ));
        }
        let index = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u16::try_from(index).map_err(|_| "a session has more than 65536 values".to_owned())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    fn find(&self, name: &str) -> Option<Piece> {
        self.0.iter().position(|known| known == name).map(|index| Piece::Value(index as u16, Form::Raw))
    }
}

fn is_name(name: &[u8]) -> bool {
    let rest = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    name.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_') && name.iter().all(rest)
}

impl Template {
    /// Reads text with placeholders `{name}`; `{{name}}` is the text `{name}`.
    ///
    /// # Errors
    /// An unknown name, or an invalid range.
    pub(crate) fn parse(text: &[u8], form: Form, names: &Names) -> Result<Template, String> {
        Template::read(text, form, Some(names))
    }

    /// Reads text whose only placeholders are `{rand:1..100}` and `{seq:1}`; other braces are plain text.
    ///
    /// # Errors
    /// An invalid range.
    pub(crate) fn of_numbers(text: &[u8], form: Form) -> Result<Template, String> {
        Template::read(text, form, None)
    }

    fn read(text: &[u8], form: Form, names: Option<&Names>) -> Result<Template, String> {
        let mut template = Template::default();
        let mut from = 0;
        // A body may contain any byte.
        let is_length = |b: u8| form == Form::Header && b == LENGTH as u8;
        while let Some(at) = text[from..].iter().position(|&b| b == b'{' || is_length(b)).map(|n| from + n) {
            template.text(&text[from..at]);
            from = at + 1;
            if is_length(text[at]) {
                template.0.push(Piece::Length);
            } else if let Some(place) = text[at..].strip_prefix(b"{{").and_then(number_place)
                && text[at + 2 + place.len()..].starts_with(b"}}")
            {
                template.text(&text[at + 1..at + 3 + place.len()]);
                from = at + 4 + place.len();
            } else if let Some(place) = number_place(&text[from..]) {
                template.0.push(number(place)?);
                from += place.len() + 1;
            } else if names.is_none() {
                template.text(b"{");
            } else if let Some(name) = text[at..].strip_prefix(b"{{").and_then(|rest| closed(rest))
                && text[at + 2 + name.len()..].starts_with(b"}}")
            {
                template.text(&text[at + 1..at + 3 + name.len()]);
                from = at + 4 + name.len();
            } else if let Some(name) = closed(&text[from..]) {
                template.0.push(match (name, names.and_then(|names| names.find(name))) {
                    (NUMBER, _) => Piece::Number,
                    (_, Some(Piece::Value(index, _))) => Piece::Value(index, form),
                    _ => {
                        return Err(format!(
                            "`{{{name}}}` is not taken from an earlier reply: take it in an earlier step, or write \
                             `{{{{{name}}}}}` for the text itself"
                        ));
                    }
                });
                from += name.len() + 1;
            } else {
                template.text(b"{");
            }
        }
        template.text(&text[from..]);
        Ok(template)
    }

    fn text(&mut self, text: &[u8]) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => *before = [before, text].concat().into(),
            _ => self.0.push(Piece::Text(text.into())),
        }
    }

    /// The text, if it has no placeholders.
    pub(crate) fn fixed(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text with `$1` and so on for its placeholders, and the placeholders.
    pub(crate) fn with_parameters(&self) -> (Vec<u8>, Vec<Template>) {
        let (mut text, mut places) = (Vec::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Text(part) => text.extend_from_slice(part),
                place => {
                    places.push(Template(vec![place.clone()]));
                    text.push(b'$');
                    write_decimal(&mut text, places.len() as u64);
                }
            }
        }
        (text, places)
    }

    /// Whether it differs between sessions.
    pub(crate) fn takes_values(&self) -> bool {
        self.0.iter().any(|piece| !matches!(piece, Piece::Text(_) | Piece::Length))
    }

    /// Appends the text with its values; missing ones are empty. `length` is that of the body, `draws` the source of its random
    /// numbers.
    pub(crate) fn write(&self, values: Values<'_>, draws: &mut Stream, length: usize, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(index, form) => {
                    form.write(values.taken.get(usize::from(*index)).map_or(&[], |value| value), out);
                }
                Piece::Number => write_decimal(out, values.number),
                Piece::Random { first, last, width } => {
                    write_padded(out, draws.within(*first, *last), *width);
                }
                Piece::Count { first, width } => {
                    write_padded(out, first.wrapping_add(values.number), *width);
                }
                Piece::Length => write_decimal(out, length as u64),
            }
        }
    }
}

/// The text before the closing brace of `rand:...}` or `seq:...}`.
fn number_place(text: &[u8]) -> Option<&str> {
    let place = &text[..text.iter().position(|&b| b == b'}')?];
    let is_one = place.starts_with(b"rand:") || place.starts_with(b"seq:");
    std::str::from_utf8(place).ok().filter(|_| is_one)
}

/// The placeholder `rand:1..100` or `seq:1`. A leading zero keeps the width, as in a range of paths.
fn number(place: &str) -> Result<Piece, String> {
    let width = |text: &str| if text.len() > 1 && text.starts_with('0') { text.len() } else { 0 };
    if let Some(first) = place.strip_prefix("seq:") {
        let wrong = |_| format!("`{{{place}}}` is not a start number: write {{seq:1}}");
        return Ok(Piece::Count { first: first.parse().map_err(wrong)?, width: width(first) });
    }
    let range = place.strip_prefix("rand:").and_then(|range| range.split_once(".."));
    let numbers =
        range.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?, width(first))));
    match numbers {
        Some((first, last, width)) if first <= last => Ok(Piece::Random { first, last, width }),
        _ => Err(format!(
            "`{{{place}}}` is not a range of numbers: write {{rand:1..100}}, the smaller number first"
        )),
    }
}

/// Whether a text has a placeholder for a number.
pub(crate) fn has_numbers(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"{rand:").or_else(|| memchr::memmem::find(text, b"{seq:")).is_some()
}

fn write_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let from = out.len();
    write_decimal(out, number);
    while out.len() - from < width {
        out.insert(from, b'0');
    }
}

/// The name before a closing brace.
fn closed(text: &[u8]) -> Option<&str> {
    let name = &text[..text.iter().position(|&b| b == b'}')?];
    is_name(name).then(|| std::str::from_utf8(name).unwrap_or_default())
}

impl Form {
    fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Form::Raw => out.extend_from_slice(value),
            Form::Header => out.extend(value.iter().map(|&b| if b < b' ' || b == 0x7f { b' ' } else { b })),
            Form::Path => percent::encode(value, percent::NOT_GRAPHIC, out),
            Form::Urlencoded => percent::encode(value, percent::RESERVED, out),
            Form::Json => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                for &b in value {
                    match b {
                        b'"' | b'\\' => out.extend([b'\\', b]),
                        0..=0x1f => {
                            out.extend_from_slice(b"\\u00");
                            out.extend([HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
                        }
                        _ => out.push(b),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, random: u64, number: u64) -> String {
        let values = Values { taken: &[], number, random };
        let mut out = Vec::new();
        Template::of_numbers(text.as_bytes(), Form::Raw).unwrap().write(
            values,
            &mut values.draws(),
            0,
            &mut out,
        );
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_drawn_evenly_from_their_range_and_counted_from_their_start() {
        let mut bins = [0u32; 10];
        for random in 0..100_000 {
            let text = written("/{rand:5..14}/{seq:1}", random, random);
            let (drawn, counted) = text[1..].split_once('/').unwrap();
            assert_eq!(counted, (random + 1).to_string());
            bins[drawn.parse::<usize>().unwrap() - 5] += 1;
        }
        assert!(bins.iter().all(|&n| (9_600..10_400).contains(&n)), "{bins:?}");
        assert_eq!(
            written("{rand:007..7} {seq:0098} {rand:0..18446744073709551615}", 1, 2).split(' ').count(),
            3
        );
        assert!(written("{rand:007..7} {seq:0098}", 1, 2).ends_with("007 0100"));
        // Two places draw apart, and the same draw gives the same text.
        let two = written("{rand:0..1000000} {rand:0..1000000}", 7, 0);
        assert_eq!(two, written("{rand:0..1000000} {rand:0..1000000}", 7, 0));
        let (one, other) = two.split_once(' ').unwrap();
        assert_ne!(one, other);
    }

    #[test]
    fn the_byte_that_stands_for_a_length_does_so_in_headers_alone() {
        assert_eq!(written("{seq:1}\u{1}", 0, 0), "1\u{1}");
        let header = Template::of_numbers(b"Content-Length: \x01", Form::Header).unwrap();
        let (mut out, values) = (Vec::new(), Values { taken: &[], number: 0, random: 0 });
        header.write(values, &mut values.draws(), 42, &mut out);
        assert_eq!(out, b"Content-Length: 42");
    }

    #[test]
    fn places_may_become_parameters() {
        let template = Template::of_numbers(b"a = {rand:7..7} AND b = {seq:1}", Form::Raw).unwrap();
        let (text, places) = template.with_parameters();
        assert_eq!((&*text, places.len()), (&b"a = $1 AND b = $2"[..], 2));
    }

    #[test]
    fn other_braces_are_text_and_a_range_that_is_none_is_named() {
        assert_eq!(written("{id} { {{rand:1..2}} {\"a\":{}}", 1, 1), "{id} { {rand:1..2} {\"a\":{}}");
        for wrong in ["{rand:2..1}", "{rand:1-2}", "{rand:}", "{rand:a..b}", "{seq:}", "{seq:x}", "{seq:-1}"]
        {
            let error = Template::of_numbers(wrong.as_bytes(), Form::Raw).unwrap_err();
            assert!(error.contains(wrong) && error.contains("write {"), "{error}");
        }
    }
}
