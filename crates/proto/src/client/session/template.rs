//! Text with places for values.

/// Stands for the length of the body in the text of a head, where no other control character may be.
pub(in crate::client) const LENGTH: char = '\u{1}';

/// How values are written, so that they mean the same in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::client) enum Form {
    /// As they are.
    Raw,
    /// What may not stand in a request line in percent encoding; a whole path stays one.
    Path,
    /// Without control characters.
    Header,
    /// As a value of a form: all but letters, digits and `-._~` in percent encoding.
    Urlencoded,
    /// As a part of a JSON string.
    Json,
}

/// Text with places for values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::client) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(Box<[u8]>),
    /// The value of that index.
    Value(u16, Form),
    /// The number of the session in the run.
    Number,
    /// The length of the body.
    Length,
}

/// The names of the values of a script.
#[derive(Clone, Debug, Default)]
pub(in crate::client) struct Names(Vec<String>);

/// The name of the number of a session.
const NUMBER: &str = "session";

impl Names {
    /// The index of a name, which is added if it is new.
    pub(super) fn add(&mut self, name: &str) -> Result<u16, String> {
        if !is_name(name.as_bytes()) || name == NUMBER {
            return Err(format!(
                "`{name}` is not a name for a value: take letters, digits, - and _, a letter first, and not `{NUMBER}`"
            ));
        }
        let index = self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        });
        u16::try_from(index).map_err(|_| "a session has too many values".to_owned())
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
    /// Reads text, in which `{name}` stands for a value and `{{name}}` for itself.
    ///
    /// # Errors
    /// One line on a name that is not known.
    pub(in crate::client) fn parse(text: &[u8], form: Form, names: &Names) -> Result<Template, String> {
        let mut template = Template::default();
        let mut from = 0;
        while let Some(at) =
            text[from..].iter().position(|&b| b == b'{' || b == LENGTH as u8).map(|n| from + n)
        {
            template.text(&text[from..at]);
            from = at + 1;
            if text[at] == LENGTH as u8 {
                template.0.push(Piece::Length);
            } else if let Some(name) = text[at..].strip_prefix(b"{{").and_then(|rest| closed(rest))
                && text[at + 2 + name.len()..].starts_with(b"}}")
            {
                template.text(&text[at + 1..at + 3 + name.len()]);
                from = at + 4 + name.len();
            } else if let Some(name) = closed(&text[from..]) {
                template.0.push(match (name, names.find(name)) {
                    (NUMBER, _) => Piece::Number,
                    (_, Some(Piece::Value(index, _))) => Piece::Value(index, form),
                    _ => {
                        return Err(format!(
                            "`{{{name}}}` is not taken from a reply before it: take it in an earlier step, or write \
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

    /// The text, if it is always the same.
    pub(in crate::client) fn fixed(&self) -> Option<&[u8]> {
        match self.0.as_slice() {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it is not the same in each session.
    pub(in crate::client) fn takes_values(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Value(..) | Piece::Number))
    }

    /// Appends the text with its values, of which missing ones are empty. `length` is that of the body.
    pub(in crate::client) fn write(&self, values: &[Vec<u8>], number: u64, length: usize, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Value(index, form) => {
                    form.write(values.get(usize::from(*index)).map_or(&[], |value| value), out);
                }
                Piece::Number => out.extend_from_slice(number.to_string().as_bytes()),
                Piece::Length => out.extend_from_slice(length.to_string().as_bytes()),
            }
        }
    }
}

/// The name that a closing brace ends.
fn closed(text: &[u8]) -> Option<&str> {
    let name = &text[..text.iter().position(|&b| b == b'}')?];
    is_name(name).then(|| std::str::from_utf8(name).unwrap_or_default())
}

impl Form {
    fn write(self, value: &[u8], out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        let percent =
            |b: u8, out: &mut Vec<u8>| out.extend([b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
        match self {
            Form::Raw => out.extend_from_slice(value),
            Form::Header => out.extend(value.iter().map(|&b| if b < b' ' || b == 0x7f { b' ' } else { b })),
            Form::Path => {
                for &b in value {
                    if b.is_ascii_graphic() { out.push(b) } else { percent(b, out) }
                }
            }
            Form::Urlencoded => {
                for &b in value {
                    if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
                        out.push(b);
                    } else {
                        percent(b, out);
                    }
                }
            }
            Form::Json => {
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
