//! The load generator: client loops, paces and workloads.
#![forbid(unsafe_code)]
