//! The requests of a run: from the options about them, or from a file in one of several formats.
//!
//! A format is one file here and one entry in [`FORMATS`]; which one a file is in shows in its content. Parsers take any
//! bytes and answer with requests or with a flaw and its line.

mod access_log;
mod body;
mod content;
mod form;
mod format;
mod formats;
mod from_options;
mod har;
mod httperf;
mod lines;
mod parsed;
mod sql;
mod target;
mod toml;
mod vegeta;

pub(crate) use content::{is_stdin, read};
pub use format::Format;
pub use formats::FORMATS;
pub(crate) use from_options::{Requests, requests};
pub use parsed::{Flaw, Parsed, Positions};
