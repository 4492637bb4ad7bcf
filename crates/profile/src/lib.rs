//! Where processes spend their CPU time: sampled stacks with the names of their functions.
//!
//! A [`Recorder`] samples some processes and what they start. [`Recorder::stacks`] names the functions while the processes still
//! run, since only they know what a just-in-time compiler made; of those that have ended it knows the files.

#![forbid(unsafe_code)]

mod memory;
mod names;
mod recorder;

pub use recorder::{Recorder, Stacks, check};
