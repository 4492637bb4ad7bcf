//! Faults in a soak: when they were made, and what their clients saw of each.
//!
//! The faults themselves are the lab's ([`pitot_fault`]). What a soak adds is that nothing of it is kept: right replies and
//! errors in steps of 10 ms are there for as long as a fault needs them, from a while before it to a while after it
//! ([`recent`]), and then what follows from them is written ([`watch`]).

mod recent;
mod watch;

pub(crate) use watch::{FaultWatch, Origin};
