//! Studies of several runs: advice for a load, tuning of settings, and the lab's self-check.
//!
//! Nothing here runs anything. A study writes plans, which run like any other, and reads the run files.
#![forbid(unsafe_code)]

pub mod advise;
mod self_check;
pub mod tune;

pub use self_check::SelfCheck;
