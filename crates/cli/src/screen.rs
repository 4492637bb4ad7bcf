//! What text for people is shown on: how wide it is, and whether it has colours.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use clap::{Args, ColorChoice};
use pitot_report::Screen;

/// Narrower lines would be of single words, ...
const WIDTH_MIN: usize = 40;
/// ... and wider ones are hard to read.
const WIDTH_MAX: usize = 120;

/// When text is coloured.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Color {
    /// Colours in text: auto has them on a terminal, unless NO_COLOR is set or TERM is dumb.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl Color {
    /// As it is where the command has no such option.
    pub(crate) const AUTO: Color = Color { color: ColorChoice::Auto };

    /// The screen that standard output leads to.
    pub(crate) fn screen(self) -> Screen {
        let stdout = io::stdout();
        let environment = |name| std::env::var_os(name);
        decide(
            self.color,
            &Surroundings {
                is_terminal: stdout.is_terminal(),
                columns: pitot_sys::terminal::size(&stdout).map(|(columns, _)| columns.into()),
                asked_columns: environment("COLUMNS").as_deref(),
                no_color: environment("NO_COLOR").as_deref(),
                term: environment("TERM").as_deref(),
            },
        )
    }
}

/// The columns of standard output, if it is a terminal or somebody has said how many there are.
pub(crate) fn known_width() -> Option<usize> {
    let columns = std::env::var_os("COLUMNS").is_some_and(|columns| !columns.is_empty());
    (columns || io::stdout().is_terminal()).then(|| Color::AUTO.screen().width)
}

/// What is known of standard output.
#[derive(Default)]
struct Surroundings<'a> {
    is_terminal: bool,
    /// The terminal's own.
    columns: Option<usize>,
    /// The variable COLUMNS, which goes before (POSIX, "Environment Variables").
    asked_columns: Option<&'a OsStr>,
    /// The variable NO_COLOR, which counts unless it is empty (no-color.org).
    no_color: Option<&'a OsStr>,
    /// The variable TERM.
    term: Option<&'a OsStr>,
}

fn decide(color: ColorChoice, around: &Surroundings<'_>) -> Screen {
    let asked = around.asked_columns.and_then(OsStr::to_str).and_then(|columns| columns.parse().ok());
    let width = asked.filter(|columns| *columns > 0).or(around.columns).unwrap_or(Screen::PLAIN.width);
    let is_coloured = match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let has_none = around.no_color.is_some_and(|value| !value.is_empty());
            around.is_terminal && !has_none && around.term != Some(OsStr::new("dumb"))
        }
    };
    Screen { width: width.clamp(WIDTH_MIN, WIDTH_MAX), is_coloured }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Surroundings<'_> = Surroundings {
        is_terminal: true,
        columns: Some(93),
        asked_columns: None,
        no_color: None,
        term: None,
    };

    fn of(around: &Surroundings<'_>) -> (usize, bool) {
        let screen = decide(ColorChoice::Auto, around);
        (screen.width, screen.is_coloured)
    }

    #[test]
    fn a_terminal_says_how_wide_it_is_and_has_colours() {
        assert_eq!(of(&TERMINAL), (93, true));
        assert_eq!(of(&Surroundings { columns: None, ..TERMINAL }), (80, true));
        assert_eq!(of(&Surroundings { columns: Some(300), ..TERMINAL }), (120, true));
        assert_eq!(of(&Surroundings { columns: Some(3), ..TERMINAL }), (40, true));
    }

    #[test]
    fn a_pipe_has_80_columns_and_no_colours() {
        assert_eq!(of(&Surroundings::default()), (80, false));
    }

    #[test]
    fn columns_and_no_color_are_heeded() {
        let with = |columns, no_color: &'static str| {
            of(&Surroundings {
                asked_columns: Some(OsStr::new(columns)),
                no_color: Some(OsStr::new(no_color)),
                ..TERMINAL
            })
        };
        assert_eq!(with("60", "1"), (60, false));
        assert_eq!(with("0", ""), (93, true));
        assert_eq!(with("wide", "0"), (93, false));
        assert_eq!(of(&Surroundings { term: Some(OsStr::new("dumb")), ..TERMINAL }), (93, false));
    }

    #[test]
    fn an_option_goes_before_what_is_around() {
        let no_color = Surroundings { no_color: Some(OsStr::new("1")), ..Surroundings::default() };
        assert!(decide(ColorChoice::Always, &no_color).is_coloured);
        assert!(!decide(ColorChoice::Never, &TERMINAL).is_coloured);
    }
}
