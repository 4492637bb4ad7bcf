//! The forms of a [`Document`]: one renderer each, which escapes control characters and markup.

mod github;
mod html;
mod markdown;
mod terminal;

pub use markdown::Picture;
pub use terminal::Screen;

use crate::document::Document;
use crate::format::Format;
use crate::served::Served;
use pitot_results::{Drawn, visible};

impl Document {
    /// The page in lines of a screen. Control characters are made visible; only the page's own colours remain.
    pub fn draw(&self, screen: Screen) -> Drawn {
        terminal::render(self, screen)
    }

    /// The page as Markdown that shows its drawings, which are in this folder.
    pub fn render_with_pictures(&self, folder: &str) -> (String, Vec<Picture>) {
        let (text, pictures) = markdown::render(self, Some(folder));
        (visible(&text).into_owned(), pictures)
    }

    /// The page in HTML as a server shows it.
    pub fn serve(&self, around: &Served) -> String {
        visible(&html::served(self, around)).into_owned()
    }

    /// What changes in a page that a server shows: its head, its content and its foot, in HTML.
    pub fn content(&self) -> String {
        visible(&html::content(self, "", "")).into_owned()
    }

    /// The page in a form for readers; none for forms of data, which are made of records.
    pub fn render(&self, format: Format) -> Option<String> {
        let text = match format {
            Format::Terminal => self.draw(Screen::PLAIN).to_string(),
            Format::Html => html::render(self),
            Format::Markdown => markdown::render(self, None).0,
            Format::Github => github::render(self),
            Format::Csv | Format::CsvSlices | Format::Json | Format::Junit => return None,
        };
        Some(visible(&text).into_owned())
    }
}
