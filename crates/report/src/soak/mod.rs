//! The report of a soak: loads, resources over time, events, and drifts.

mod analysis;
mod answer;
mod beside;
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
use pitot_results::Drawn;

use crate::document::Document;
use crate::format::Format;
use crate::render::Screen;
use crate::reported::Reported;
use crate::trust::Trust;
use analysis::Analysis;
pub use drifts::Drifting;

impl Reported for Soak {
    fn page(&self, _: Format) -> Document {
        page::page(&Analysis::of(self))
    }

    fn data(&self, format: Format) -> Option<String> {
        (format == Format::Json).then(|| json::render(&Analysis::of(self)))
    }
}

/// The drifts so far, a sentence each, with the server.
pub fn declared(soak: &Soak) -> Vec<String> {
    page::declared(&Analysis::of(soak))
}

/// The figures of servers that drift so far.
pub fn drifting(soak: &Soak) -> Vec<Drifting> {
    page::drifting(&Analysis::of(soak))
}

/// The answer, and how far it can be trusted.
pub(crate) fn said(soak: &Soak) -> (String, Trust) {
    let a = Analysis::of(soak);
    (answer::answer(&a).headline, trust::trust(&a))
}

/// Published figures, a line each.
pub fn published(tables: &[Published]) -> Vec<String> {
    tables.iter().flat_map(published::lines).collect()
}

/// The progress of a soak, on one screen.
pub fn status(soak: &Soak, screen: Screen) -> Drawn {
    page::status(&Analysis::of(soak)).draw(screen)
}
