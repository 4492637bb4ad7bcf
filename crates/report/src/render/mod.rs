//! The forms of a [`Document`]: one renderer each, which escapes control characters and markup.

mod github;
mod html;
mod markdown;
mod terminal;

pub use terminal::Screen;

use crate::document::Document;
use crate::format::Format;
use pitot_results::{Drawn, visible};

impl Document {
    /// The page in lines of a screen. Control characters are made visible; only the page's own colours remain.
    pub fn draw(&self, screen: Screen) -> Drawn {
        terminal::render(self, screen)
    }

    /// The page in a form for readers; none for forms of data, which are made of records.
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
