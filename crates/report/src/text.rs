//! Sentences and lists. Names are between `**`, which a renderer makes bold.

/// Names in a list: `**a**`, `**a** and **b**`, `**a**, **b** and 3 others`.
pub(crate) fn list(names: &[&str]) -> String {
    let bold = |name: &&str| format!("**{name}**");
    match names {
        [] => String::new(),
        [one] => bold(one),
        [front @ .., last] if front.len() < 3 => {
            format!("{} and {}", front.iter().map(bold).collect::<Vec<_>>().join(", "), bold(last))
        }
        [first, second, rest @ ..] => format!("{}, {} and {} others", bold(first), bold(second), rest.len()),
    }
}

/// A sentence: its first letter in upper case, a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let start = text.find(|c: char| c != '*').unwrap_or(0);
    let (marks, rest) = text.split_at(start);
    let mut letters = rest.chars();
    let first = letters.next();
    let stop = if text.ends_with(['.', '?', '!']) { "" } else { "." };
    // A name keeps its spelling at the start of a sentence.
    let head: String = match first {
        Some(c) if marks.is_empty() => c.to_uppercase().collect(),
        Some(c) => c.to_string(),
        None => String::new(),
    };
    format!("{marks}{head}{}{stop}", letters.as_str())
}

/// A heading: its first letter in upper case, except in words like `p99`.
pub(crate) fn capital(text: &str) -> String {
    if text.chars().nth(1).is_some_and(|c| c.is_ascii_digit()) {
        return text.to_owned();
    }
    sentence(text).trim_end_matches('.').to_owned()
}

/// The text without `**`.
pub(crate) fn unmarked(text: &str) -> String {
    text.replace("**", "")
}

/// The ending of a plural.
pub(crate) fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_in_upper_case_but_names_keep_their_spelling() {
        assert_eq!(sentence("no significant difference"), "No significant difference.");
        assert_eq!(sentence("**poll** led"), "**poll** led.");
        assert_eq!(capital("requests per second"), "Requests per second");
        assert_eq!(capital("p99 latency"), "p99 latency");
    }

    #[test]
    fn long_lists_are_cut_and_marks_can_be_removed() {
        assert_eq!(list(&["a", "b"]), "**a** and **b**");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "**a**, **b** and 3 others");
        assert_eq!(unmarked("**a** and **b**"), "a and b");
    }
}
