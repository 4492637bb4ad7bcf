//! The forms of a [`Document`]. Each shows every kind of block, once for all pages, and escapes what its readers would obey.

mod github;
mod html;
mod markdown;
mod terminal;

pub use terminal::Screen;

use crate::document::Document;
use crate::format::Format;
use pitot_results::{Drawn, visible};

impl Document {
    /// The page in lines of a screen. What others worded is made visible in it, and no code but those of a screen that has colours
    /// is obeyed.
    pub fn draw(&self, screen: Screen) -> Drawn {
        terminal::render(self, screen)
    }

    /// The page in a form for people, or its annotations; the forms of data are made of records instead: `None`.
    pub fn render(&self, format: Format) -> Option<String> {
        let text = match format {
            Format::Terminal => self.draw(Screen::PLAIN).to_string(),
            Format::Html => html::render(self),
            Format::Markdown => markdown::render(self),
            Format::Github => github::render(self),
            Format::Csv | Format::CsvSlices | Format::Json | Format::Junit => return None,
        };
        Some(visible(&text).into_owned())
    }
}
