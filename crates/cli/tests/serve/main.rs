//! The conformance suite of `pitot serve`: every protocol over every pair of model and mechanism that the running
//! kernel offers, through real sockets, against the built program.
//!
//! A test runs its cells (one for each pair) a few at a time; what fails is told by the name of the pair. Servers are
//! asked on port 0, and whatever happens their whole process tree is ended. Nothing sleeps in the hope that something
//! has happened by then: what has to come about is waited for, up to [`client::PATIENCE`].
//!
//! `PITOT_PAIRS=loop/epoll-et,fork/blocking` in the environment narrows a run down to those pairs.
#![forbid(unsafe_code)]

mod client;
mod http;
mod pairs;
mod procfs;
mod server;
mod site;

mod cache;
mod crowds;
mod descriptors;
mod engines;
mod http_clients;
mod leaks;
mod mail;
mod processes;
mod refusals;
mod relay;
mod rude;
mod splits;
mod stopping;
mod streams;
mod timeouts;
mod uploads;
