//! Reports made from a run file and nothing else.
#![forbid(unsafe_code)]
