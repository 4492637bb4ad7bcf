//! What asks several runs: advice for a load, the settings that help a server, and the lab's check of itself.
//!
//! Nothing here runs anything. A study writes plans, which are run like any other, and reads the run files.
#![forbid(unsafe_code)]

pub mod advise;
mod self_check;
pub mod tune;

pub use self_check::SelfCheck;
