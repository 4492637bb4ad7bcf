//! A query of a run, as it is sent.

use super::options::{Protocol, Range};
use super::write;
use crate::outgoing::Outgoing;
use crate::session::{Template, Values, write_integer};
use crate::stream::Stream;

#[derive(Debug)]
pub(super) enum Query {
    /// The same each time.
    Fixed(&'static [u8]),
    /// A simple query: each text is followed by the parameter of that index, the last by none.
    Texts { texts: Vec<(String, usize)>, last: String, parameters: Vec<Range> },
    /// The bytes before `Bind`, if any, and the statement to bind.
    Bound { before: Vec<u8>, statement: String, parameters: Vec<Range> },
    /// A simple query with values in its text.
    Text(Template),
    /// As `Bound`, with values of a script, or numbers in the text, as parameters.
    BoundValues { before: Vec<u8>, statement: String, values: Vec<Template> },
}

impl Query {
    /// A query with its parameters, prepared under the name `statement`.
    pub(super) fn new(text: &str, protocol: Protocol, parameters: Vec<Range>, statement: String) -> Query {
        let mut out = Vec::new();
        match (protocol, parameters.is_empty()) {
            (Protocol::Simple, true) => write::message(&mut out, b'Q', |out| write::string(out, text)),
            (Protocol::Simple, false) => {
                let (texts, last) = split(text, parameters.len());
                return Query::Texts { texts, last, parameters };
            }
            (Protocol::Extended, _) => write::parse(&mut out, "", text),
            (Protocol::Prepared, _) => {}
        }
        let statement = if protocol == Protocol::Prepared { statement } else { String::new() };
        if !parameters.is_empty() {
            return Query::Bound { before: out, statement, parameters };
        }
        if protocol != Protocol::Simple {
            write::bind(&mut out, &statement, &[] as &[()], |(), _| ());
            write::run(&mut out);
        }
        Query::Fixed(out.leak())
    }

    /// A query with placeholders, which become parameters unless it is a simple query, and its text as it is parsed.
    pub(super) fn of_template(
        template: Template,
        protocol: Protocol,
        statement: String,
    ) -> Result<(Query, String), String> {
        let (text, values) = template.with_parameters();
        let text = String::from_utf8(text).map_err(|_| "the query is not UTF-8".to_owned())?;
        if values.is_empty() {
            return Ok((Query::new(&text, protocol, Vec::new(), statement), text));
        }
        let mut before = Vec::new();
        let query = match protocol {
            Protocol::Simple => Query::Text(template),
            Protocol::Extended => {
                write::parse(&mut before, "", &text);
                Query::BoundValues { before, statement: String::new(), values }
            }
            Protocol::Prepared => Query::BoundValues { before, statement, values },
        };
        Ok((query, text))
    }

    /// Its length, if it is always the same.
    pub(super) fn bytes(&self) -> Option<usize> {
        match self {
            Query::Fixed(bytes) => Some(bytes.len()),
            Query::Texts { .. } | Query::Bound { .. } | Query::Text(_) | Query::BoundValues { .. } => None,
        }
    }

    /// Writes the query with these values and random parameters.
    pub(super) fn write(&self, given: Values<'_>, out: &mut Outgoing) {
        let mut random = given.draws();
        match self {
            Query::Fixed(bytes) => out.fixed(bytes),
            Query::Texts { texts, last, parameters } => {
                // A parameter may occur several times.
                let seed = random.next();
                write::message(out.buffer(), b'Q', |out| {
                    for (text, parameter) in texts {
                        out.extend_from_slice(text.as_bytes());
                        let mut random = Stream::new(seed ^ *parameter as u64);
                        write_literal(out, draw(parameters[*parameter], &mut random));
                    }
                    write::string(out, last);
                });
            }
            Query::Bound { before, statement, parameters } => {
                let buffer = out.buffer();
                buffer.extend_from_slice(before);
                write::bind(buffer, statement, parameters, |range, out| {
                    write_integer(out, draw(*range, &mut random));
                });
                write::run(buffer);
            }
            Query::Text(template) => write::message(out.buffer(), b'Q', |out| {
                template.write(given, &mut random, 0, out);
                out.push(0);
            }),
            Query::BoundValues { before, statement, values } => {
                let buffer = out.buffer();
                buffer.extend_from_slice(before);
                write::bind(buffer, statement, values, |value, out| {
                    value.write(given, &mut random, 0, out);
                });
                write::run(buffer);
            }
        }
    }
}

/// Appends a number as SQL. A negative one gets brackets: behind a minus sign it would begin a comment.
fn write_literal(out: &mut Vec<u8>, number: i64) {
    if number >= 0 {
        return write_integer(out, number);
    }
    out.push(b'(');
    write_integer(out, number);
    out.push(b')');
}

fn draw(range: Range, random: &mut Stream) -> i64 {
    random.within_signed(range.first, range.last)
}

/// Splits a text at its parameters `$1` to `$n` outside quotes: each piece precedes a parameter.
fn split(text: &str, parameters: usize) -> (Vec<(String, usize)>, String) {
    let (mut texts, mut start) = (Vec::new(), 0);
    let (mut quote, mut at) = (None, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        match quote {
            Some(open) => quote = (byte != open).then_some(open),
            None if matches!(byte, b'\'' | b'"') => quote = Some(byte),
            None if byte == b'$' => {
                let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
                let number = text[at..at + digits].parse::<usize>().ok();
                if let Some(number) = number.filter(|n| (1..=parameters).contains(n)) {
                    texts.push((text[start..at - 1].to_owned(), number - 1));
                    at += digits;
                    start = at;
                }
            }
            None => {}
        }
    }
    (texts, text[start..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Form;

    fn written(query: &Query, random: u64) -> String {
        let mut out = Outgoing::new();
        query.write(Values { taken: &[], number: 0, random }, &mut out);
        out.payload().as_slice().escape_ascii().to_string()
    }

    fn one() -> Vec<Range> {
        vec![Range { first: 7, last: 7 }]
    }

    #[test]
    fn messages_are_those_of_the_protocol() {
        let query = |protocol, parameters| Query::new("SELECT $1", protocol, parameters, "q0".into());
        let fixed = Query::new("SELECT 1", Protocol::Simple, vec![], String::new());
        assert_eq!(written(&fixed, 1), r"Q\x00\x00\x00\rSELECT 1\x00");
        assert_eq!(fixed.bytes(), Some(14));
        assert_eq!(written(&query(Protocol::Simple, one()), 1), r"Q\x00\x00\x00\rSELECT 7\x00");
        let parse = r"P\x00\x00\x00\x11\x00SELECT $1\x00\x00\x00";
        let run = r"D\x00\x00\x00\x06P\x00E\x00\x00\x00\t\x00\x00\x00\x00\x00S\x00\x00\x00\x04";
        let bind = r"B\x00\x00\x00\x11\x00\x00\x00\x00\x00\x01\x00\x00\x00\x017\x00\x00";
        assert_eq!(written(&query(Protocol::Extended, one()), 1), format!("{parse}{bind}{run}"));
        let bind = r"B\x00\x00\x00\x13\x00q0\x00\x00\x00\x00\x01\x00\x00\x00\x017\x00\x00";
        assert_eq!(written(&query(Protocol::Prepared, one()), 1), format!("{bind}{run}"));
        let bind = r"B\x00\x00\x00\x0e\x00q0\x00\x00\x00\x00\x00\x00\x00";
        assert_eq!(written(&query(Protocol::Prepared, vec![]), 1), format!("{bind}{run}"));
    }

    #[test]
    fn numbers_in_a_text_are_parameters_unless_it_is_a_simple_query() {
        let query = |protocol| {
            let template = Template::of_numbers(b"A {rand:7..7}", Form::Raw).unwrap();
            Query::of_template(template, protocol, "q0".into()).unwrap()
        };
        let (simple, text) = query(Protocol::Simple);
        assert_eq!((written(&simple, 1), &*text), (r"Q\x00\x00\x00\x08A 7\x00".into(), "A $1"));
        let parse = r"P\x00\x00\x00\x0c\x00A $1\x00\x00\x00";
        let run = r"D\x00\x00\x00\x06P\x00E\x00\x00\x00\t\x00\x00\x00\x00\x00S\x00\x00\x00\x04";
        let bind = r"B\x00\x00\x00\x11\x00\x00\x00\x00\x00\x01\x00\x00\x00\x017\x00\x00";
        assert_eq!(written(&query(Protocol::Extended).0, 1), format!("{parse}{bind}{run}"));
        let bind = r"B\x00\x00\x00\x13\x00q0\x00\x00\x00\x00\x01\x00\x00\x00\x017\x00\x00";
        assert_eq!(written(&query(Protocol::Prepared).0, 1), format!("{bind}{run}"));
    }

    #[test]
    fn a_text_is_taken_apart_at_its_parameters_but_not_inside_quotes() {
        let (texts, last) = split("a $1 '$1' \"$2\" $2$3 $$ $1", 2);
        assert_eq!(texts, [("a ".into(), 0), (" '$1' \"$2\" ".into(), 1), ("$3 $$ ".into(), 0)]);
        assert_eq!(last, "");
    }

    #[test]
    fn numbers_are_within_their_range_and_the_same_in_all_places() {
        let range = Range { first: -3, last: 12 };
        let query = Query::new("$1 $1", Protocol::Simple, vec![range], String::new());
        let mut seen = std::collections::BTreeSet::new();
        for random in 0..1000 {
            let mut out = Outgoing::new();
            query.write(Values { taken: &[], number: 0, random }, &mut out);
            let message = out.payload().as_slice().to_vec();
            let text = String::from_utf8(message[5..message.len() - 1].to_vec()).unwrap();
            let (one, other) = text.split_once(' ').unwrap();
            assert_eq!(one, other);
            // One without parentheses could begin a comment behind a minus sign.
            let bare = one.strip_prefix("(-").and_then(|rest| rest.strip_suffix(')'));
            seen.insert(bare.map_or_else(|| one.parse::<i64>().unwrap(), |n| -n.parse::<i64>().unwrap()));
        }
        assert_eq!(seen, (-3..=12).collect());
        let all = Range { first: i64::MIN, last: i64::MAX };
        assert!(draw(all, &mut Stream::new(1)).unsigned_abs() > 1 << 32);
        for number in [i64::MIN, -1, 0, i64::MAX] {
            let mut out = Vec::new();
            write_integer(&mut out, number);
            assert_eq!(out, number.to_string().as_bytes());
        }
    }
}
