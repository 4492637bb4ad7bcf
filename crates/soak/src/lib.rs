//! Runs of days: servers that stand, loads on them, what they did and used over time, and what happened.
//!
//! A soak has subjects, each a server with its loads, all at the same time. Once a second a load says what it did
//! (`pitot load --intervals`), and once an interval all of it is written in one transaction: the counts and response times of
//! each load, what each server used, and the events. Whoever kills the lab loses the interval under way, and no more.
//!
//! | module | what |
//! |---|---|
//! | [`kernel_log`] | what the kernel says meanwhile |
//! | [`events`] | what keeps events few and small |
//! | [`run`] | the run itself |
//! | [`figure`] | what is sampled of processes and of the machine |
//! | [`hang`] | servers that hang, noticed and told apart |
//!
//! Time is seconds since the soak began, on one axis that goes on when a soak is resumed; a gap in it is an event.
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
