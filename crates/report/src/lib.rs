//! Reports made from a run file and nothing else.
//!
//! [`Analysis`] computes everything that a report says, once; [`render`] arranges it for a terminal, as one HTML
//! file, as Markdown, CSV or JSON, or for continuous integration. [`chart::CHARTS`] lists the charts. What is said of a metric comes from its entry in
//! [`pitot_record::METRICS`].
#![forbid(unsafe_code)]

mod actions;
mod amount;
mod analysis;
mod axis;
mod carry_over;
pub mod chart;
pub mod compare;
mod control;
mod csv;
mod csv_slices;
mod errors;
mod escape;
mod faults;
mod findings;
mod floor;
mod format;
mod github;
mod hosts;
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
pub mod soak;
mod svg;
mod table;
mod terminal;
mod text;
mod tried;
mod trust;
mod warm_up;

pub use analysis::{Analysis, Cell, LoadAxis, Series, Standing, SubRun, parts};
pub use axis::{Axis, Scale};
pub use compare::{
    Gate, GateOutcome, LoadComparison, LoadSide, RunComparison, compare, compare_within, draw_comparison,
    draw_loads, render_comparison, render_loads,
};
pub use findings::{Answer, Tile, answer, findings};
pub use format::Format;
pub use terminal::Screen;
pub use tried::{Effect, Tried, tried};
pub use trust::{Grade, Trust, trust};

use pitot_record::Run;
use pitot_results::{Drawn, visible};

/// The report of a run in lines of a screen. What others worded is made visible in it, and no code but those of a screen that
/// has colours is obeyed.
pub fn draw(run: &Run, screen: Screen) -> Drawn {
    asked(run, |whole, questions| terminal::render(whole, questions, screen))
}

/// The report of a run. What a terminal or a viewer would obey in place of showing it is made visible, in every format:
/// titles, labels and output of programs are others'.
pub fn render(run: &Run, format: Format) -> String {
    let text = asked(run, |whole, questions| match format {
        Format::Terminal => terminal::render(whole, questions, Screen::PLAIN).to_string(),
        Format::Html => html::render(whole, questions),
        Format::Markdown => markdown::render(whole, questions),
        Format::Csv => csv::render(whole),
        Format::CsvSlices => csv_slices::render(run),
        Format::Json => json::render(whole, questions),
        Format::Github => github::render(whole, questions),
        Format::Junit => junit::render(whole),
    });
    visible(&text).into_owned()
}

/// Analyses a run and what it was asked, for `report`.
fn asked<T>(run: &Run, report: impl FnOnce(&Analysis<'_>, &[Question<'_>]) -> T) -> T {
    let whole = Analysis::of(run);
    let parts = parts(run);
    let analyses: Vec<Analysis<'_>> = parts.iter().map(|part| Analysis::of(&part.run)).collect();
    let mut questions: Vec<Question<'_>> =
        parts.iter().zip(&analyses).map(|(part, a)| Question { asked: &part.title, analysis: a }).collect();
    if questions.is_empty() {
        questions.push(Question { asked: "", analysis: &whole });
    }
    report(&whole, &questions)
}

/// What a run was asked: one question, or one for each of its [parts](Part).
struct Question<'a> {
    /// What the load asks of the servers there; empty if the run asks one question.
    asked: &'a str,
    /// The part analysed, or the whole run.
    analysis: &'a Analysis<'a>,
}
