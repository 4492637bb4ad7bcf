//! Requests of files: formats of other programs and Pitot's own, read into the requests and sessions of a client.
//!
//! A format is one file here and one entry in [`FORMATS`]; which one a file is in shows in its content. Parsers take any
//! bytes and answer with requests or with a flaw and its line. All of it is read before a load begins, and is apart from that since it
//! is not measured.
#![forbid(unsafe_code)]

mod access_log;
pub mod content;
mod digest;
pub mod form;
mod format;
mod formats;
mod har;
pub mod httperf;
mod lines;
mod options;
mod parsed;
mod sql;
mod status_ranges;
mod target;
mod toml;
mod vegeta;

pub use digest::digest_of;
pub use format::Format;
pub use formats::FORMATS;
pub use options::SessionOptions;
pub use parsed::{Flaw, Parsed, Positions};
pub use status_ranges::statuses;
