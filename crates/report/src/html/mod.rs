//! The report as one HTML file: it makes no network requests, and it can be mailed.
//!
//! The page's policy forbids all connections. Without scripts it still shows everything but hover texts, and prints.

mod answer;
mod cells;
mod changes;
mod environment;
mod errors;
mod faults;
mod figure;
mod hosts;
mod method;
mod page;
mod report;
mod results;
mod text;
mod verdict;

pub(crate) use answer::{answers_and_trust, page_header};
pub(crate) use changes::changes_table;
pub(crate) use environment::machine;
pub(crate) use faults::faults_section;
pub(crate) use figure::render as render_figure;
pub(crate) use page::{BRAND, page};
pub(crate) use report::render;
