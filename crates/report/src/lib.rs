//! Reports, made from a run file alone.
//!
//! [`Analysis`] computes everything once. A page is a function that returns a [`Document`] of blocks, which one renderer for each form
//! shows. JSON, CSV and JUnit are made of records instead. [`chart::CHARTS`] lists the charts. The words for a metric come from its entry
//! in [`pitot_record::METRICS`].
#![forbid(unsafe_code)]

mod actions;
mod amount;
mod analysis;
mod axis;
mod carry_over;
pub mod chart;
mod claims;
mod compare;
mod control;
mod counts;
mod csv;
mod csv_slices;
pub mod document;
mod errors;
mod escape;
mod experiments;
mod explain;
mod faults;
mod findings;
mod flames;
mod floor;
mod format;
pub mod history;
mod hosts;
mod json;
mod junit;
mod method;
mod number;
mod outcome;
mod outlook;
mod page;
mod phrase;
mod profiles;
mod published;
mod render;
mod reported;
mod scene;
pub mod served;
pub mod soak;
mod subsystems;
mod svg;
mod text;
mod tone;
mod tried;
mod trust;
mod warm_up;
mod why;

pub use analysis::{Analysis, parts};
pub use claims::ClaimVerdict;
pub use compare::{Gate, Gated, LoadComparison, LoadSide, RunComparison, compare, compare_within};
pub use experiments::Experiments;
pub use findings::{answer, findings};
pub use format::Format;
pub use outcome::GateOutcome;
pub use profiles::Profiles;
pub use render::{Picture, Screen};
pub use reported::Reported;
pub use subsystems::spent;
pub use tone::Tone;
pub use tried::{Effect, Tried, tried};
pub use trust::{Grade, Trust, trust};

use document::Document;
use page::Question;
use pitot_record::Run;

impl Reported for Run {
    fn page(&self, format: Format) -> Document {
        asked(self, |a, questions| page::page(a, questions, format))
    }

    fn data(&self, format: Format) -> Option<String> {
        match format {
            Format::Csv => Some(csv::render(&Analysis::of(self))),
            Format::CsvSlices => Some(csv_slices::render(self)),
            Format::Json => Some(asked(self, json::render)),
            Format::Junit => Some(junit::render(&Analysis::of(self))),
            Format::Terminal | Format::Html | Format::Markdown | Format::Github => None,
        }
    }
}

/// Analyses a run and its parts.
fn asked<T>(run: &Run, report: impl FnOnce(&Analysis<'_>, &[Question<'_>]) -> T) -> T {
    let whole = Analysis::of(run);
    let parts = parts(run);
    let analyses: Vec<Analysis<'_>> = parts.iter().map(|part| Analysis::of(&part.run)).collect();
    report(&whole, &Question::of(&whole, &parts, &analyses))
}
