//! A line taken apart as a shell does it.

/// The words of a line: blanks separate them, except within single or double quotes or after a backslash. Nothing is
/// expanded.
///
/// # Errors
/// One line: a quote is not closed, or the line ends in a backslash.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' | '"' => quoted(c, &mut characters, word.get_or_insert_default())?,
            '\\' => {
                let next = characters.next().ok_or("the line ends in a backslash")?;
                word.get_or_insert_default().push(next);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Takes the rest of a quoted part. Within double quotes a backslash keeps its meaning before `"` and `\`.
fn quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
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
    Err(format!("a quote ({quote}) is not closed"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        for (line, words) in [
            ("", &[] as &[&str]),
            ("  \t \r\n", &[]),
            ("run a  50ms\n", &["run", "a", "50ms"]),
            ("-H 'Name: a \"value\"' b", &["-H", "Name: a \"value\"", "b"]),
            (r#"-H "a \"b\" \\ \n $x" c"#, &["-H", r#"a "b" \ \n $x"#, "c"]),
            (r"a\ b 'c\d'e ''", &["a b", r"c\de", ""]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn what_is_not_closed_is_named() {
        for line in ["'a", "a \"b'", "\"a\\\"", "a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }
}
