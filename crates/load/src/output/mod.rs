//! The result for people: a summary, charts, a live view, and a table by the second.

mod chart;
mod csv;
mod http2;
mod intervals;
mod live;
mod pages;
mod progress;
mod sessions;
mod summary;
mod timeline;
mod tls;

pub use csv::write_csv;
pub use intervals::Intervals;
pub use live::{Live, Screen};
pub use progress::{Lines, progress_line, step_line};
pub use summary::{Detail, summary};
