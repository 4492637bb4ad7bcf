//! A line taken apart as a shell does it.

use std::fmt;

/// Characters that only a shell understands.
pub(crate) const OF_SHELLS: &[char] = &['|', '&', ';', '<', '>', '$', '`', '*', '?'];

/// Why a line has no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// This quote is not closed.
    Quote(char),
    /// It ends in a backslash.
    Backslash,
    /// Outside quotes it has this character, of those that the caller refuses.
    Refused(char),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Quote(quote) => write!(f, "a quote ({quote}) is not closed"),
            Flaw::Backslash => f.write_str("the line ends in a backslash"),
            Flaw::Refused(c) => write!(f, "{c} must be quoted here"),
        }
    }
}

/// The words of a line: blanks separate them, except within single or double quotes or after a backslash. Nothing is
/// expanded. The characters of `refused` may stand only in quotes or after a backslash.
///
/// # Errors
/// The first flaw of the line.
pub(crate) fn split(line: &str, refused: &[char]) -> Result<Vec<String>, Flaw> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => quoted(c, &mut characters, word.get_or_insert_default())?,
            '\\' => {
                let next = characters.next().ok_or(Flaw::Backslash)?;
                word.get_or_insert_default().push(next);
            }
            c if refused.contains(&c) => return Err(Flaw::Refused(c)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Takes the rest of a quoted part. Within double quotes a backslash keeps its meaning before `"` and `\`.
fn quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), Flaw> {
    while let Some(c) = characters.next() {
        if c == quote {
            return Ok(());
        }
        if quote == '"' && c == '\\' && characters.as_str().starts_with(['"', '\\']) {
            word.extend(characters.next());
        } else {
            word.push(c);
        }
    }
    Err(Flaw::Quote(quote))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, words) in [
            ("", &[] as &[&str]),
            ("  \t \r\n", &[]),
            ("run a  50ms\n", &["run", "a", "50ms"]),
            ("./go {address}", &["./go", "{address}"]),
            ("-H 'Name: a \"value\"' b", &["-H", "Name: a \"value\"", "b"]),
            (r#"-H "a \"b\" \\ \n $x" c"#, &["-H", r#"a "b" \ \n $x"#, "c"]),
            (r"a\ b 'c\d'e ''", &["a b", r"c\de", ""]),
            (r"a\$b '$c' $", &["a$b", "$c", "$"]),
        ] {
            assert_eq!(split(line, &['|']).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (line, flaw) in [
            ("'a", Flaw::Quote('\'')),
            ("a \"b'", Flaw::Quote('"')),
            ("\"a\\\"", Flaw::Quote('"')),
            ("a\\", Flaw::Backslash),
            ("a '|' \"|\" \\| |", Flaw::Refused('|')),
        ] {
            assert_eq!(split(line, &['|']), Err(flaw), "{line}");
        }
    }
}
