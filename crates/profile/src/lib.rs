//! What processes do: where they spend their CPU time, where they wait, which system calls they make, and what counters say.
//!
//! A [`Recorder`] records some processes and what they start. [`Recorder::recorded`] names the functions while the processes still
//! run, since only they know what a just-in-time compiler made; of those that have ended it knows the files.

#![forbid(unsafe_code)]

mod amount;
mod calls;
mod counters;
mod java;
mod memory;
mod names;
mod recorder;
mod tracked;
mod unwind;
mod waits;

pub use amount::Amount;
pub use recorder::{Recorded, Recorder, check};
