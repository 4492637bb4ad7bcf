//! Text in the lines of a terminal, with its colours where it has some.

mod faults;
mod report;
mod screen;
mod table;

pub(crate) use faults::faults_table;
pub(crate) use report::{grade_style, render};
pub use screen::Screen;
pub(crate) use screen::{Page, Style};
