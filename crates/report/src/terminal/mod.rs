//! Plain text of at most 100 columns.

mod faults;
mod report;
mod table;
mod wrap;

pub(crate) use faults::faults_table;
pub(crate) use report::render;
pub(crate) use wrap::{WIDTH, heading, item, paragraph};
