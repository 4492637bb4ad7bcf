//! Reports of runs that the tests write, a module for each subject.
#![forbid(unsafe_code)]

mod behaviour;
mod claims;
mod forms;
mod hostile;
mod parts;
mod profiles;
mod sliced;
mod slices;
mod snapshots;
mod support;
