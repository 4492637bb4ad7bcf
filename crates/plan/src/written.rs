//! Quotes words for a shell and for TOML.

/// A command line for a shell.
pub fn shell_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// A word for a shell: unchanged, or in single quotes, the form in which secrets are found and masked.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A string of TOML, whose escapes are those of JSON. (DEL needs none there.)
pub fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// A key of TOML, in quotes where it must be.
pub fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if is_bare { name.to_owned() } else { toml_string(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_every_word_as_it_was() {
        let argv = ["a b", "it's", "", "--plain=1", "$HOME;{x}"].map(str::to_owned);
        let out = std::process::Command::new("sh")
            .args(["-c", &format!("printf '[%s]' {}", shell_line(&argv))])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "[a b][it's][][--plain=1][$HOME;{x}]");
    }

    #[test]
    fn toml_reads_every_key_and_string_as_it_was() {
        for text in ["server", "server.cold-files", "a \"b\" \\", "\u{7f}\u{1}\té", ""] {
            let table: toml::Table =
                toml::from_str(&format!("{} = {}", toml_key(text), toml_string(text))).unwrap();
            assert_eq!(table.get(text).and_then(toml::Value::as_str), Some(text));
        }
    }
}
