//! Reports made from a run file and nothing else.
//!
//! [`Analysis`] computes everything that a report says, once; [`render`] arranges it for a terminal, as one HTML
//! file, as Markdown, CSV or JSON. [`chart::CHARTS`] lists the charts.
#![forbid(unsafe_code)]

mod analysis;
mod axis;
pub mod chart;
pub mod compare;
mod csv;
mod findings;
mod html;
mod json;
mod markdown;
mod method;
mod number;
mod published;
pub mod scene;
mod svg;
mod table;
mod terminal;
mod trust;
mod words;

pub use analysis::{Analysis, Cell, LoadAxis, Series, Standing};
pub use axis::{Axis, Scale};
pub use compare::{Gate, GateOutcome, RunComparison, compare, render_comparison};
pub use findings::{Answer, Tile, answer, findings};
pub use trust::{Grade, Trust, trust};

use pitot_lab::Run;

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Plain text of at most 100 columns.
    Terminal,
    /// One self-contained page.
    Html,
    /// Markdown.
    Markdown,
    /// A line for each cell and metric.
    Csv,
    /// One JSON object.
    Json,
}

/// The report of a run.
pub fn render(run: &Run, format: Format) -> String {
    let analysis = Analysis::of(run);
    match format {
        Format::Terminal => terminal::render(&analysis),
        Format::Html => html::render(&analysis),
        Format::Markdown => markdown::render(&analysis),
        Format::Csv => csv::render(&analysis),
        Format::Json => json::render(&analysis),
    }
}
