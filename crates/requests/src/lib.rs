//! Request files: formats of other programs and of Pitot, read into the requests and sessions of a client.
//!
//! A format is one file here and one entry in [`FORMATS`]; the content of a file decides its format. Parsers accept any bytes and
//! return requests, or a flaw with its line. Files are read before a load begins. This crate is separate since it is not
//! measured.
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
