//! The report of a soak: what its loads did, what its servers used over time, what happened, and what drifts.

mod analysis;
mod answer;
mod charts;
mod counts;
mod drifts;
mod faults;
mod json;
mod page;
mod published;
mod series;
mod trust;
mod untouched;

use pitot_plan::Published;
use pitot_record::Soak;
use pitot_results::{Drawn, visible};

use crate::document::Document;
use crate::format::Format;
use crate::render::Screen;
use analysis::Analysis;
pub use drifts::Drifting;

/// The page of a soak, also while it runs.
pub fn page(soak: &Soak) -> Document {
    page::page(&Analysis::of(soak))
}

/// The report of a soak. The formats for continuous integration are those of runs, and have no counterpart here: `None`.
pub fn render(soak: &Soak, format: Format) -> Option<String> {
    match format {
        Format::Json => Some(visible(&json::render(&Analysis::of(soak))).into_owned()),
        Format::Terminal | Format::Markdown | Format::Html => page(soak).render(format),
        Format::Csv | Format::CsvSlices | Format::Github | Format::Junit => None,
    }
}

/// What drifts so far, a sentence each with its server.
pub fn declared(soak: &Soak) -> Vec<String> {
    page::declared(&Analysis::of(soak))
}

/// The figures of servers that drift so far.
pub fn drifting(soak: &Soak) -> Vec<Drifting> {
    page::drifting(&Analysis::of(soak))
}

/// Figures that others published, a line each.
pub fn published(tables: &[Published]) -> Vec<String> {
    tables.iter().flat_map(published::lines).collect()
}

/// How far a soak has come, on one screen.
pub fn status(soak: &Soak, screen: Screen) -> Drawn {
    page::status(&Analysis::of(soak)).draw(screen)
}
