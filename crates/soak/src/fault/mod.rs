//! Faults in a soak: when they were made, and their effect on clients.
//!
//! The lab makes the faults ([`pitot_fault`]). A soak keeps right replies and errors in steps of 10 ms only as long as a fault needs
//! them ([`recent`]), and then records the effect ([`watch`]).

mod recent;
mod watch;

pub(crate) use watch::{FaultWatch, Origin};
