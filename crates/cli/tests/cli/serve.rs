//! The conformance suite of `pitot serve`: every protocol over every model and every mechanism that the running kernel offers, through
//! real sockets, against the built program. What a model and its mechanism decide together is tested on every pair of them: how
//! connections come, wait, are read and written, time out and end. What a protocol, a layer or a file decides above them is tested on
//! pairs that cover both ([`pairs::on_covering_pairs`]).
//!
//! A test runs its cells (one for each pair) a few at a time; a failure names the pair. Servers listen on port 0, and
//! their whole process tree is killed at the end of the test in any case. No test sleeps for a fixed time: it waits for
//! its condition, up to [`client::TIMEOUT`].
//!
//! `PITOT_PAIRS=loop/epoll-et,fork/blocking` in the environment limits a run to those pairs.

mod client;
mod http;
mod pairs;
mod procfs;
mod server;
mod site;
mod sock_diag;

mod access_log;
mod cache;
mod delays;
mod descriptors;
mod engines;
mod http_clients;
mod leaks;
mod mail;
mod malformed_input;
mod many_connections;
mod memcached;
mod processes;
mod refusals;
mod relay;
mod ring_features;
mod site_options;
mod splits;
mod stopping;
mod streams;
mod timeouts;
mod tls;
mod unix_socket;
mod uploads;
