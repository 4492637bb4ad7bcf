//! Text of others, fit for a terminal.

/// `text` without what a terminal would obey in place of showing it: control characters, and marks that turn the direction of
/// writing. Each becomes U+FFFD. Line ends are among them.
pub fn printable(text: &str) -> String {
    let is_obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_obeyed(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_what_others_say_and_obeys_none_of_it() {
        let text = "a\x1b]0;title\x07 \u{9b}2J\u{202e}é\n";
        assert_eq!(printable(text), "a\u{fffd}]0;title\u{fffd} \u{fffd}2J\u{fffd}é\u{fffd}");
        assert_eq!(printable("`6.1`: größer → 5"), "`6.1`: größer → 5");
    }
}
