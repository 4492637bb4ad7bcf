//! The report of a soak: what its loads did, what its servers used over time, what happened, and what drifts.

mod analysis;
mod answer;
mod charts;
mod counts;
mod drifts;
mod faults;
mod html;
mod json;
mod published;
mod series;
mod text;
mod trust;
mod untouched;

use pitot_plan::Published;
use pitot_results::{Drawn, visible};
use pitot_soak::Soak;

use crate::escape::markdown_code;
use crate::format::Format;
use crate::terminal::Screen;
use analysis::Analysis;
pub use drifts::Drifting;

/// The report of a soak, also while it runs. The formats for continuous integration are those of runs, and have no
/// counterpart here: `None`.
pub fn render(soak: &Soak, format: Format) -> Option<String> {
    let analysis = Analysis::of(soak);
    let text = match format {
        Format::Terminal => text::render(&analysis, Screen::PLAIN).to_string(),
        Format::Markdown => {
            markdown_code("", text::render(&analysis, Screen::PLAIN).to_string().trim_start())
        }
        Format::Html => html::render(&analysis),
        Format::Json => json::render(&analysis),
        Format::Csv | Format::CsvSlices | Format::Github | Format::Junit => return None,
    };
    Some(visible(&text).into_owned())
}

/// The report of a soak in lines of a screen.
pub fn draw(soak: &Soak, screen: Screen) -> Drawn {
    text::render(&Analysis::of(soak), screen)
}

/// What drifts so far, a sentence each with its server.
pub fn declared(soak: &Soak) -> Vec<String> {
    text::declared(&Analysis::of(soak))
}

/// The figures of servers that drift so far.
pub fn drifting(soak: &Soak) -> Vec<Drifting> {
    text::drifting(&Analysis::of(soak))
}

/// Figures that others published, a line each.
pub fn published(tables: &[Published]) -> Vec<String> {
    tables.iter().flat_map(published::lines).collect()
}

/// How far a soak has come, on one screen.
pub fn status(soak: &Soak, screen: Screen) -> Drawn {
    text::status(&Analysis::of(soak), screen)
}
