//! Lines of a terminal, wrapped and coloured.

use std::mem::take;

use pitot_results::Drawn;

use crate::text::unmarked;
use crate::tone::Tone;

/// The width and colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Columns of a line.
    pub width: usize,
    /// Whether it shows colours (ECMA-48, SGR).
    pub is_coloured: bool,
}

impl Screen {
    /// A file or a pipe: 80 columns, no colour.
    pub const PLAIN: Screen = Screen { width: 80, is_coloured: false };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Bold,
    Good,
    Care,
    Bad,
}

impl From<Tone> for Style {
    fn from(tone: Tone) -> Style {
        match tone {
            Tone::Good => Style::Good,
            Tone::Care => Style::Care,
            Tone::Bad => Style::Bad,
        }
    }
}

impl Style {
    /// SGR parameters of the 8 colours that the user's theme defines.
    fn code(self) -> &'static str {
        match self {
            Style::Bold => "1",
            Style::Good => "32",
            Style::Care => "33",
            Style::Bad => "31",
        }
    }
}

/// Lines of a screen; control characters in the text are made visible.
pub(super) struct Page {
    drawn: Drawn,
    screen: Screen,
    is_empty: bool,
}

impl Page {
    pub(super) fn new(screen: Screen) -> Page {
        Page { drawn: Drawn::default(), screen, is_empty: true }
    }

    /// Columns of a line.
    pub(super) fn width(&self) -> usize {
        self.screen.width
    }

    pub(super) fn finish(self) -> Drawn {
        self.drawn
    }

    /// Adds a text, coloured if the screen has colours.
    pub(super) fn painted(&mut self, style: Option<Style>, text: &str) {
        let code = style.filter(|_| self.screen.is_coloured && !text.is_empty()).map(Style::code);
        let drawn = take(&mut self.drawn);
        self.is_empty = false;
        self.drawn = match code {
            Some(code) => drawn.code(format_args!("\x1b[{code}m")).text(text).code("\x1b[0m"),
            None => drawn.text(text),
        };
    }

    pub(super) fn line(&mut self, style: Option<Style>, text: &str) {
        self.painted(style, text);
        self.painted(None, "\n");
    }

    /// A line with an empty one before it, unless it is the first of the page.
    pub(super) fn heading(&mut self, text: &str) {
        if !self.is_empty {
            self.painted(None, "\n");
        }
        self.line(Some(Style::Bold), text);
    }

    /// A text wrapped after a label with a style.
    pub(super) fn labelled(&mut self, style: Option<Style>, label: &str, text: &str) {
        self.wrapped((style, label), &" ".repeat(label.chars().count()), text, None);
    }

    pub(super) fn paragraph(&mut self, indent: &str, text: &str) {
        self.wrapped((None, indent), indent, text, None);
    }

    pub(super) fn styled(&mut self, style: Style, text: &str) {
        self.wrapped((None, ""), "", text, Some(style));
    }

    pub(super) fn item(&mut self, bullet: &str, text: &str) {
        self.item_in(None, bullet, text);
    }

    pub(super) fn item_in(&mut self, style: Option<Style>, bullet: &str, text: &str) {
        self.wrapped((None, bullet), &" ".repeat(bullet.chars().count()), text, style);
    }

    /// Wraps at words. Text between `**` is bold, unless all of it has a style.
    fn wrapped(&mut self, first: (Option<Style>, &str), rest: &str, text: &str, style: Option<Style>) {
        let length = |text: &str| text.chars().count();
        let mut line = Line::default();
        line.push(first.0, first.1);
        let (mut column, mut is_empty, mut is_bold) = (length(first.1), true, false);
        for word in text.split_whitespace() {
            let letters = length(&unmarked(word));
            if !is_empty && letters > 0 {
                if column + 1 + letters > self.width() {
                    self.pieces(&take(&mut line));
                    line.push(None, rest);
                    column = length(rest);
                } else {
                    line.blank();
                    column += 1;
                }
            }
            for (number, part) in word.split("**").enumerate() {
                is_bold ^= number > 0;
                line.push(style.or(is_bold.then_some(Style::Bold)), part);
            }
            column += letters;
            is_empty &= letters == 0;
        }
        self.pieces(&line);
    }

    /// Adds a line in pieces, without trailing blanks.
    pub(super) fn pieces(&mut self, line: &Line) {
        let last = line.0.len().saturating_sub(1);
        for (at, (style, text)) in line.0.iter().enumerate() {
            self.painted(*style, if at == last { text.trim_end() } else { text });
        }
        self.painted(None, "\n");
    }
}

/// Pieces of a line with their styles.
#[derive(Default)]
pub(super) struct Line(Vec<(Option<Style>, String)>);

impl Line {
    pub(super) fn of(style: Option<Style>, text: &str) -> Line {
        let mut line = Line::default();
        line.push(style, text);
        line
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.0.iter().any(|(_, piece)| piece.contains(text))
    }

    pub(super) fn push(&mut self, style: Option<Style>, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style => before.push_str(text),
            _ if text.is_empty() => {}
            _ => self.0.push((style, text.to_owned())),
        }
    }

    pub(super) fn length(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// A blank in the style of the word before.
    fn blank(&mut self) {
        if let Some((_, before)) = self.0.last_mut() {
            before.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(screen: Screen, text: &str) -> String {
        let mut page = Page::new(screen);
        page.item("- ", text);
        page.finish().to_string()
    }

    #[test]
    fn words_are_wrapped_at_the_width_and_never_broken() {
        let narrow = Screen { width: 12, is_coloured: false };
        assert_eq!(wrapped(narrow, "one **two** three four"), "- one two\n  three four\n");
        assert_eq!(wrapped(narrow, "one longer-than-a-line x"), "- one\n  longer-than-a-line\n  x\n");
        assert_eq!(wrapped(narrow, ""), "-\n");
        assert_eq!(
            wrapped(Screen { width: 30, ..narrow }, "one **two** three four"),
            "- one two three four\n"
        );
    }

    #[test]
    fn colours_are_codes_of_ours_and_only_where_a_screen_has_them() {
        let coloured = Screen { width: 40, is_coloured: true };
        assert_eq!(wrapped(coloured, "a **b c** d"), "- a \x1b[1mb c \x1b[0md\n");
        assert_eq!(wrapped(coloured, "a\x1b[31m"), "- a\\x1b[31m\n");
        let mut page = Page::new(coloured);
        page.styled(Style::Bad, "it leaks");
        assert_eq!(page.finish().to_string(), "\x1b[31mit leaks\x1b[0m\n");
        assert!(!wrapped(Screen::PLAIN, "a **b** d").contains('\x1b'));
    }
}
