//! Soaks: long-running servers under load, their resources over time, and events.
//!
//! A soak has subjects, each a server with its loads, all at the same time. Each load reports once a second (`pitot load
//! --intervals`), and each interval is written in one transaction: counts and response times of each load, resources of each server,
//! and events. If the lab is killed, only the current interval is lost.
//!
//! | module | what |
//! |---|---|
//! | [`kernel_log`] | lines of the kernel's log |
//! | [`events`] | limits on number and size of events |
//! | [`run`] | the run itself |
//! | [`figure`] | samples of processes and of the machine |
//! | [`hang`] | detection and classification of hangs |
//!
//! Time is seconds since the soak began, on one axis that continues when a soak is resumed; a gap is an event.
#![forbid(unsafe_code)]

mod clock;
pub mod events;
mod fault;
pub mod figure;
pub mod hang;
pub mod kernel_log;
mod neighbours;
pub mod run;
mod throttle;
