//! Servers of every architecture: a concurrency model times an event mechanism.
#![forbid(unsafe_code)]
