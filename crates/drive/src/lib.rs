//! What runs while a load is measured: the connections of a thread and what they do when, the engines that carry it out
//! in system calls, paces, the life of connections, and the records.
//!
//! Pace, workload (the life of connections), protocol and the end of a run are four values; every combination goes
//! through the same loop. Each thread owns its connections, its loop and its records, and shares nothing until the
//! end. A request has an intended time, whether or not the server or the generator was late for it; response time
//! counts from there, service time from the actual send, and both are kept.
//!
//! What comes before and after, options, plans, results and their output, is in `load`, which is not optimised.
#![forbid(unsafe_code)]

pub mod condition;
pub mod connections;
pub mod engine;
pub mod gate;
pub mod growth;
pub mod handshakes;
mod histogram_text;
pub mod message;
pub mod names;
pub mod pace;
pub mod pages;
mod random;
pub mod recorder;
pub mod sample;
pub mod sessions;
pub mod share;
pub mod steps;
pub mod tally;
pub mod think;
pub mod workload;
