//! A command as one text, taken apart as a shell would.

use pitot_results::Failure;

/// What only a shell understands.
const OF_SHELLS: &[char] = &['|', '&', ';', '<', '>', '$', '`', '*', '?'];

/// The words of a command: split at blanks, with quotes and backslashes as in sh(1).
///
/// # Errors
/// If a quote is not closed, or a shell would do more than to split.
pub(super) fn split(command: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(chars.next()),
                        Some(inside) => word.push(inside),
                        None => {
                            let what = format!("the quote {c} in `{command}` is not closed");
                            return Err(Failure::misuse(what, "close it"));
                        }
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            c if c.is_whitespace() => words.extend(word.take()),
            c if OF_SHELLS.contains(&c) => {
                return Err(Failure::misuse(
                    format!("`{command}` needs a shell for its {c}, and commands are started without one"),
                    "write sh -c '...' around it, with `exec` before the server so that signals reach it",
                ));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        for (command, wanted) in [
            ("./go {address}", vec!["./go", "{address}"]),
            ("  a\t'b c'd \"e \\\" $f\" '' ", vec!["a", "b cd", "e \" $f", ""]),
            (r"a\ b c", vec!["a b", "c"]),
            ("", vec![]),
        ] {
            assert_eq!(split(command).unwrap(), wanted, "{command}");
        }
        assert!(split("a 'b").is_err() && split("a > b").is_err());
        assert!(split("sh -c 'a > b'").is_ok());
    }
}
