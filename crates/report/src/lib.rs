//! Reports made from a run file and nothing else.
//!
//! [`Analysis`] computes everything that a report says, once; [`render`] arranges it for a terminal, as one HTML
//! file, as Markdown, CSV or JSON, or for continuous integration. [`chart::CHARTS`] lists the charts. What is said of a metric comes from its entry in
//! [`pitot_lab::METRICS`].
#![forbid(unsafe_code)]

mod amount;
mod analysis;
mod axis;
mod carry_over;
pub mod chart;
pub mod compare;
mod control;
mod csv;
mod csv_slices;
mod escape;
mod faults;
mod findings;
mod format;
mod github;
mod html;
mod json;
mod junit;
mod markdown;
mod method;
mod number;
mod outlook;
mod phrase;
mod published;
pub mod scene;
mod skips;
pub mod soak;
mod svg;
mod table;
mod terminal;
mod text;
mod tried;
mod trust;
mod warm_up;

pub use analysis::{Analysis, Cell, LoadAxis, Series, Standing};
pub use axis::{Axis, Scale};
pub use compare::{Gate, GateOutcome, RunComparison, compare, render_comparison};
pub use findings::{Answer, Tile, answer, findings};
pub use format::Format;
pub use tried::{Effect, Tried, tried};
pub use trust::{Grade, Trust, trust};

use pitot_lab::Run;

/// The report of a run.
pub fn render(run: &Run, format: Format) -> String {
    let analysis = Analysis::of(run);
    match format {
        Format::Terminal => terminal::render(&analysis),
        Format::Html => html::render(&analysis),
        Format::Markdown => markdown::render(&analysis),
        Format::Csv => csv::render(&analysis),
        Format::CsvSlices => csv_slices::render(run),
        Format::Json => json::render(&analysis),
        Format::Github => github::render(&analysis),
        Format::Junit => junit::render(&analysis),
    }
}
