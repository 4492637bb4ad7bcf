//! What Pitot's programs print and its lab reads, defined once. A program fills these types and serialises them; the
//! lab deserialises the same types. A renamed field therefore fails to compile instead of reading as 0.
//!
//! The JSON keys and their meaning are a contract with scripts: fields are added, never renamed. A name ends in its
//! unit (`_s` seconds, `_ns` nanoseconds, `_us` microseconds, `_bytes`, `_rps` requests per second); a name without a
//! unit is a plain count. In a file of results a field that is missing reads as zero or empty, and a field that is not
//! known is ignored, so that results of older, newer and foreign programs can be read.
//!
//! | printed by | schema | type |
//! |---|---|---|
//! | `pitot load --json` | `pitot-load/1` | [`load::LoadResult`] |
//! | `pitot disk read --json` | `pitot-disk/1`, command `read` | [`disk::DiskRead`] |
//! | `pitot disk files --json` | `pitot-disk/1`, command `files` | [`disk::DiskFiles`] |
//! | `pitot floor --format json` | `pitot-floor/1` | [`floor::FloorResult`] |
//! | `pitot mail --json` | `pitot-mail/1` | [`mail::MailResult`] |
//! | `pitot load --hold` | a line for each command | [`hold::Answer`] |
//! | `pitot load --intervals` | a line for each interval | [`interval::Interval`] |
//! | `pitot serve --stats json` | `pitot-serve/1` | [`serve::ServeResult`] |
//!
//! [`load::LoadResult::parse`] reads what any of them but the server prints. The crate also holds the one way in which
//! a command fails ([`Failure`]) and the one form of a time of day ([`rfc3339`]).
#![forbid(unsafe_code)]

pub mod disk;
mod failure;
pub mod floor;
pub mod hold;
pub mod interval;
mod latency;
mod lenient;
pub mod load;
pub mod mail;
pub mod merge;
mod parse;
mod printable;
mod printed;
pub mod secrets;
pub mod serve;
pub mod stderr;
mod time;
pub mod under_way;
mod verdict;

pub use failure::{Failure, FailureKind};
pub use latency::{Latencies, Latency, PERCENTILES};
pub use parse::{COUNT_MAX, ParseError, check_numbers};
pub use printable::{Drawn, Rows, printable, printable_start, visible};
pub use printed::Printed;
pub use time::rfc3339;
pub use verdict::{
    CLIENT_BUSY_SHARE_MAX, MISSED_SHARE_MAX, RETRANSMIT_SHARE_MAX, VerdictKind, is_client_at_limit,
};
