//! What Pitot's programs print and its lab reads, written down once: who prints a result and who reads it use the same
//! types, so that a renamed field fails to compile instead of reading as 0.
//!
//! It also holds the one way in which a command fails ([`Failure`]).
#![forbid(unsafe_code)]

mod failure;

pub use failure::{Failure, FailureKind};
