//! Protocols from the outside, a module for each subject.
#![forbid(unsafe_code)]

mod connection;
mod http;
mod http_cost;
mod memcache;
mod smtp;
