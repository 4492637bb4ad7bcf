//! Text for a terminal: foreign text is escaped, and only Pitot's own codes are written as they are ([`Drawn`]).

use std::borrow::Cow;
use std::fmt::{self, Display, Write as _};

/// `text` as every output has it. What a terminal, or a page that shows text, would obey in place of showing it is
/// written as an escape: control characters (C0, DEL and C1, so no escape sequence is left) and the marks that turn
/// the direction of writing. Line ends (`\n`, `\r\n`) and tabs stay.
///
/// C0 becomes `\x1b`, everything else `\u009b`: JSON has escaped C0 already, and the second form is JSON too. What was
/// made visible stays as it is, so that filtering twice does no harm.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_layout = match letter {
            '\n' | '\t' => true,
            '\r' => letters.peek() == Some(&'\n'),
            _ => false,
        };
        push(&mut shown, letter, is_layout);
    }
    Cow::Owned(shown)
}

/// The same as one line: line ends and tabs are escaped, too. For what a program on another machine said, which is
/// stored and put into sentences.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|letter| push(&mut shown, letter, false));
    shown
}

/// The beginning of a text as one line: what others say has no length that a sentence has room for.
pub fn printable_start(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => printable(text),
        Some((end, _)) => format!("{}...", printable(&text[..end])),
    }
}

fn push(shown: &mut String, letter: char, is_layout: bool) {
    // Writing to a string cannot fail.
    let _ = match letter {
        letter if is_layout || !is_obeyed(letter) => shown.write_char(letter),
        '\0'..='\x1f' => write!(shown, "\\x{:02x}", u32::from(letter)),
        _ => write!(shown, "\\u{:04x}", u32::from(letter)),
    };
}

/// Controls (Unicode's Cc), and what UAX #9 and its line separators let a text do to the text around it.
fn is_obeyed(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text for a terminal among codes that Pitot itself writes: cursor moves, erasing, colours. The terminal obeys the codes
/// and nothing of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn(String);

impl Drawn {
    /// Begins with a code, or with none.
    pub fn new(code: impl Display) -> Drawn {
        Drawn(code.to_string())
    }

    /// Adds a code. Nothing that comes from outside may be in it.
    pub fn code(mut self, code: impl Display) -> Drawn {
        let _ = write!(self.0, "{code}");
        self
    }

    /// Adds text, whoever it is from.
    pub fn text(mut self, text: impl Display) -> Drawn {
        self.0.push_str(&visible(&text.to_string()));
        self
    }

    /// Adds what is drawn already.
    pub fn then(mut self, drawn: &Drawn) -> Drawn {
        self.0.push_str(&drawn.0);
        self
    }
}

/// Rows on a terminal that the next ones are drawn over. The cursor stays in the last of them, so that nothing scrolls.
#[derive(Debug, Default)]
pub struct Rows {
    drawn: usize,
}

impl Rows {
    /// What draws these rows, in the place of those before. What is `above` them, whole lines, stays.
    pub fn draw(&mut self, above: &str, rows: &str) -> Drawn {
        let drawn = self.clear().text(above).text(rows);
        self.drawn = if rows.is_empty() { 0 } else { rows.lines().count() };
        drawn
    }

    /// What erases them, if there are any.
    pub fn clear(&mut self) -> Drawn {
        match std::mem::take(&mut self.drawn) {
            0 => Drawn::default(),
            1 => Drawn::new("\r\x1b[J"),
            rows => Drawn::new(format_args!("\r\x1b[{}A\x1b[J", rows - 1)),
        }
    }
}

impl Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b]0;title\x07 \u{9b}2J\u{202e}é\r|\n";

    #[test]
    fn a_terminal_shows_what_others_say_and_obeys_none_of_it() {
        assert_eq!(printable(HOSTILE), r"a\x1b]0;title\x07 \u009b2J\u202eé\x0d|\x0a");
        assert_eq!(printable("`6.1`: größer → 5"), "`6.1`: größer → 5");
    }

    #[test]
    fn a_long_text_is_shown_by_its_beginning() {
        assert_eq!(printable_start("é\x1bü", 3), r"é\x1bü");
        assert_eq!(printable_start("é\x1bü", 2), r"é\x1b...");
        assert_eq!(printable_start("", 0), "");
    }

    #[test]
    fn text_keeps_its_lines_and_tabs() {
        let shown = visible(HOSTILE);
        assert_eq!(shown, "a\\x1b]0;title\\x07 \\u009b2J\\u202eé\\x0d|\n");
        assert_eq!(visible(&shown), shown);
        assert_eq!(visible("a\tb\r\nc\n"), "a\tb\r\nc\n");
    }

    #[test]
    fn json_stays_json_and_means_the_same() {
        let json = serde_json::to_string(HOSTILE).unwrap();
        let shown = visible(&json);
        assert!(!shown.contains(is_obeyed), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), HOSTILE);
    }

    #[test]
    fn own_codes_pass_and_those_within_text_do_not() {
        let drawn = Drawn::new("\r").text("\x1b[2Jx").code("\x1b[1m").text("y");
        assert_eq!(drawn.to_string(), "\r\\x1b[2Jx\x1b[1my");
    }

    #[test]
    fn rows_are_drawn_over_and_what_is_above_them_stays() {
        let mut rows = Rows::default();
        assert_eq!(rows.draw("said\n", "a\nb\nc").to_string(), "said\na\nb\nc");
        assert_eq!(rows.draw("", "\x1b[2J").to_string(), "\r\x1b[2A\x1b[J\\x1b[2J");
        assert_eq!(rows.draw("said\n", "").to_string(), "\r\x1b[Jsaid\n");
        assert_eq!(rows.clear(), Drawn::default());
    }
}
